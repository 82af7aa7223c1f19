//! Input schema: what is said about an input that was refused.

use redress_contract::EngineCode;
use serde::Serialize;

use super::{Bad, Call};
use crate::{
    handler::Reads,
    input::{self, DecodeError, Explanation},
    registry::Entry,
};

/// The details of INVALID_INPUT.
#[derive(Serialize)]
struct Details<'a> {
    issues: &'a [input::Issue],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a [serde_json::Value]>,
}

impl Call {
    /// Explains a refusal. Only a refused call pays for this.
    pub(super) fn explain<R: Reads + ?Sized>(
        &self,
        entry: &Entry,
        reader: &R,
        input: &[u8],
        error: DecodeError,
    ) -> Box<Bad> {
        match error {
            // The parser gives up on what nests too deep as if it were no JSON.
            DecodeError::NotJson => match self.extent().measure(input) {
                Some(beyond) => self.beyond(beyond),
                None => self.refuse(EngineCode::ParseError),
            },
            DecodeError::Refused => {
                let Explanation { issues, fix } = input::explain(
                    input,
                    &entry.input,
                    &|patched| reader.accepts(&entry.input, patched),
                    &|refused| reader.stumbles_at(refused),
                    &|| false,
                );
                self.refuse_with(EngineCode::InvalidInput, &Details { issues: &issues, fix: fix.as_deref() })
            }
        }
    }
}
