//! Message templates: `no file at {path}`.

/// One part of a template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    /// Text that stands as it is.
    Text(String),
    /// The place of a field.
    Field(String),
}

/// The name in the first `{field}` of a text that is no template, for whoever took it for one. Other braces stand for themselves.
pub(crate) fn place(text: &str) -> Option<&str> {
    text.split('{').skip(1).find_map(|after| {
        let (name, _) = after.split_once('}')?;
        let begins = name.starts_with(|first: char| first == '_' || first.is_ascii_lowercase());
        (begins && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())).then_some(name)
    })
}

/// The parts of `text`; nothing if a brace has no partner.
pub(crate) fn parts(text: &str) -> Option<Vec<TemplatePart>> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.next_if_eq(&'{').is_some() => plain.push('{'),
            '}' if chars.next_if_eq(&'}').is_some() => plain.push('}'),
            '{' => {
                let mut field = String::new();
                loop {
                    match chars.next()? {
                        '}' => break,
                        c if c == '_' || c.is_alphanumeric() => field.push(c),
                        _ => return None,
                    }
                }
                if field.is_empty() {
                    return None;
                }
                if !plain.is_empty() {
                    parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
                }
                parts.push(TemplatePart::Field(field));
            }
            '}' => return None,
            other => plain.push(other),
        }
    }
    if !plain.is_empty() {
        parts.push(TemplatePart::Text(plain));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_text_and_places_and_doubled_braces_are_text() {
        let text = |text: &str| TemplatePart::Text(text.to_owned());
        let field = |name: &str| TemplatePart::Field(name.to_owned());
        assert_eq!(
            parts("no {a} in {{{b}}}"),
            Some(vec![text("no "), field("a"), text(" in {"), field("b"), text("}")])
        );
        for bad in ["{", "}", "{}", "a {b", "a } b", "{a b}", "{a:?}"] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }
}
