//! How many calls were counted against each allowance, as this process knows it: those in the file, and those that are
//! set aside and not in it yet. The file is the truth, so whatever nobody holds can be forgotten and read again.

use std::collections::HashMap;

use crate::quotas::{Count, CountKey, Counting};

/// How many counts are remembered before those that nobody holds are forgotten.
const REMEMBERED: usize = 100_000;

/// The counts that this process knows.
#[derive(Debug, Default)]
pub(crate) struct QuotaLedger {
    counts: HashMap<CountKey, KnownCount>,
}

/// One of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownCount {
    /// What the file says.
    used: u64,
    /// How many calls are set aside.
    held: u64,
}

impl KnownCount {
    /// How many calls have been taken from the allowance, one way or the other.
    pub(crate) fn taken(self) -> u64 {
        self.used.saturating_add(self.held)
    }
}

/// What became of a call that was to be set aside.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Aside {
    /// It is, in every allowance.
    Held,
    /// It is in none, as some are used up; so many have been taken from each.
    Exhausted(Vec<u64>),
    /// It is in none, as what the file says has to be asked first.
    Unknown,
}

impl QuotaLedger {
    /// Sets one call aside in every allowance, or in none.
    pub(crate) fn set_aside(&mut self, calls: &[Count]) -> Aside {
        let taken: Option<Vec<u64>> = calls.iter().map(|count| self.taken(&count.key)).collect();
        let Some(taken) = taken else { return Aside::Unknown };
        if calls.iter().zip(&taken).any(|(count, taken)| *taken >= count.limit) {
            return Aside::Exhausted(taken);
        }
        self.each(calls, |known| known.held += 1);
        Aside::Held
    }

    /// How many calls have been taken from an allowance, where that is known.
    pub(crate) fn taken(&self, key: &CountKey) -> Option<u64> {
        self.counts.get(key).map(|known| known.taken())
    }

    /// Gives a call back that was set aside and not counted.
    pub(crate) fn release(&mut self, calls: &Counting) {
        self.each(calls, |known| known.held = known.held.saturating_sub(1));
    }

    /// Takes note that a call that was set aside is in the file.
    pub(crate) fn counted(&mut self, calls: &Counting) {
        self.each(calls, |known| *known = KnownCount { used: known.used + 1, held: known.held.saturating_sub(1) });
    }

    /// Takes note that a call is no longer in the file.
    pub(crate) fn take_back(&mut self, calls: &Counting) {
        self.each(calls, |known| known.used = known.used.saturating_sub(1));
    }

    /// Takes up what the file says of counts that are not known. Of one that is, this process knows more; one of which the
    /// file says nothing is none.
    pub(crate) fn learn(&mut self, calls: &Counting, used: &[Option<u64>]) {
        if self.counts.len() >= REMEMBERED {
            self.counts.retain(|_, known| known.held > 0);
        }
        for (count, used) in calls.iter().zip(used) {
            if let Some(used) = *used {
                self.counts.entry(count.key.clone()).or_insert(KnownCount { used, held: 0 });
            }
        }
    }

    /// Forgets the counts of hours, days and months that are over.
    pub(crate) fn forget_ended(&mut self, now_s: u64) {
        self.counts.retain(|key, known| known.held > 0 || key.renews > now_s);
    }

    /// What is set aside is always known, and what was forgotten is read again.
    fn each(&mut self, calls: &[Count], change: impl Fn(&mut KnownCount)) {
        for count in calls {
            if let Some(known) = self.counts.get_mut(&count.key) {
                change(known);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use redress_core::QuotaWindow;

    use super::*;

    fn calls(limits: &[(&str, u64)]) -> Counting {
        let count = |(rule, limit): &(&str, u64)| Count {
            key: CountKey {
                caller: "ada".into(),
                rule: (*rule).into(),
                window: QuotaWindow::Day,
                starts: 0,
                renews: 86_400,
            },
            policy: "day".into(),
            limit: *limit,
        };
        limits.iter().map(count).collect::<Vec<_>>().into()
    }

    #[test]
    fn a_call_is_set_aside_in_all_of_its_allowances_or_in_none() {
        let (mut ledger, both) = (QuotaLedger::default(), calls(&[("a", 2), ("b", 1)]));
        assert_eq!(ledger.set_aside(&both), Aside::Unknown);
        ledger.learn(&both, &[Some(0), Some(0)]);
        assert_eq!(ledger.set_aside(&both), Aside::Held);
        assert_eq!(ledger.set_aside(&both), Aside::Exhausted(vec![1, 1]), "what `b` refuses takes nothing from `a`");
        ledger.release(&both);
        assert_eq!((ledger.taken(&both[0].key), ledger.taken(&both[1].key)), (Some(0), Some(0)));
    }

    #[test]
    fn what_somebody_holds_is_never_forgotten_and_never_learnt_anew() {
        let (mut ledger, held) = (QuotaLedger::default(), calls(&[("a", 9)]));
        ledger.learn(&held, &[Some(3)]);
        assert_eq!(ledger.set_aside(&held), Aside::Held);
        ledger.forget_ended(u64::MAX);
        ledger.learn(&held, &[Some(0)]);
        assert_eq!(ledger.taken(&held[0].key), Some(4));
        ledger.counted(&held);
        assert_eq!(ledger.counts[&held[0].key], KnownCount { used: 4, held: 0 });
        ledger.forget_ended(86_400);
        assert_eq!(ledger.set_aside(&held), Aside::Unknown);
    }

    #[test]
    fn no_more_counts_are_remembered_than_so_many_and_those_that_are_held() {
        let (mut ledger, held) = (QuotaLedger::default(), calls(&[("held", 9)]));
        ledger.learn(&held, &[Some(0)]);
        ledger.set_aside(&held);
        for number in 0..REMEMBERED {
            let one: Arc<[Count]> = calls(&[(&number.to_string(), 1)]);
            ledger.learn(&one, &[Some(0)]);
        }
        assert!(ledger.counts.len() <= REMEMBERED && ledger.taken(&held[0].key) == Some(1));
    }
}
