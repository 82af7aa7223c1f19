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
    /// The first call may have had its effect, and the recovery says how to find out: where it had none, the same
    /// call may be made again.
    AfterVerify,
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
    /// Every advice, from the best to the worst.
    pub const ALL: [Retry; 6] =
        [Retry::Safe, Retry::SafeWithKey, Retry::AfterVerify, Retry::Unsafe, Retry::AfterFix, Retry::Never];

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
        let may_have_changed = match (shape, effect, started) {
            (Shape::Query | Shape::Subscription, _, _) | (_, Effect::None, _) | (_, _, Started::No) => false,
            (Shape::Mutation, Effect::Partial | Effect::Unknown, Started::Yes | Started::WithKey) => true,
        };
        let verb = recovery.map(Recovery::verb);
        match (retryable, may_have_changed, started) {
            (true, false, _) => Retry::Safe,
            (true, true, Started::WithKey) => Retry::SafeWithKey,
            // Looking first is worth as much for what time cannot heal: it may have been done all the same.
            (_, true, _) if matches!(verb, Some(Verb::Verify { .. })) => Retry::AfterVerify,
            (true, true, Started::Yes | Started::No) => Retry::Unsafe,
            (false, _, _) => match verb {
                Some(
                    Verb::FixInput { .. } | Verb::Call { .. } | Verb::AskUser | Verb::GetAccess { .. } | Verb::Wait,
                ) => Retry::AfterFix,
                // Where nothing can have changed, there is nothing to verify.
                Some(Verb::Verify { .. } | Verb::Stop) | None => Retry::Never,
            },
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
            Retry::AfterVerify => "after_verify",
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

    /// Every verb, and none.
    fn recoveries() -> Vec<Option<Recovery>> {
        const HINT: &str = "Do what helps here, then go on.";
        let mut all = vec![
            Recovery::fix_input("/path", HINT),
            Recovery::call("files.list", HINT),
            Recovery::verify("files.check", "/exists", HINT),
            Recovery::wait(HINT),
            Recovery::ask_user(HINT),
            Recovery::get_access("files:write", HINT),
            Recovery::stop(HINT),
        ];
        // A verb that is new does not compile here until it is in the list above.
        all.retain(|recovery| match recovery.verb() {
            Verb::FixInput { .. }
            | Verb::Call { .. }
            | Verb::Verify { .. }
            | Verb::Wait
            | Verb::AskUser
            | Verb::GetAccess { .. }
            | Verb::Stop => true,
        });
        all.into_iter().map(Some).chain([None]).collect()
    }

    /// Calls `judge` with every combination of what the advice is computed from, and the advice.
    fn for_all(mut judge: impl FnMut(bool, Effect, Shape, Started, Option<&Verb>, Retry)) {
        let recoveries = recoveries();
        for retryable in [true, false] {
            for shape in SHAPES {
                for effect in EFFECTS {
                    for started in STARTED {
                        for recovery in &recoveries {
                            let advice = Retry::advise(retryable, effect, shape, started, recovery.as_ref());
                            let verb = recovery.as_ref().map(Recovery::verb);
                            judge(retryable, effect, shape, started, verb, advice);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn retry_says_yes_only_where_a_second_effect_cannot_happen() {
        for_all(|retryable, effect, shape, started, verb, advice| {
            let could_happen_twice = shape == Shape::Mutation && effect != Effect::None && started == Started::Yes;
            let yes = retryable && !could_happen_twice;
            assert_eq!(advice.says_yes(), yes, "{retryable} {shape:?} {effect:?} {started:?} {verb:?}: {advice:?}");
        });
    }

    #[test]
    fn after_verify_is_said_exactly_where_there_is_something_to_verify_and_a_way_to() {
        for_all(|retryable, effect, shape, started, verb, advice| {
            let open = shape == Shape::Mutation && effect != Effect::None && started != Started::No;
            let settled_by_key = retryable && started == Started::WithKey;
            let verifies = matches!(verb, Some(Verb::Verify { .. }));
            let expected = open && verifies && !settled_by_key;
            let what = format!("{retryable} {shape:?} {effect:?} {started:?} {verb:?}");
            assert_eq!(advice == Retry::AfterVerify, expected, "{what}: {advice:?}");
            // Without the way there, the advice is the one for what nobody can find out.
            if expected {
                let without = Retry::advise(retryable, effect, shape, started, None);
                assert_eq!(without, if retryable { Retry::Unsafe } else { Retry::Never }, "{what}");
            }
        });
    }

    #[test]
    fn what_time_cannot_heal_is_never_retried_as_it_is() {
        for_all(|retryable, _, _, _, verb, advice| {
            let expected: &[Retry] = match verb {
                _ if retryable => &[Retry::Safe, Retry::SafeWithKey, Retry::AfterVerify, Retry::Unsafe],
                Some(Verb::Stop) | None => &[Retry::Never],
                Some(Verb::Verify { .. }) => &[Retry::AfterVerify, Retry::Never],
                Some(
                    Verb::FixInput { .. } | Verb::Call { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. },
                ) => &[Retry::AfterFix],
            };
            assert!(expected.contains(&advice), "{retryable} {verb:?}: {advice:?}");
        });
    }

    #[test]
    fn every_advice_is_said_somewhere_and_spelled_as_it_is_read() {
        let mut said = Vec::new();
        for_all(|_, _, _, _, _, advice| said.push(advice));
        for advice in Retry::ALL {
            assert!(said.contains(&advice), "{advice:?}");
            assert_eq!(serde_json::to_value(advice).unwrap(), advice.as_str());
        }
    }
}
