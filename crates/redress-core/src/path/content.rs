//! Content guard: source is looked at before an operation runs it.

use redress_contract::{EngineCode, RecoveryStep};
use serde_json::{Value, json};

use super::{Call, FailedCall};
use crate::{Blocked, Registry, registry::RegisteredOperation, upstream_failure::member_pointer};

/// Why source is not run, and what is said about it.
pub(super) struct BlockedSource {
    code: EngineCode,
    details: Option<Value>,
    /// Where the source is in the input.
    pointer: String,
}

impl Registry {
    /// Asks the content guard of the language. Registration has made sure that there is one,
    /// so none at all is a refusal too.
    pub(super) fn content(&self, entry: &RegisteredOperation, input: &[u8]) -> Result<(), BlockedSource> {
        let Some((member, language)) = entry.source() else { return Ok(()) };
        let pointer = || member_pointer(member);
        let Some(guard) = self.0.content.get(language) else {
            return Err(BlockedSource { code: EngineCode::EvalUnparsable, details: None, pointer: pointer() });
        };
        let input: Value = serde_json::from_slice(input).unwrap_or_default();
        // The schema has passed, so a source that is not a string is an optional one left out.
        let Some(source) = input.get(member).and_then(Value::as_str) else { return Ok(()) };
        let (code, details) = match guard.check(source) {
            Ok(()) => return Ok(()),
            Err(Blocked::Keyword(keyword)) => {
                (EngineCode::EvalBlockedKeyword, json!({"keyword": keyword, "code_hash": hash(source)}))
            }
            Err(Blocked::Construct(construct)) => {
                (EngineCode::EvalBlockedConstruct, json!({"construct": construct, "code_hash": hash(source)}))
            }
            Err(Blocked::Unparsable) => (EngineCode::EvalUnparsable, json!({"code_hash": hash(source)})),
        };
        Err(BlockedSource { code, details: Some(details), pointer: pointer() })
    }
}

impl Call {
    /// Asks the content guard about an input that is not large.
    pub(super) fn content(&self, entry: &RegisteredOperation, input: &[u8]) -> Result<(), Box<FailedCall>> {
        self.ctx.registry.content(entry, input).map_err(|blocked| self.blocked(blocked))
    }

    /// The refusal of source, as the caller sees it. The log has the same hash, so that a caller who tells it can be
    /// helped by whoever has only the log.
    pub(super) fn blocked(&self, BlockedSource { code, details, pointer }: BlockedSource) -> Box<FailedCall> {
        let code_hash = details.as_ref().and_then(|details| details["code_hash"].as_str());
        tracing::info!(request_id = %self.ctx.request_id, operation = self.operation(), code = code.as_str(), code_hash, "source was refused");
        let mut bad = match details {
            Some(details) => self.refuse_with(code, &details),
            None => self.refuse(code),
        };
        bad.problem.recovery = Some(RecoveryStep::FixInput { pointer: pointer.into() });
        bad
    }
}

/// FNV-1a over the source: enough to find the same source in a log, and nothing of it.
fn hash(source: &str) -> String {
    let hash = source.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_fnv_1a_of_32_bits_in_eight_digits() {
        assert_eq!(super::hash(""), "811c9dc5");
        assert_eq!(super::hash("a"), "e40c292c");
        assert_eq!(super::hash("foobar"), "bf9cf968");
    }
}
