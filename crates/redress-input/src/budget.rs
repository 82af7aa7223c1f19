//! How much work an explanation may take.
//!
//! A refusal must not cost more than a call, whatever the document and the schema are: work is counted in
//! steps, and when there are none left, or nobody waits any more, what was found so far is told.

use std::cell::Cell;

/// A number of steps, spent by whoever does work that a caller can make larger.
///
/// A step is a bounded amount of work: one rule of a schema at one value, one name looked up, one option
/// or 64 bytes of text compared.
pub(super) struct StepBudget<'a> {
    left: Cell<u64>,
    used: Cell<u64>,
    ended: Cell<bool>,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> StepBudget<'a> {
    /// What even the smallest document may take: schemas with thousands of alternatives exist.
    const MIN: u64 = 200_000;
    /// What a byte of a document adds to that.
    const PER_BYTE: u64 = 16;
    /// What no document may take. Measured in an optimised build, that many take 0.06 s where a step is cheap; where it
    /// hashes or compares text, half a million take 0.2 s, so that all of them may take more than a second.
    const MAX: u64 = 4_000_000;

    /// The budget for a document of this many bytes. `stop` is asked every so many steps.
    pub(super) fn of(bytes: usize, stop: &'a dyn Fn() -> bool) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self::new(Self::MIN.saturating_add(bytes.saturating_mul(Self::PER_BYTE)).min(Self::MAX), stop)
    }

    /// A budget of `steps`.
    pub(super) fn new(steps: u64, stop: &'a dyn Fn() -> bool) -> Self {
        Self { left: Cell::new(steps), used: Cell::new(0), ended: Cell::new(stop()), stop }
    }

    /// Takes `steps`; `false` if there are not that many left, and from then on.
    pub(super) fn spend(&self, steps: u64) -> bool {
        /// Steps between two questions whether to stop; a power of two.
        const ASKED_EVERY: u64 = 1024;
        if self.ended.get() {
            return false;
        }
        let (left, used) = (self.left.get(), self.used.get());
        let asks = used / ASKED_EVERY != (used + steps) / ASKED_EVERY;
        if steps > left || (asks && (self.stop)()) {
            self.ended.set(true);
            return false;
        }
        self.left.set(left - steps);
        self.used.set(used + steps);
        true
    }

    /// Takes what it costs to look at a text of this many bytes, besides the first step.
    pub(super) fn spend_text(&self, bytes: usize) -> bool {
        bytes < 64 || self.spend(u64::try_from(bytes / 64).unwrap_or(u64::MAX))
    }

    /// Ends it before its steps are used up.
    pub(super) fn end(&self) {
        self.ended.set(true);
    }

    /// Whether no more work is to be done.
    pub(super) fn is_spent(&self) -> bool {
        self.ended.get()
    }

    /// The steps taken.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_ends_once_and_for_all() {
        let budget = StepBudget::new(3, &|| false);
        assert!(budget.spend(2));
        assert!(!budget.spend(2), "there is one left");
        assert!(!budget.spend(1), "it ended before");
        assert_eq!(budget.used(), 2);
    }

    #[test]
    fn whoever_waits_may_end_it() {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() == 4
        };
        let budget = StepBudget::new(1_000_000, &stop);
        while budget.spend(1) {}
        assert!(budget.is_spent());
        assert_eq!((asked.get(), budget.used()), (4, 3071));
    }

    #[test]
    fn a_budget_grows_with_the_document_up_to_a_cap() {
        let left = |bytes| StepBudget::of(bytes, &|| false).left.get();
        assert_eq!(left(0), StepBudget::MIN);
        assert_eq!(left(1000), StepBudget::MIN + 1000 * StepBudget::PER_BYTE);
        assert_eq!(left(usize::MAX), StepBudget::MAX);
    }
}
