//! The keyed hash of an input, by which equal inputs are found and none can be guessed.

use redress_core::Fingerprint;
use sha2::{Digest as _, Sha256};

/// Made once for each file and kept in it, so that hashes of two services tell nothing about each other. It is
/// short, so that with a small input it fills just one block of SHA-256.
pub(crate) type Salt = [u8; 16];

const HEX: &[u8; 16] = b"0123456789abcdef";

/// How many characters a hash has.
pub(crate) const LENGTH: usize = 32;

/// The hash of an input, or of a digest of one.
pub(crate) fn keyed(salt: &Salt, input: &[u8]) -> Fingerprint {
    Sha256::new().chain_update(salt).chain_update(input).finalize().into()
}

/// The first half of a hash, as text.
pub(crate) fn text(hash: &Fingerprint) -> [u8; LENGTH] {
    let mut text = [0; LENGTH];
    for (place, byte) in text.chunks_exact_mut(2).zip(hash) {
        if let [high, low] = place {
            *high = HEX[usize::from(byte >> 4)];
            *low = HEX[usize::from(byte & 15)];
        }
    }
    text
}
