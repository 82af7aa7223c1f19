//! The text of a token: `rd_`, its id, `_`, and 32 random bytes.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use redress_core::Secret;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::AccessError;

/// What every token of a file begins with, so that scanners of leaked secrets can find one.
pub(crate) const PREFIX: &str = "rd_";

/// The SHA-256 of a token.
///
/// A slow hash would add nothing: there is no guessing 32 random bytes, however quick the hash.
pub(crate) type Hash = [u8; 32];

/// Draws an id, and a token under that id.
pub(crate) fn draw() -> Result<(String, Secret), AccessError> {
    let mut id = [0; 8];
    fill(&mut id)?;
    let mut secret = Zeroizing::new([0; 32]);
    fill(&mut *secret)?;
    let id = redress_core::hex(&id);
    let encoded = Zeroizing::new(URL_SAFE_NO_PAD.encode(*secret));
    let token = Secret::new(format!("{PREFIX}{id}_{}", *encoded));
    Ok((id, token))
}

fn fill(bytes: &mut [u8]) -> Result<(), AccessError> {
    getrandom::fill(bytes).map_err(|_| AccessError::NothingRandom)
}

/// The id in the text of a token.
pub(crate) fn id_of(token: &str) -> Option<&str> {
    token.strip_prefix(PREFIX)?.split_once('_').map(|(id, _)| id)
}

/// The hash of a token.
pub(crate) fn hash(token: &str) -> Hash {
    Sha256::digest(token.as_bytes()).into()
}

/// The hash that 64 hexadecimal digits spell.
pub(crate) fn from_hex(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_carries_its_id_and_no_two_are_alike() {
        let ((id, token), (other, second)) = (draw().unwrap(), draw().unwrap());
        assert_eq!(id_of(token.expose()), Some(&*id));
        assert_eq!(token.expose().len(), PREFIX.len() + 16 + 1 + 43);
        assert!(id != other && token.expose() != second.expose());
        assert_eq!(id_of("rd_"), None);
        assert_eq!(id_of("Bearer rd_a_b"), None);
    }

    #[test]
    fn hexadecimal_digits_are_read_as_they_are_written() {
        let hash = hash("a token");
        assert_eq!(from_hex(&redress_core::hex(&hash)), Some(hash));
        assert_eq!(from_hex(&redress_core::hex(&hash).to_uppercase()), Some(hash));
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"+1".repeat(32)] {
            assert_eq!(from_hex(bad), None, "{bad}");
        }
    }
}
