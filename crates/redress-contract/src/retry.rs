//! Whether the same call may be made again: computed, never declared.

use serde::{Deserialize, Serialize};

use crate::{Recovery, Shape, Verb};

/// Whether the side effect happened before the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing was changed.
    None,
    /// Part of the work was done.
    Partial,
    /// Nobody can tell.
    Unknown,
}

/// Whether, and how, the same call may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// The same call may be made again as it is.
    Safe,
    /// The same call may be made again with the same idempotency key.
    SafeWithKey,
    /// Time may heal it, but the first call may have had its effect.
    Unsafe,
    /// The same call fails again until something else is done first.
    AfterFix,
    /// The same call is not worth making again.
    Never,
}

/// How far the call had come when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// The handler had not been polled once.
    No,
    /// The handler had started, on a call without an idempotency key.
    Yes,
    /// The handler had started, on a call with an idempotency key that the operation takes.
    WithKey,
}

impl Effect {
    /// The effect as it is spelled on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Effect::None => "none",
            Effect::Partial => "partial",
            Effect::Unknown => "unknown",
        }
    }
}

impl Retry {
    /// Computes the advice from what is known about the failure, the operation and
    /// how far the call had come.
    ///
    /// ```
    /// use redress_contract::{Effect, Retry, Shape, Started};
    ///
    /// // A payment that may have gone through is never simply sent again.
    /// let advice = Retry::advise(true, Effect::Unknown, Shape::Mutation, Started::Yes, None);
    /// assert_eq!(advice, Retry::Unsafe);
    /// ```
    pub fn advise(
        retryable: bool,
        effect: Effect,
        shape: Shape,
        started: Started,
        recovery: Option<&Recovery>,
    ) -> Retry {
        if !retryable {
            return match recovery.map(Recovery::verb) {
                Some(
                    Verb::FixInput { .. } | Verb::Call { .. } | Verb::AskUser | Verb::GetAccess { .. } | Verb::Wait,
                ) => Retry::AfterFix,
                Some(Verb::Stop) | None => Retry::Never,
            };
        }
        match (shape, effect, started) {
            (Shape::Query | Shape::Subscription, _, _) | (_, Effect::None, _) | (_, _, Started::No) => Retry::Safe,
            (Shape::Mutation, Effect::Partial | Effect::Unknown, Started::WithKey) => Retry::SafeWithKey,
            (Shape::Mutation, Effect::Partial | Effect::Unknown, Started::Yes) => Retry::Unsafe,
        }
    }

    /// Whether a program may make the same call again without asking anybody.
    pub const fn says_yes(self) -> bool {
        matches!(self, Retry::Safe | Retry::SafeWithKey)
    }

    /// The advice as it is spelled on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Retry::Safe => "safe",
            Retry::SafeWithKey => "safe_with_key",
            Retry::Unsafe => "unsafe",
            Retry::AfterFix => "after_fix",
            Retry::Never => "never",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 3] = [Shape::Query, Shape::Mutation, Shape::Subscription];
    const EFFECTS: [Effect; 3] = [Effect::None, Effect::Partial, Effect::Unknown];
    const STARTED: [Started; 3] = [Started::No, Started::Yes, Started::WithKey];

    #[test]
    fn retry_says_yes_only_where_a_second_effect_cannot_happen() {
        for shape in SHAPES {
            for effect in EFFECTS {
                for started in STARTED {
                    let advice = Retry::advise(true, effect, shape, started, None);
                    let could_happen_twice =
                        shape == Shape::Mutation && effect != Effect::None && started == Started::Yes;
                    assert_eq!(advice.says_yes(), !could_happen_twice, "{shape:?} {effect:?} {started:?}");
                }
            }
        }
    }

    #[test]
    fn what_time_cannot_heal_is_never_retried_as_it_is() {
        let stop = Recovery::stop("There is nothing left to try here.");
        let fix = Recovery::fix_input("/path", "Give a path inside the workspace folder.");
        for shape in SHAPES {
            let advise = |recovery| Retry::advise(false, Effect::None, shape, Started::Yes, recovery);
            assert_eq!(advise(None), Retry::Never);
            assert_eq!(advise(Some(&stop)), Retry::Never);
            assert_eq!(advise(Some(&fix)), Retry::AfterFix);
        }
    }
}
