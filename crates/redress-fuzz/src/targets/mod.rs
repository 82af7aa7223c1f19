//! The targets, one file for each way in.

mod alike;
mod batch;
mod call;
mod certificates;
mod config;
mod contract;
mod fix;
mod forwarded;
mod frames;
mod headers;
mod http;
mod jsonrpc;
mod jwt;
mod keys;
mod lines;
mod mcp;
mod messages;
mod names;
mod operation;
mod paths;
mod patterns;
mod query;
mod schema;
mod subscribe;
mod templates;
mod tokens;

/// A function of bytes that panics where its oracle does not hold.
pub(crate) type Target = fn(&[u8]);

/// Every target, by its name: that of its folder in the corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("alike", alike::target),
    ("batch", batch::target),
    ("call", call::target),
    ("certificates", certificates::target),
    ("config", config::target),
    ("contract", contract::target),
    ("fix", fix::target),
    ("forwarded", forwarded::target),
    ("frames", frames::target),
    ("headers", headers::target),
    ("http", http::target),
    ("jsonrpc", jsonrpc::target),
    ("jwt", jwt::target),
    ("keys", keys::target),
    ("lines", lines::target),
    ("mcp", mcp::target),
    ("messages", messages::target),
    ("names", names::target),
    ("operation", operation::target),
    ("paths", paths::target),
    ("patterns", patterns::target),
    ("query", query::target),
    ("schema", schema::target),
    ("subscribe", subscribe::target),
    ("templates", templates::target),
    ("tokens", tokens::target),
];

/// A search in the folder of the file operations, with this text as its `globs` or its `pattern`.
pub(crate) async fn search_files(member: &str, text: &[u8]) {
    patterns::search(member, text).await;
}

/// What stands before the first line end, and what follows it.
fn cut(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, b""),
    }
}
