//! What a person is told whose consent is needed: the question, and the command where nobody can be asked.

use redress_contract::{self as contract, Caller};

use super::Written;
use crate::{Field, Form, Question, is_unprintable};

/// How much of an input the question shows.
const SHOWN: usize = 1_000;
/// The longest input that is written anew for the question, without its blanks.
const TIDIED: usize = 64 * 1024;

/// The question by which a face that can ask obtains the consent to this one call.
pub(crate) fn question(operation: &contract::Operation, input: &[u8]) -> Question {
    let (name, summary) = (operation.name(), operation.summary());
    let message = format!("Do you agree to `{name}`, this once? {summary}\nIts input: {}", shown(input));
    Question::form(message, Form::new().field("agree", Field::boolean().titled("I agree")))
}

/// What to do where nobody could be asked, with what a person has to type.
pub(crate) fn hint(operation: &contract::Operation, caller: &Caller) -> String {
    let name = operation.name();
    // A shell must read the caller's name as one word, or it is left to the person.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@');
    let whose = match caller.id() {
        "local" => String::new(),
        id if !id.is_empty() && !id.starts_with('-') && id.bytes().all(plain) => format!(" --caller {id}"),
        _ => " --caller CALLER".to_owned(),
    };
    format!(
        "Ask the user to agree: only a person can, with the command `redress consent grant {name}{whose}`. Then call again."
    )
}

/// An input as a person can read it. What would be shown otherwise than it is, or not at all, is escaped, and what is
/// left out is told: nobody agrees to what they are not shown.
fn shown(input: &[u8]) -> String {
    let tidied = (input.len() <= TIDIED).then(|| Written::read(input)).flatten();
    let (text, mut cut) = match &tidied {
        Some(written) => (written.to_string().into(), false),
        None => {
            let beginning = input.get(..SHOWN * 4);
            (String::from_utf8_lossy(beginning.unwrap_or(input)), beginning.is_some())
        }
    };
    let mut shown = String::with_capacity(text.len().min(SHOWN) + 64);
    for letter in text.chars().take(SHOWN) {
        match letter {
            ' ' => shown.push(letter),
            letter if letter.is_whitespace() || is_unprintable(letter) => {
                shown.extend(letter.escape_unicode());
            }
            letter => shown.push(letter),
        }
    }
    cut |= text.chars().nth(SHOWN).is_some();
    if cut {
        shown.push_str(&format!(" … This is the beginning of {} bytes.", input.len()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_shown_as_it_is_and_what_is_left_out_is_told() {
        assert_eq!(shown(b" {\"path\" :\n\"a b\"}"), r#"{"path":"a b"}"#);
        assert_eq!(shown("\"a\u{202e}b\u{a0}\"".as_bytes()), r#""a\u{202e}b\u{a0}""#);
        let amount = r#"{"amount":340282366920938463463374607431768211455}"#;
        assert_eq!(shown(amount.as_bytes()), amount, "no digit is lost");
        let unseen = ["\u{34f}", "\u{600}", "\u{13430}", "\u{fe0f}", "\u{fff0}", "\u{e0100}"];
        for letter in unseen {
            assert!(shown(format!("\"{letter}\"").as_bytes()).starts_with("\"\\u{"), "{letter:?}");
        }
        let long = format!("[{}1]", " ".repeat(5_000));
        assert_eq!(shown(long.as_bytes()), "[1]", "blanks push nothing out of sight");
        let long = format!("\"{}\"", "x".repeat(5_000));
        assert!(shown(long.as_bytes()).ends_with("xx … This is the beginning of 5002 bytes."));
        assert_eq!(shown(b"{no json"), "{no json");
        let long = vec![b' '; 100_000];
        assert!(shown(&long).ends_with(" … This is the beginning of 100000 bytes."));
    }

    #[test]
    fn the_command_in_the_hint_is_one_that_can_be_typed() {
        let wipe = contract::Operation::mutation("disk.wipe");
        let told = |id: &str| hint(&wipe, &Caller::new(id));
        assert!(told("ada@example.org").contains("`redress consent grant disk.wipe --caller ada@example.org`"));
        assert!(hint(&wipe, &Caller::local()).contains("`redress consent grant disk.wipe`"));
        for odd in ["a; rm -rf /", "-x", "", "a`b", "a b"] {
            assert!(told(odd).contains("disk.wipe --caller CALLER`"), "{odd}");
        }
    }
}
