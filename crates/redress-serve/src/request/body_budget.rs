//! The room for bodies: how many bytes of messages are held at once, of all and of one address.
//!
//! A body is read before it is known who sent it and whether the call may run, so what bounds calls
//! does not bound this.
//!
//! Why so: docs/decisions/0039-bodies-have-a-room.md.

use std::{collections::HashMap, net::IpAddr, ops::Deref};

use parking_lot::Mutex;

use redress_core::client_prefix;

/// What one body of HTTP/1.1 may hold without asking for room: there is one on a connection, and
/// connections are counted.
const FREE: usize = 16 * 1024;
/// How much room is taken at a time, so that a large body does not ask for each of its packets.
pub(crate) const STEP: usize = 64 * 1024;

/// The room for bodies.
#[derive(Debug, Default)]
pub(crate) struct BodyBudget(Mutex<HeldBodyBytes>);

#[derive(Debug, Default)]
struct HeldBodyBytes {
    all: usize,
    by_address: HashMap<BodySource, usize>,
}

/// Where a body comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BodySource {
    Address(IpAddr),
    /// Somewhere that its proxy did not tell, which is not told apart from others like it.
    Hidden,
    /// Where addresses do not tell callers apart: a Unix socket.
    Anywhere,
}

impl BodySource {
    /// Where a message comes from whose sender is `peer`, on a connection that has an address or not.
    pub(crate) fn of(peer: Option<IpAddr>, has_address: bool) -> BodySource {
        match peer {
            Some(peer) => BodySource::Address(client_prefix(peer)),
            None if has_address => BodySource::Hidden,
            None => BodySource::Anywhere,
        }
    }
}

/// How many bytes may be held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyBudgetLimits {
    pub(crate) all: usize,
    pub(crate) by_address: usize,
}

/// There is no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyBudgetExceeded;

/// What one body takes of the room; dropping it gives that back.
#[derive(Debug)]
pub(crate) struct BodyReservation<R: Deref<Target = BodyBudget>> {
    room: R,
    from: BodySource,
    max: BodyBudgetLimits,
    /// Whether there may be others on the same connection.
    shares: bool,
    bytes: usize,
}

impl BodyBudget {
    fn take(&self, from: BodySource, bytes: usize, max: BodyBudgetLimits) -> Result<(), BodyBudgetExceeded> {
        let mut held = self.0.lock();
        let all = held.all.saturating_add(bytes);
        let by_address = held.by_address.get(&from).map_or(bytes, |held| held.saturating_add(bytes));
        if all > max.all || (from != BodySource::Anywhere && by_address > max.by_address) {
            return Err(BodyBudgetExceeded);
        }
        held.all = all;
        held.by_address.insert(from, by_address);
        Ok(())
    }

    fn give_back(&self, from: BodySource, bytes: usize) {
        let mut held = self.0.lock();
        held.all -= bytes;
        if let Some(by_address) = held.by_address.get_mut(&from) {
            *by_address -= bytes;
            if *by_address == 0 {
                held.by_address.remove(&from);
            }
        }
    }
}

impl<R: Deref<Target = BodyBudget>> BodyReservation<R> {
    /// The room of a body that has nothing yet. One that `shares` its connection with others may hold
    /// nothing for free once it is waited for.
    pub(crate) fn new(room: R, from: BodySource, max: BodyBudgetLimits, shares: bool) -> BodyReservation<R> {
        BodyReservation { room, from, max, shares, bytes: 0 }
    }

    /// The body holds this many bytes, and more may be there already.
    pub(crate) fn holds(&mut self, bytes: usize) -> Result<(), BodyBudgetExceeded> {
        if bytes <= self.bytes.max(FREE) {
            return Ok(());
        }
        self.grow(bytes)
    }

    /// The body holds this many bytes, and has to be waited for.
    pub(crate) fn waits(&mut self, bytes: usize) -> Result<(), BodyBudgetExceeded> {
        if !self.shares || bytes <= self.bytes {
            return Ok(());
        }
        self.grow(bytes)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), BodyBudgetExceeded> {
        // A small body takes what it has; a large one is about to have more.
        let wanted = if bytes <= FREE { bytes } else { bytes.next_multiple_of(STEP) };
        self.room.take(self.from, wanted - self.bytes, self.max)?;
        self.bytes = wanted;
        Ok(())
    }
}

impl<R: Deref<Target = BodyBudget>> Drop for BodyReservation<R> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.room.give_back(self.from, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: BodyBudgetLimits = BodyBudgetLimits { all: 4 * STEP, by_address: 2 * STEP };

    fn at(last: u8) -> BodySource {
        BodySource::of(Some([10, 0, 0, last].into()), true)
    }

    #[test]
    fn no_address_takes_the_room_of_all_and_what_is_given_back_can_be_taken_again() {
        let room = BodyBudget::default();
        let mut bodies: Vec<BodyReservation<&BodyBudget>> =
            (0..3).map(|_| BodyReservation::new(&room, at(1), MAX, false)).collect();
        assert_eq!(bodies[0].holds(STEP), Ok(()));
        assert_eq!(bodies[1].holds(STEP), Ok(()));
        assert_eq!(bodies[2].holds(STEP), Err(BodyBudgetExceeded));
        let mut others = [
            BodyReservation::new(&room, at(2), MAX, false),
            BodyReservation::new(&room, BodySource::Anywhere, MAX, false),
        ];
        assert_eq!(others[0].holds(STEP), Ok(()));
        assert_eq!((others[1].holds(STEP), others[1].holds(STEP + 1)), (Ok(()), Err(BodyBudgetExceeded)));
        bodies.truncate(1);
        assert_eq!((others[1].holds(STEP + 1), bodies[0].holds(STEP + 1)), (Ok(()), Err(BodyBudgetExceeded)));
        drop((bodies, others));
        let left = room.0.lock();
        assert!(left.all == 0 && left.by_address.is_empty(), "{left:?}");
    }

    #[test]
    fn a_small_body_takes_nothing_unless_it_is_one_of_many_that_are_waited_for() {
        let room = BodyBudget::default();
        let nothing = BodyBudgetLimits { all: 0, by_address: 0 };
        let mut alone = BodyReservation::new(&room, at(1), nothing, false);
        assert_eq!(
            (alone.holds(FREE), alone.waits(FREE), alone.holds(FREE + 1)),
            (Ok(()), Ok(()), Err(BodyBudgetExceeded))
        );
        let mut shared = BodyReservation::new(&room, at(1), nothing, true);
        assert_eq!((shared.holds(FREE), shared.waits(0), shared.waits(1)), (Ok(()), Ok(()), Err(BodyBudgetExceeded)));
    }
}
