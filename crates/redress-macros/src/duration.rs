//! How long, as it is written in an attribute: `250ms`, `5s`, `2m`, `1h`.

use syn::LitStr;

use crate::mistakes::Mistakes;

/// The milliseconds that `text` stands for, which are never zero.
pub(crate) fn millis(word: &str, text: &LitStr, mistakes: &mut Mistakes) -> Option<u64> {
    match read(&text.value()) {
        Some(0) => mistakes.add(text, format_args!("`{word}` is zero; give it some time, such as `{word} = \"5s\"`")),
        Some(millis) => return Some(millis),
        None => {
            mistakes.add(text, format_args!("write how long as `250ms`, `5s`, `2m` or `1h`: `{word} = \"5s\"`"));
        }
    }
    None
}

fn read(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_make_a_duration() {
        for (text, millis) in
            [("250ms", Some(250)), ("5s", Some(5000)), ("2m", Some(120_000)), ("1h", Some(3_600_000)), ("0s", Some(0))]
        {
            assert_eq!(read(text), millis, "{text}");
        }
        for bad in ["", "5", "s", "5 s", "-1s", "1.5s", "5sec", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
