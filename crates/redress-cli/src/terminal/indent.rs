//! JSON for a person: a line for each member, in the order in which the operation declares them.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The output in an envelope, indented and otherwise as it came; nothing where the envelope has none.
pub(crate) fn output(envelope: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct OutputOnly<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
    }
    let read: OutputOnly<'_> = serde_json::from_slice(envelope).ok()?;
    read.result.map(|output| indented(output.get()))
}

/// Well-formed JSON with a line for each member. It is laid out as text and not read as a value, which would sort the
/// members by name.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            text.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                text.push(c);
                while rest.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                match rest.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => text.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(c);
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            _ => {
                in_string = c == '"';
                text.push(c);
            }
        }
    }
    text
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn members_stay_in_their_order_and_everything_else_is_laid_out_as_ever() {
        let shown = output(br#"{"ok":true,"result":{"sku":"lamp","count":5,"at":[]},"_meta":{}}"#);
        assert_eq!(shown.as_deref(), Some("{\n  \"sku\": \"lamp\",\n  \"count\": 5,\n  \"at\": []\n}"));
        assert_eq!(output(br#"{"ok":true,"_meta":{}}"#), None);
        for json in [
            r#"null"#,
            r#""a \" b, {c: [d]} \\""#,
            r#"[]"#,
            r#"{"a":{},"b":[[],[{"c":"\\\"{"},-1.5e-9]],"d":"é\u0000"}"#,
            "{ \"a\" : [ 1 ,\n 2 ] , \"b\" : { } }",
        ] {
            let value: Value = serde_json::from_str(json).unwrap();
            // These have their members in the order of their names.
            assert_eq!(indented(json).replace("\\u0000", ""), format!("{value:#}").replace("\\u0000", ""), "{json}");
        }
    }
}
