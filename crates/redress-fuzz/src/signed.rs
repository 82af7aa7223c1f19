//! Tokens as somebody makes them who has the key: written from the RFCs alone, as a second opinion.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// A secret that only the service and the maker of tokens know.
pub(crate) const KEY: &[u8; 32] = b"thirty-two bytes, and not a byte";

/// `header.payload.signature`, signed with HMAC-SHA-256 (RFC 7515).
pub(crate) fn token(header: &[u8], payload: &[u8]) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let signature = URL_SAFE_NO_PAD.encode(hmac(message.as_bytes()));
    format!("{message}.{signature}")
}

/// RFC 2104, for a key that is shorter than a block.
fn hmac(message: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(KEY).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}
