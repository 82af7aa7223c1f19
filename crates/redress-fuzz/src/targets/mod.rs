//! The targets, one file for each way in.

mod alike;
mod batch;
mod call;
mod fix;
mod headers;
mod jsonrpc;
mod operation;
mod query;
mod subscribe;

/// A function of bytes that panics where its oracle does not hold.
pub(crate) type Target = fn(&[u8]);

/// Every target, by its name: that of its folder in the corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("alike", alike::target),
    ("batch", batch::target),
    ("call", call::target),
    ("fix", fix::target),
    ("headers", headers::target),
    ("jsonrpc", jsonrpc::target),
    ("operation", operation::target),
    ("query", query::target),
    ("subscribe", subscribe::target),
];

/// What stands before the first line end, and what follows it.
fn cut(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, b""),
    }
}
