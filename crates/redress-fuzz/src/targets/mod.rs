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
mod openapi;
mod operation;
mod overlay;
mod paths;
mod patterns;
mod query;
mod schema;
mod subscribe;
mod templates;
mod tokens;

use crate::work;

/// A function of bytes that panics where its oracle does not hold.
pub(crate) type Target = fn(&[u8]);

/// Every target, by its name: that of its folder in the corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("alike", |data| work::sent(data, alike::target)),
    ("batch", |data| work::sent(data, batch::target)),
    ("call", |data| work::sent(data, call::target)),
    ("certificates", |data| work::sent(data, certificates::target)),
    ("config", |data| work::sent(data, config::target)),
    ("contract", |data| work::sent(data, contract::target)),
    ("fix", |data| work::sent(data, fix::target)),
    ("forwarded", |data| work::sent(data, forwarded::target)),
    ("frames", |data| work::sent(data, frames::target)),
    ("headers", |data| work::sent(data, headers::target)),
    ("http", |data| work::sent(data, http::target)),
    ("jsonrpc", |data| work::sent(data, jsonrpc::target)),
    ("jwt", |data| work::sent(data, jwt::target)),
    ("keys", |data| work::sent(data, keys::target)),
    ("lines", |data| work::sent(data, lines::target)),
    ("mcp", |data| work::sent(data, mcp::target)),
    ("messages", |data| work::sent(data, messages::target)),
    ("names", |data| work::sent(data, names::target)),
    ("openapi", |data| work::sent(data, openapi::target)),
    ("operation", |data| work::sent(data, operation::target)),
    ("overlay", |data| work::sent(data, overlay::target)),
    ("paths", |data| work::sent(data, paths::target)),
    ("patterns", |data| work::sent(data, patterns::target)),
    ("query", |data| work::sent(data, query::target)),
    ("schema", |data| work::sent(data, schema::target)),
    ("subscribe", |data| work::sent(data, subscribe::target)),
    ("templates", |data| work::sent(data, templates::target)),
    ("tokens", |data| work::sent(data, tokens::target)),
];

/// A call in the folder of the file operations, with this text as the `globs` or the `pattern` of a search, the `old`
/// text of an edit or the `path` of a read.
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
