//! How much, as it is written in an attribute: `512b`, `64kb`, `2mb`.

use syn::LitStr;

use crate::mistakes::Mistakes;

/// The bytes that `text` stands for, which are never zero.
pub(crate) fn bytes(word: &str, text: &LitStr, mistakes: &mut Mistakes) -> Option<u64> {
    match read(&text.value()) {
        Some(0) => mistakes.add(text, format_args!("`{word}` is zero; give it room, such as `{word} = \"64kb\"`")),
        Some(bytes) => return Some(bytes),
        None => mistakes.add(text, format_args!("write how much as `512b`, `64kb` or `2mb`: `{word} = \"64kb\"`")),
    }
    None
}

/// At most what a `usize` holds on every target that can run a server.
fn read(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| u32::try_from(*bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_unit_make_a_size() {
        assert_eq!((read("512b"), read("64kb"), read("2mb")), (Some(512), Some(65_536), Some(2_097_152)));
        for bad in ["", "64", "kb", "64 kb", "1gb", "-1b", "5000mb"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
