//! How an outcome answers a JSON-RPC request.

use redress_contract::Envelope;

use super::{Id, code::number};

/// Appends the response to the request of this `id`: the output as `result`, or an error
/// object whose code is the kind's number and whose data is the envelope.
pub fn write_answer(id: Id<'_>, envelope: &Envelope, out: &mut Vec<u8>) {
    let Some(problem) = envelope.problem() else {
        return write_result(id, envelope.output().unwrap_or(b"null"), out);
    };
    let message = envelope.error_json().unwrap_or(b"\"\"");
    out.reserve(envelope.room() + message.len() + id.as_json().len() + 96);
    open(id, out);
    out.extend_from_slice(br#","error":{"code":"#);
    // Writing a number to a `Vec` cannot fail.
    let _ = serde_json::to_writer(&mut *out, &number(problem.kind));
    out.extend_from_slice(br#","message":"#);
    out.extend_from_slice(message);
    out.extend_from_slice(br#","data":"#);
    envelope.write_to(out);
    out.extend_from_slice(b"}}");
}

/// Appends a response whose `result` is this JSON.
pub fn write_result(id: Id<'_>, result: &[u8], out: &mut Vec<u8>) {
    out.reserve(result.len() + 64);
    open(id, out);
    out.extend_from_slice(br#","result":"#);
    out.extend_from_slice(result);
    out.push(b'}');
}

fn open(id: Id<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
}
