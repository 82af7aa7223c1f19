//! What a doc comment says.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The doc comment among `attributes`, one line each, the margin taken off.
fn lines(attributes: &[Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value else { continue };
        if doc.path.is_ident("doc") {
            let text = text.value();
            lines.extend(text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()));
        }
    }
    lines
}

/// The whole comment as it was written.
pub(crate) fn whole(attributes: &[Attribute]) -> String {
    lines(attributes).join("\n").trim().to_owned()
}

/// Its paragraphs, each on one line.
pub(crate) fn paragraphs(attributes: &[Attribute]) -> Vec<String> {
    let lines = lines(attributes);
    lines
        .split(|line| line.trim().is_empty())
        .map(|paragraph| paragraph.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_paragraph_is_one_line_and_the_whole_keeps_its_lines() {
        let item: syn::ItemFn = parse_quote! {
            /// Read a text file
            /// from the workspace.
            ///
            /// - never
            ///   more
            #[must_use]
            fn read() {}
        };
        assert_eq!(paragraphs(&item.attrs), ["Read a text file from the workspace.", "- never more"]);
        assert_eq!(whole(&item.attrs), "Read a text file\nfrom the workspace.\n\n- never\n  more");
    }
}
