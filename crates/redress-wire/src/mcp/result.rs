//! The result of `tools/call`, written straight from the outcome.

use redress_contract::{Breach, Envelope};

use crate::jsonrpc::Id;

use super::{BREACH_META, ERROR_META, EnvelopeUse, Era, text::escaped};

/// Up to how many bytes an output is not looked through before it is written.
const LARGE: usize = 64 * 1024;

/// How the outcome of one call is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultOptions {
    /// Which era the client speaks.
    pub era: Era,
    /// Which endings come in an envelope.
    pub envelope: EnvelopeUse,
    /// Whether a bad ending may stand as `structuredContent`.
    pub admits_failure: bool,
    /// Whether the output is pieces to look at, which stand in the result as they are.
    pub shows_blocks: bool,
    /// Whether the envelope of a bad ending stands in `_meta`.
    pub error_meta: bool,
}

/// Appends the opening of a response; the result and a closing brace make it whole.
pub fn open_result(id: Id<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(br#","result":"#);
}

/// Appends the response to a call that ended like this. `told` is what a model reads of a bad ending, and `more` is JSON
/// that is shown beside it, such as the items that a stream gave before it.
pub fn write_call(
    id: Id<'_>,
    envelope: &Envelope,
    told: &str,
    carriage: ResultOptions,
    more: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    if envelope.is_ok() {
        return match carriage.envelope {
            _ if carriage.shows_blocks => write_blocks(id, envelope.output().unwrap_or(b"[]"), carriage.era, out),
            EnvelopeUse::Failures => {
                write_marked(id, envelope.output().unwrap_or(b"null"), envelope.output_breach(), carriage, out);
            }
            EnvelopeUse::Always => write_output(id, &envelope.to_bytes(), carriage, out),
        };
    }
    let mut json = Vec::with_capacity(1024);
    if carriage.admits_failure || carriage.error_meta {
        envelope.write_to(&mut json);
    }
    out.reserve(json.len() * 2 + told.len() * 2 + 256);
    open(id, carriage.era, out);
    out.extend_from_slice(br#""isError":true,"content":[{"type":"text","text":""#);
    escaped(told.as_bytes(), out);
    out.extend_from_slice(br#""}"#);
    if let Some(more) = more {
        out.extend_from_slice(br#",{"type":"text","text":""#);
        escaped(more, out);
        out.extend_from_slice(br#""}"#);
    }
    out.push(b']');
    if carriage.admits_failure {
        out.extend_from_slice(br#","structuredContent":"#);
        out.extend_from_slice(&json);
    }
    if carriage.error_meta {
        out.extend_from_slice(br#","_meta":{""#);
        out.extend_from_slice(ERROR_META.as_bytes());
        out.extend_from_slice(br#"":"#);
        out.extend_from_slice(&json);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}");
}

/// Appends the response to a call that ended well with this output, which is JSON.
pub fn write_output(id: Id<'_>, output: &[u8], carriage: ResultOptions, out: &mut Vec<u8>) {
    write_marked(id, output, None, carriage, out);
}

/// The same, marked where the output breaks its schema.
fn write_marked(id: Id<'_>, output: &[u8], breach: Option<&Breach>, carriage: ResultOptions, out: &mut Vec<u8>) {
    out.reserve(output.len() * 2 + escapes(output) + 160);
    open(id, carriage.era, out);
    out.extend_from_slice(br#""content":[{"type":"text","text":""#);
    escaped(output, out);
    out.extend_from_slice(br#""}]"#);
    // The legacy era knows objects only.
    if carriage.era == Era::Modern || output.first() == Some(&b'{') {
        out.extend_from_slice(br#","structuredContent":"#);
        out.extend_from_slice(output);
    }
    if let Some(breach) = breach {
        out.extend_from_slice(br#","_meta":{""#);
        out.extend_from_slice(BREACH_META.as_bytes());
        out.extend_from_slice(br#"":"#);
        // Two strings can be written.
        let _ = serde_json::to_writer(&mut *out, breach);
        out.push(b'}');
    }
    out.extend_from_slice(b"}}");
}

/// How many bytes the escapes of this JSON take, about: those of a large one are counted, so that no buffer outgrows
/// what was reserved for it.
fn escapes(output: &[u8]) -> usize {
    if output.len() <= LARGE {
        return output.len() / 4;
    }
    output.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// Appends the response to a call that gave pieces to look at: they are what the client shows, so
/// nothing else says the same once more.
fn write_blocks(id: Id<'_>, blocks: &[u8], era: Era, out: &mut Vec<u8>) {
    out.reserve(blocks.len() + 96);
    open(id, era, out);
    out.extend_from_slice(br#""content":"#);
    out.extend_from_slice(blocks);
    out.extend_from_slice(b"}}");
}

pub(super) fn open(id: Id<'_>, era: Era, out: &mut Vec<u8>) {
    open_result(id, out);
    out.push(b'{');
    if era == Era::Modern {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
}
