//! `#[data]`: a type that is read, written and described.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Fields, Item, Path, Token, punctuated::Punctuated};

use crate::{attribute::AttributeItems, mistakes::Mistakes};

/// Writes the derives above `item`, or says everything that is wrong with it.
pub(crate) fn attribute(words: TokenStream, item: TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let parsed: Item = match syn::parse2(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #item);
        }
    };
    let mut items = AttributeItems::default();
    items.read(words, &["open"], &[], &mut mistakes);
    let open = items.items.iter().find(|item| item.alone(&mut mistakes));
    let (attributes, named) = if let Item::Struct(item) = &parsed {
        (&item.attrs, matches!(item.fields, Fields::Named(_)))
    } else if let Item::Enum(item) = &parsed {
        (&item.attrs, false)
    } else {
        mistakes.add(keyword(&item), "`#[data]` goes on a struct or an enum");
        return quote!(#mistakes #item);
    };
    if let Some(open) = open
        && !named
    {
        mistakes.add(&open.name, "only a struct with named fields can be open; write `#[data]`");
    }
    let derives = derives(attributes, &mut mistakes);
    let open = (open.is_some() && named).then(|| quote!(#[schemars(extend("additionalProperties" = true))]));
    quote! {
        #mistakes
        #[derive(#(#derives),*)]
        #[serde(crate = "::redress::__private::serde")]
        #[schemars(crate = "::redress::__private::schemars")]
        #open
        #item
    }
}

/// The derives that the type does not have yet. One that it has is a mistake, and is left
/// out here so that it is told once.
fn derives(attributes: &[Attribute], mistakes: &mut Mistakes) -> Vec<TokenStream> {
    let own: Vec<Path> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
        .filter_map(|attribute| attribute.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).ok())
        .flatten()
        .collect();
    let mut derives = Vec::new();
    for (name, path) in [
        ("Serialize", quote!(::redress::__private::serde::Serialize)),
        ("Deserialize", quote!(::redress::__private::serde::Deserialize)),
        ("JsonSchema", quote!(::redress::__private::schemars::JsonSchema)),
    ] {
        match own.iter().find(|own| own.segments.last().is_some_and(|last| last.ident == name)) {
            Some(own) => mistakes.add(own, format_args!("`#[data]` already derives `{name}`; remove it here")),
            None => derives.push(path),
        }
    }
    derives
}

/// The first word of the item that is neither an attribute nor a visibility.
pub(crate) fn keyword(item: &TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter().filter(|token| {
        matches!(token, proc_macro2::TokenTree::Ident(word) if word != "pub" && word != "async" && word != "unsafe")
    });
    tokens.next().map(Into::into).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::*;

    fn written(words: TokenStream, item: TokenStream) -> String {
        prettyplease::unparse(&syn::parse2(attribute(words, item)).unwrap())
    }

    #[test]
    fn a_type_is_read_written_and_described() {
        insta::assert_snapshot!(written(quote!(open), quote!(struct Read { path: String })), @r#"
        #[derive(
            ::redress::__private::serde::Serialize,
            ::redress::__private::serde::Deserialize,
            ::redress::__private::schemars::JsonSchema
        )]
        #[serde(crate = "::redress::__private::serde")]
        #[schemars(crate = "::redress::__private::schemars")]
        #[schemars(extend("additionalProperties" = true))]
        struct Read {
            path: String,
        }
        "#);
    }

    #[test]
    fn what_the_type_derives_already_is_told_and_not_derived_again() {
        let written = written(
            quote!(),
            quote!(
                #[derive(serde::Serialize)]
                struct Read;
            ),
        );
        assert!(
            written.contains("already derives `Serialize`") && !written.contains("__private::serde::Serialize"),
            "{written}"
        );
    }
}
