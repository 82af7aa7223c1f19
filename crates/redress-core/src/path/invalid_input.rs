//! Input schema: what is said about an input that was refused.

use std::sync::atomic::{AtomicBool, Ordering};

use redress_contract::{EngineCode, RecoveryStep};
use serde::Serialize;

use super::{Call, FailedCall};
use crate::{
    author::handler::InputReader,
    input::{self, Beyond, DecodeError, Explanation, Extent, InputShape},
    registry::RegisteredOperation,
};

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
    issues: &'a [input::InputIssue],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a [serde_json::Value]>,
}

impl InputRefusal {
    /// Explains a refusal, until that is `abandoned`. Only a refused call pays for this.
    pub(super) fn explained<R: InputReader + ?Sized>(
        reader: &R,
        shape: &InputShape,
        extent: Extent,
        input: &[u8],
        error: DecodeError,
        abandoned: &AtomicBool,
    ) -> InputRefusal {
        match error {
            // The parser gives up on what nests too deep as if it were no JSON.
            DecodeError::NotJson => extent.measure(input).map_or(InputRefusal::NotJson, InputRefusal::Beyond),
            DecodeError::Refused => {
                let accepts = |patched: &[u8]| reader.accepts(shape, patched);
                let stumbles = |refused: &[u8]| reader.stumbles_at(refused);
                let stop = || abandoned.load(Ordering::Relaxed);
                InputRefusal::Unfit(input::explain(input, shape, &accepts, &stumbles, &stop))
            }
        }
    }
}

impl Call {
    /// Explains the refusal of an input that is not large.
    #[cold]
    pub(super) fn explain<R: InputReader + ?Sized>(
        &self,
        entry: &RegisteredOperation,
        reader: &R,
        input: &[u8],
        error: DecodeError,
    ) -> Box<FailedCall> {
        let never = AtomicBool::new(false);
        self.refused_input(InputRefusal::explained(reader, &entry.input, self.extent(), input, error, &never))
    }

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
