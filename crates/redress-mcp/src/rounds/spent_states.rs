//! The states with which a consent was given. Each gives it once.
//!
//! Why so: docs/decisions/0059-a-yes-is-for-one-call.md.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::owner::Owner;

/// How many states one owner, and how many owners together, may have given a consent with in the time for which a
/// state is good.
const MAX_OF_ONE: usize = 256;
const MAX: usize = 64 * 1024;
/// How many that are good no more are forgotten by one call, at most.
const FORGOTTEN_AT_ONCE: usize = 2;

/// The number of a state, which no other has.
pub(super) type StateNumber = [u8; 16];

/// The states with which a consent was given, for as long as they are good.
#[derive(Debug, Default)]
pub(super) struct SpentStates(Mutex<SpentTable>);

/// When a state is good no more, and a count that tells it from others of that moment.
type Due = (Instant, u64);

#[derive(Debug, Default)]
struct SpentTable {
    of: HashMap<Owner, HashMap<StateNumber, Due>>,
    /// All of them, by when they are good no more.
    due: BTreeMap<Due, (Owner, StateNumber)>,
    /// How many there have been.
    count: u64,
}

impl SpentTable {
    /// Forgets a few that are good no more: twice as many as come, so that none is left in the end and no call pays for
    /// all the others.
    fn forget_some(&mut self, now: Instant) {
        for _ in 0..FORGOTTEN_AT_ONCE {
            match self.due.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let (owner, number) = first.remove();
                    if let Entry::Occupied(mut spent) = self.of.entry(owner) {
                        spent.get_mut().remove(&number);
                        if spent.get().is_empty() {
                            spent.remove();
                        }
                    }
                }
                Some(_) | None => return,
            }
        }
    }
}

impl SpentStates {
    /// Whether this state gives a consent for the first time. Where there is no room to remember that, it gives none:
    /// whoever is asked once too often loses nothing.
    pub(super) fn spend(&self, number: StateNumber, owner: &Owner, lasts: Duration) -> bool {
        self.spend_at(number, owner, lasts, Instant::now())
    }

    fn spend_at(&self, number: StateNumber, owner: &Owner, lasts: Duration, now: Instant) -> bool {
        // No change of it can be half made, so a lock without poison will do.
        let table = &mut *self.0.lock();
        table.forget_some(now);
        let full = table.due.len() >= MAX;
        let SpentTable { of, due, count } = table;
        let spent = of.entry(owner.clone()).or_default();
        if spent.len() >= MAX_OF_ONE {
            for (_, until) in spent.extract_if(|_, (until, _)| *until <= now) {
                due.remove(&until);
            }
        }
        if full || spent.len() >= MAX_OF_ONE || spent.contains_key(&number) {
            if spent.is_empty() {
                of.remove(owner);
            }
            return false;
        }
        // A time that is too far away to be told never comes.
        let until = now.checked_add(lasts).unwrap_or_else(|| now + Duration::from_secs(86_400 * 365));
        *count += 1;
        spent.insert(number, (until, *count));
        due.insert((until, *count), (owner.clone(), number));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn number(count: usize) -> StateNumber {
        (count as u128).to_le_bytes()
    }

    #[test]
    fn a_state_gives_a_consent_once() {
        let (spent, ada) = (SpentStates::default(), Owner::Caller("ada".into()));
        assert!(spent.spend(number(1), &ada, HOUR) && !spent.spend(number(1), &ada, HOUR));
        assert!(spent.spend(number(2), &ada, HOUR));
    }

    #[test]
    fn who_has_no_room_left_is_asked_again_and_takes_none_from_others() {
        let (spent, now) = (SpentStates::default(), Instant::now());
        let (ada, bob) = (Owner::Caller("ada".into()), Owner::Caller("bob".into()));
        for count in 0..MAX_OF_ONE {
            assert!(spent.spend_at(number(count), &ada, HOUR, now));
        }
        assert!(!spent.spend_at(number(MAX_OF_ONE), &ada, HOUR, now));
        assert!(spent.spend_at(number(0), &bob, HOUR, now));
        let later = now + HOUR + Duration::from_secs(1);
        assert!(spent.spend_at(number(MAX_OF_ONE), &ada, HOUR, later), "what is too old needs no room");
        let table = spent.0.lock();
        assert_eq!(table.due.len(), MAX_OF_ONE + 2 - FORGOTTEN_AT_ONCE);
        assert_eq!(table.of[&ada].len(), MAX_OF_ONE + 1 - FORGOTTEN_AT_ONCE);
    }

    #[test]
    fn all_together_have_a_bound_too() {
        let (spent, now) = (SpentStates::default(), Instant::now());
        let owner = |count: usize| Owner::Caller(count.to_string().into());
        let of_each = MAX / 512;
        assert!((0..MAX).all(|count| spent.spend_at(number(count), &owner(count / of_each), HOUR, now)));
        assert!(!spent.spend_at(number(MAX), &owner(MAX), HOUR, now));
        assert_eq!(spent.0.lock().of.len(), 512, "who was refused leaves nothing behind");
        // No call takes away more than a few, and in the end all of them are gone.
        let later = now + HOUR + Duration::from_secs(1);
        for count in 0..MAX {
            let before = spent.0.lock().due.len();
            assert!(spent.spend_at(number(MAX + count), &owner(1000 + count / of_each), HOUR, later));
            assert!(spent.0.lock().due.len() + FORGOTTEN_AT_ONCE > before);
        }
        let table = spent.0.lock();
        assert_eq!((table.due.len(), table.of.len()), (MAX, 512));
        assert!(table.due.keys().all(|(until, _)| *until > later));
    }
}
