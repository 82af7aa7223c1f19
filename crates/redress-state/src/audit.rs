//! The audit: one line of JSON for each call, pushed under a short lock.

use std::sync::Arc;

use redress_core::{Audit, AuditedCall, Fingerprint, Receipt};

use crate::{clock::to_ms, hash, shared::StateInner};

/// The audit of a state.
pub(crate) struct AuditLog(pub(crate) Arc<StateInner>);

impl Audit for AuditLog {
    fn record(&self, call: &AuditedCall<'_>) -> Option<Receipt> {
        let shared = &*self.0;
        // What takes long is done before the lock is taken.
        let hash = call.input.map(hash::text);
        let at_ms = to_ms(shared.options.clock.wall());
        let batch = shared.queue.record(at_ms, || shared.running(), |text| write(text, at_ms, call, hash.as_ref()));
        let Some(batch) = batch else {
            tracing::error!(request_id = %call.request_id, "a call ended after the audit was closed");
            return None;
        };
        // A composed call ends before the one that made it, whose receipt stands for both.
        call.parent.is_none().then(|| Receipt::new(batch.kept()))
    }

    fn digest(&self, input: &[u8]) -> Fingerprint {
        hash::keyed(&self.0.salt, input)
    }

    fn is_open(&self) -> bool {
        self.0.queue.is_open()
    }
}

/// Appends the record: `[ms, request id, parent, face, caller, operation, code, µs, hash, repeated]`.
fn write(text: &mut String, at_ms: i64, call: &AuditedCall<'_>, hash: Option<&[u8; hash::LENGTH]>) {
    // Ids, names and codes are of characters that need no escape. A formatter would cost more than all of the rest.
    let mut number = itoa::Buffer::new();
    text.push('[');
    text.push_str(number.format(at_ms));
    text.push_str(",\"");
    call.request_id.with_text(|id| text.push_str(id));
    match call.parent {
        Some(parent) => {
            text.push_str("\",\"");
            parent.with_text(|id| text.push_str(id));
            text.push_str("\",\"");
        }
        None => text.push_str("\",null,\""),
    }
    text.push_str(call.face.as_str());
    text.push_str("\",");
    match call.caller {
        Some(caller) => push_text(text, caller.id()),
        None => text.push_str("null"),
    }
    text.push_str(",\"");
    text.push_str(call.operation.name().as_str());
    text.push_str("\",\"");
    text.push_str(call.code());
    text.push_str("\",");
    text.push_str(number.format(u64::try_from(call.elapsed.as_micros()).unwrap_or(u64::MAX)));
    text.push(',');
    match hash.and_then(|hash| std::str::from_utf8(hash).ok()) {
        Some(hash) => {
            text.push('"');
            text.push_str(hash);
            text.push('"');
        }
        None => text.push_str("null"),
    }
    text.push_str(if call.repeated { ",1]" } else { ",0]" });
}

/// Appends what somebody else has chosen, as a JSON string.
fn push_text(text: &mut String, value: &str) {
    if value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
        text.push('"');
        text.push_str(value);
        text.push('"');
    } else {
        text.push_str(&serde_json::Value::from(value).to_string());
    }
}
