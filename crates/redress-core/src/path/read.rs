//! Input schema: what is said about an input that was refused.

use std::cell::Cell;

use redress_contract::{EngineCode, RecoveryStep};
use serde::Serialize;

use super::{Bad, Call};
use crate::{
    handler::Reads,
    input::{self, Beyond, DecodeError, Explanation, Extent, Shape},
};

/// The hint where no small change is known to mend the input.
const NO_FIX: &str = "Change what `details.issues` points at, and call again.";

/// Why an input was refused, with all that is said about it.
pub(super) enum Refused {
    /// It nests too deep or holds too much.
    Beyond(Beyond),
    /// It is no JSON.
    NotJson,
    /// It is not what the operation takes.
    Unfit(Explanation),
}

/// The details of INVALID_INPUT.
#[derive(Serialize)]
struct Details<'a> {
    issues: &'a [input::Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a [serde_json::Value]>,
}

impl Refused {
    /// Explains a refusal, until `stop` says so. Only a refused call pays for this.
    pub(super) fn explained<R: Reads + ?Sized>(
        reader: &R,
        shape: &Shape,
        extent: Extent,
        input: &[u8],
        error: DecodeError,
        stop: &dyn Fn() -> bool,
    ) -> Refused {
        match error {
            // The parser gives up on what nests too deep as if it were no JSON.
            DecodeError::NotJson => extent.measure(input).map_or(Refused::NotJson, Refused::Beyond),
            DecodeError::Refused => {
                let accepts = |patched: &[u8]| reader.accepts(shape, patched);
                let stumbles = |refused: &[u8]| reader.stumbles_at(refused);
                Refused::Unfit(input::explain(input, shape, &accepts, &stumbles, stop))
            }
        }
    }

    /// [`explained`](Refused::explained), if that takes no more than a moment. How much work it is depends on the schema
    /// as much as on the input, and only doing it tells.
    pub(super) fn explained_soon<R: Reads + ?Sized>(
        reader: &R,
        shape: &Shape,
        extent: Extent,
        input: &[u8],
        error: DecodeError,
    ) -> Option<Refused> {
        /// How often an explanation that takes a moment asks whether to stop: when it begins, for each of its two budgets,
        /// and then once in a thousand steps, which take some ten microseconds, and some hundred where text is compared.
        const SOON: u32 = 3;
        let asked = Cell::new(0);
        let is_long = || {
            asked.set(asked.get() + 1);
            asked.get() > SOON
        };
        let refused = Refused::explained(reader, shape, extent, input, error, &is_long);
        (asked.get() <= SOON).then_some(refused)
    }
}

impl Call {
    /// The refusal of an input, as the caller sees it.
    pub(super) fn refused_input(&self, refused: Refused) -> Box<Bad> {
        match refused {
            Refused::Beyond(beyond) => self.beyond(beyond),
            Refused::NotJson => self.refuse(EngineCode::ParseError),
            Refused::Unfit(Explanation { issues, fix }) => {
                let details = Details { issues: &issues, fix: fix.as_deref() };
                let mut bad = self.refuse_with(EngineCode::InvalidInput, &details);
                // Of several places none is the one to change.
                if let [issue] = &issues[..] {
                    bad.problem.recovery = Some(RecoveryStep::FixInput { pointer: issue.pointer.as_str().into() });
                }
                if fix.is_none() {
                    bad.problem.hint = NO_FIX.into();
                }
                bad
            }
        }
    }
}
