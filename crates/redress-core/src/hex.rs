//! Bytes as hexadecimal digits.

/// Bytes as hexadecimal digits, in lower case.
///
/// ```
/// assert_eq!(redress_core::hex(&[0, 10, 255]), "000aff");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
