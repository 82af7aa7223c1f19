//! The state of a call between two rounds, sealed: it goes to the client and comes back, and
//! whoever changes it on the way is found out (HMAC-SHA256).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use redress_core::Secret;
use sha2::{Digest as _, Sha256};

use super::spent_states::{SpentStates, StateNumber};
use crate::{McpError, owner::Owner};

/// What the seal is for, so that nothing else that is sealed with the same key is taken for it.
const PURPOSE: &[u8] = b"redress: the state of a call";
/// What a sealed state begins with, so that another form can be told from this one.
const FORM: &str = "s2.";
/// The fewest bytes of a key: as many as the digest has.
const SHORTEST_KEY: usize = 32;

/// Seals states, and opens those that it sealed.
#[derive(Debug)]
pub(crate) struct Seal {
    /// What was begun with the key, which is not shown by `Debug`.
    mac: Hmac<Sha256>,
    lasts: Duration,
    /// What the numbers of this process begin with, and how many there were.
    own: [u8; 8],
    made: AtomicU64,
    /// What the time of its own states is counted from.
    began: Instant,
    spent: SpentStates,
    /// The digest of a key that was given, by which two seals of the same key are known.
    given: Option<[u8; 32]>,
}

/// A state that was opened, and its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenedState {
    pub(super) number: StateNumber,
    pub(super) state: Vec<u8>,
}

impl Seal {
    /// With `key`, or else with one that only this process has. A state is good for `lasts`.
    pub(crate) fn new(key: Option<&Secret>, lasts: Duration) -> Result<Seal, McpError> {
        let given = key.map(|key| Sha256::digest(key.expose().as_bytes()).into());
        let key = match key {
            Some(key) => key.expose().as_bytes().to_vec(),
            None => random::<32>()?.to_vec(),
        };
        if key.len() < SHORTEST_KEY {
            return Err(McpError::StateKeyShort);
        }
        let mac = Hmac::new_from_slice(&key).map_err(|_| McpError::StateKeyShort)?;
        Ok(Seal {
            mac,
            lasts,
            own: random()?,
            made: AtomicU64::new(0),
            began: Instant::now(),
            spent: SpentStates::default(),
            given,
        })
    }

    /// Whether it was made by the same settings, so that one can go on in the place of the other.
    pub(crate) fn is_alike(&self, other: &Seal) -> bool {
        (self.given, self.lasts) == (other.given, other.lasts)
    }

    /// The state, for its owner alone.
    pub(super) fn close(&self, state: &[u8], owner: &Owner) -> String {
        let ends = since_epoch().saturating_add(self.lasts);
        let ends = millis(ends).to_be_bytes();
        let runs_out = millis(self.began.elapsed().saturating_add(self.lasts)).to_be_bytes();
        let count = self.made.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        let sealed = [&ends, &runs_out, &self.own, &count, state].concat();
        let tag = self.tag(&sealed, owner).finalize().into_bytes();
        format!("{FORM}{}.{}", URL_SAFE_NO_PAD.encode(&sealed), URL_SAFE_NO_PAD.encode(tag))
    }

    /// The state, if it is one that was sealed here for this owner and is not too old.
    pub(super) fn open(&self, sealed: &str, owner: &Owner) -> Option<OpenedState> {
        let (sealed, tag) = sealed.strip_prefix(FORM)?.split_once('.')?;
        let (sealed, tag) = (URL_SAFE_NO_PAD.decode(sealed).ok()?, URL_SAFE_NO_PAD.decode(tag).ok()?);
        // Compared in constant time, and before anything in it is looked at.
        self.tag(&sealed, owner).verify_slice(&tag).ok()?;
        self.opened(&sealed, since_epoch(), self.began.elapsed())
    }

    /// What was sealed, if it is not too old by the calendar, nor, where it was made here, by the clock that only runs: one
    /// on the wall that is set back makes no state good again whose yes is forgotten by then.
    fn opened(&self, sealed: &[u8], wall: Duration, running: Duration) -> Option<OpenedState> {
        let (ends, rest) = sealed.split_first_chunk()?;
        let (runs_out, numbered) = rest.split_first_chunk()?;
        let (number, state) = numbered.split_first_chunk::<16>()?;
        let is_over = |now: Duration, end: &[u8; 8]| millis(now) >= u64::from_be_bytes(*end);
        if is_over(wall, ends) || (number.starts_with(&self.own) && is_over(running, runs_out)) {
            return None;
        }
        Some(OpenedState { number: *number, state: state.to_vec() })
    }

    /// What proves that the bytes were sealed here for this owner. The owner's length comes first, so that no byte can
    /// move from the owner to what is sealed.
    fn tag(&self, sealed: &[u8], owner: &Owner) -> Hmac<Sha256> {
        let owner = owner.to_bytes();
        let length = u64::try_from(owner.len()).unwrap_or(u64::MAX).to_be_bytes();
        let parts = [PURPOSE, b"\0", &length, &owner, sealed];
        parts.into_iter().fold(self.mac.clone(), |mac, part| mac.chain_update(part))
    }

    /// Whether the state of this number gives a consent for the first time. Only the process that made it can tell: one
    /// that another node made, or this one before it was started anew, gives none, and the person is asked again.
    pub(super) fn spend(&self, number: StateNumber, owner: &Owner) -> bool {
        number.starts_with(&self.own) && self.spent.spend(number, owner, self.lasts)
    }
}

/// The time by the calendar: nodes that share a key share it too.
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], McpError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| McpError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(key: Option<&str>, lasts: Duration) -> Seal {
        Seal::new(key.map(|key| Secret::new(key.to_owned())).as_ref(), lasts).unwrap()
    }

    fn ada() -> Owner {
        Owner::Caller("ada".into())
    }

    #[test]
    fn a_state_opens_for_its_owner_alone_and_no_two_have_one_number() {
        let seal = seal(None, Duration::from_secs(60));
        let (one, other) = (seal.close(b"{}", &ada()), seal.close(b"{}", &ada()));
        let number = |sealed: &str| seal.open(sealed, &ada()).unwrap().number;
        assert_ne!(number(&one), number(&other));
        let somewhere = Owner::Household("192.0.2.1".parse().unwrap());
        for stranger in [Owner::Caller("bob".into()), Owner::Caller("".into()), somewhere, Owner::Unknown] {
            assert_eq!(seal.open(&one, &stranger), None, "{stranger:?}");
        }
    }

    #[test]
    fn a_state_gives_a_consent_once_and_only_where_it_was_made() {
        let key = "a key of more than thirty-two bytes, shared by nodes";
        let (one, other) = (seal(Some(key), Duration::from_secs(60)), seal(Some(key), Duration::from_secs(60)));
        let sealed = one.close(b"{}", &ada());
        let number = other.open(&sealed, &ada()).unwrap().number;
        assert!(!other.spend(number, &ada()), "whether it was given elsewhere cannot be told here");
        assert!(one.spend(number, &ada()) && !one.spend(number, &ada()));
    }

    #[test]
    fn no_byte_of_a_state_can_be_changed() {
        let seal = seal(None, Duration::from_secs(60));
        let sealed = seal.close(br#"{"answered":[]}"#, &ada());
        assert_eq!(seal.open(&sealed, &ada()).unwrap().state, br#"{"answered":[]}"#);
        for place in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            // In Base64 the last bits of a byte may mean nothing, so the whole character changes.
            bytes[place] = if bytes[place] == b'A' { b'z' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_ne!(changed, sealed);
            if let Some(opened) = seal.open(&changed, &ada()) {
                panic!("byte {place} was changed, and the state opened: {opened:?}");
            }
        }
        assert_eq!(seal.open(&format!("{sealed}-TAMPERED"), &ada()), None);
        assert_eq!(seal.open("", &ada()), None);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_state_good_again_where_it_was_made() {
        let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3600));
        let key = "a key of more than thirty-two bytes, shared by nodes";
        let (seal, other) = (seal(Some(key), minute), seal(Some(key), minute));
        let sealed = seal.close(b"{}", &ada());
        let sealed = URL_SAFE_NO_PAD.decode(sealed.strip_prefix(FORM).unwrap().split('.').next().unwrap()).unwrap();
        let (wall, running) = (since_epoch(), seal.began.elapsed());
        assert!(seal.opened(&sealed, wall, running).is_some());
        assert!(seal.opened(&sealed, wall - hour, running + hour).is_none());
        assert!(seal.opened(&sealed, wall + hour, running).is_none());
        // Another node goes by the calendar, and takes no yes from it.
        assert!(other.opened(&sealed, wall, running + hour).is_some_and(|opened| !other.spend(opened.number, &ada())));
    }

    #[test]
    fn a_state_is_good_for_its_time_and_for_who_has_the_key() {
        let key = "a key of more than thirty-two bytes, shared by nodes";
        let sealed = seal(Some(key), Duration::from_secs(60)).close(b"{}", &ada());
        assert!(seal(Some(key), Duration::from_secs(60)).open(&sealed, &ada()).is_some());
        assert!(seal(None, Duration::from_secs(60)).open(&sealed, &ada()).is_none());
        let old = seal(Some(key), Duration::ZERO).close(b"{}", &ada());
        std::thread::sleep(Duration::from_millis(5));
        assert!(seal(Some(key), Duration::from_secs(60)).open(&old, &ada()).is_none(), "the time is in the seal");
        assert!(matches!(
            Seal::new(Some(&Secret::new("short".to_owned())), Duration::ZERO),
            Err(McpError::StateKeyShort)
        ));
    }
}
