//! Input schema: what is said about an input that was refused.

use std::cell::Cell;

use redress_contract::{EngineCode, RecoveryStep};
use redress_input::{Beyond, DecodeError, Explanation, Extent, InputIssue, InputShape};
use serde::Serialize;

use super::{Call, FailedCall};
use crate::author::handler::InputReader;

/// The hint where no small change is known to mend the input.
const NO_FIX: &str = "Change what `details.issues` points at, and call again.";

/// Why an input was refused, with all that is said about it.
pub(super) enum InputRefusal {
    /// It nests too deep or holds too much.
    Beyond(Beyond),
    /// It is no JSON.
    NotJson,
    /// It is not what the operation takes.
    Unfit(Explanation),
}

/// The details of INVALID_INPUT.
#[derive(Serialize)]
struct InvalidInputDetails<'a> {
    issues: &'a [InputIssue],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a [serde_json::Value]>,
}

impl InputRefusal {
    /// Explains a refusal, until `stop` says so. Only a refused call pays for this.
    pub(super) fn explained<R: InputReader + ?Sized>(
        reader: &R,
        shape: &InputShape,
        extent: Extent,
        input: &[u8],
        error: DecodeError,
        stop: &dyn Fn() -> bool,
    ) -> InputRefusal {
        match error {
            // The parser gives up on what nests too deep as if it were no JSON.
            DecodeError::NotJson => extent.measure(input).map_or(InputRefusal::NotJson, InputRefusal::Beyond),
            DecodeError::Refused => {
                let accepts = |patched: &[u8]| reader.accepts(shape, patched);
                let stumbles = |refused: &[u8]| reader.stumbles_at(refused);
                InputRefusal::Unfit(redress_input::explain(input, shape, &accepts, &stumbles, stop))
            }
        }
    }

    /// [`explained`](InputRefusal::explained), if that takes no more than a moment. How much work it is depends on the schema
    /// as much as on the input, and only doing it tells.
    pub(super) fn explained_soon<R: InputReader + ?Sized>(
        reader: &R,
        shape: &InputShape,
        extent: Extent,
        input: &[u8],
        error: DecodeError,
    ) -> Option<InputRefusal> {
        /// How often an explanation that takes a moment asks whether to stop: when it begins, for each of its two budgets,
        /// and then once in a thousand steps, which take some ten microseconds, and some hundred where text is compared.
        const SOON: u32 = 3;
        let call_input = Cell::new(0);
        let is_long = || {
            call_input.set(call_input.get() + 1);
            call_input.get() > SOON
        };
        let refused = InputRefusal::explained(reader, shape, extent, input, error, &is_long);
        (call_input.get() <= SOON).then_some(refused)
    }
}

impl Call {
    /// The refusal of an input, as the caller sees it.
    pub(super) fn refused_input(&self, refused: InputRefusal) -> Box<FailedCall> {
        match refused {
            InputRefusal::Beyond(beyond) => self.beyond(beyond),
            InputRefusal::NotJson => self.refuse(EngineCode::ParseError),
            InputRefusal::Unfit(Explanation { issues, fix }) => {
                let details = InvalidInputDetails { issues: &issues, fix: fix.as_deref() };
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
