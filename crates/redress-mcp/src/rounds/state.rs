//! The state of a call between two rounds, sealed: it goes to the client and comes back, and
//! whoever changes it on the way is found out (HMAC-SHA256).

use std::time::Duration;

use redress_core::Secret;
use rmcp::model::{RequestStateCodec, SealOptions};

use crate::McpError;

/// What the seal is for, so that nothing else that is sealed with the same key is taken for it.
const PURPOSE: &[u8] = b"redress: the state of a call";

/// Seals states, and opens those that it sealed.
#[derive(Debug)]
pub(crate) struct Seal {
    codec: RequestStateCodec,
    lasts: Duration,
}

impl Seal {
    /// With `key`, or else with one that only this process has. A state is good for `lasts`.
    pub(crate) fn new(key: Option<&Secret>, lasts: Duration) -> Result<Seal, McpError> {
        let key = match key {
            Some(key) => key.expose().as_bytes().to_vec(),
            None => {
                let mut own = [0; 32];
                getrandom::fill(&mut own).map_err(|_| McpError::NoRandomness)?;
                own.to_vec()
            }
        };
        let codec = RequestStateCodec::try_new(key).map_err(|_| McpError::StateKeyShort)?;
        Ok(Seal { codec, lasts })
    }

    pub(crate) fn close(&self, state: &[u8]) -> String {
        self.codec.seal_with(state, &SealOptions::new().associated_data(PURPOSE).ttl(self.lasts))
    }

    /// The state, if it is one that was sealed here and is not too old.
    pub(crate) fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        self.codec.open_with(sealed, PURPOSE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: Option<&str>, lasts: Duration) -> Seal {
        Seal::new(key.map(|key| Secret::new(key.to_owned())).as_ref(), lasts).unwrap()
    }

    #[test]
    fn no_byte_of_a_state_can_be_changed() {
        let seal = seal(None, Duration::from_secs(60));
        let sealed = seal.close(br#"{"answered":[]}"#);
        assert_eq!(seal.open(&sealed).unwrap(), br#"{"answered":[]}"#);
        for place in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            // In Base64 the last bits of a byte may mean nothing, so the whole character changes.
            bytes[place] = if bytes[place] == b'A' { b'z' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_ne!(changed, sealed);
            if let Some(opened) = seal.open(&changed) {
                panic!("byte {place} was changed, and the state opened: {opened:?}");
            }
        }
        assert_eq!(seal.open(&format!("{sealed}-TAMPERED")), None);
        assert_eq!(seal.open(""), None);
    }

    #[test]
    fn a_state_is_good_for_its_time_and_for_who_has_the_key() {
        let key = "a key of more than thirty-two bytes, shared by nodes";
        let sealed = seal(Some(key), Duration::from_secs(60)).close(b"{}");
        assert!(seal(Some(key), Duration::from_secs(60)).open(&sealed).is_some());
        assert!(seal(None, Duration::from_secs(60)).open(&sealed).is_none());
        let old = seal(Some(key), Duration::ZERO).close(b"{}");
        std::thread::sleep(Duration::from_millis(5));
        assert!(seal(Some(key), Duration::from_secs(60)).open(&old).is_none(), "the time is in the seal");
        assert!(matches!(
            Seal::new(Some(&Secret::new("short".to_owned())), Duration::ZERO),
            Err(McpError::StateKeyShort)
        ));
    }
}
