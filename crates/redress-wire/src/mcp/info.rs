//! What the server says of itself.

use redress_contract::EngineCode;
use serde_json::{Value, json};

use super::{Caching, VERSIONS};

/// What the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// What people call it, where that is not its name.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it is for, if anybody said.
    pub description: Option<String>,
}

/// What the server can. Only what it does is said: clients ask for whatever is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It has tools.
    pub tools: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It has resources.
    pub resources: bool,
    /// It completes arguments.
    pub completions: bool,
    /// It sends what handlers note for their callers.
    pub logging: bool,
    /// It tells when lists change, and when documents do.
    pub announces: bool,
}

impl Capabilities {
    fn json(self) -> Value {
        let list = || if self.announces { json!({"listChanged": true}) } else { json!({}) };
        let documents = || if self.announces { json!({"subscribe": true, "listChanged": true}) } else { json!({}) };
        let held = [
            ("tools", self.tools.then(list)),
            ("prompts", self.prompts.then(list)),
            ("resources", self.resources.then(documents)),
            ("completions", self.completions.then(|| json!({}))),
            ("logging", self.logging.then(|| json!({}))),
        ];
        Value::Object(held.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
    }
}

impl ServerInfo {
    fn json(&self) -> Value {
        let mut info = json!({"name": self.name, "version": self.version});
        for (member, text) in [("title", &self.title), ("description", &self.description)] {
            if let (Some(text), Value::Object(info)) = (text, &mut info) {
                info.insert(member.into(), text.as_str().into());
            }
        }
        info
    }
}

/// What every model should know before it calls anything: said once, so that no tool has to.
pub fn instructions(info: &ServerInfo) -> String {
    let codes: Vec<&str> = EngineCode::ALL.into_iter().filter(|code| is_met(*code)).map(EngineCode::as_str).collect();
    let about = info.description.as_deref().map(|text| format!("{}\n\n", text.trim())).unwrap_or_default();
    format!(
        "{about}A tool answers with its output as JSON, or fails: `isError`, one sentence, and a JSON envelope with \
         `code`, `hint`, `retry` and often `next_actions`. Go by the code. `retry` says whether the same call may be \
         made again: safe, safe_with_key, after_verify, unsafe, after_fix or never. After_verify: make the next action \
         first; if its output has at `recovery.done.pointer` what `recovery.done.is` says, it was done, else call \
         again. A next action names an operation and its input: \
         `files.list` is the tool `files_list`.\n\nBesides the codes that its description lists, every tool can fail \
         with: {}.",
        codes.join(", ")
    )
}

/// Whether a client of this protocol can meet the code in the result of a tool.
fn is_met(code: EngineCode) -> bool {
    match code {
        EngineCode::AuthRequired
        | EngineCode::Forbidden
        | EngineCode::InvalidInput
        | EngineCode::PayloadTooLarge
        | EngineCode::RateLimited
        | EngineCode::Overloaded
        | EngineCode::QuotaExhausted
        | EngineCode::IdempotencyConflict
        | EngineCode::OutcomeUnknown
        | EngineCode::Timeout
        | EngineCode::Cancelled
        | EngineCode::Internal
        | EngineCode::InvalidOutput
        | EngineCode::ResultTooLarge
        // An idempotency key that cannot be one, a question to a client that cannot be asked, and a stream whose items
        // come faster than they are collected.
        | EngineCode::InvalidRequest
        | EngineCode::InvalidOperationType
        | EngineCode::StreamOverflow
        | EngineCode::UpstreamUnreachable => true,
        // That a tool needs a consent stands in its own description.
        EngineCode::ConsentRequired
        | EngineCode::NotFound
        // The tools that run source say these themselves.
        | EngineCode::EvalBlockedKeyword
        | EngineCode::EvalBlockedConstruct
        | EngineCode::EvalUnparsable
        | EngineCode::HandlerNotBound
        | EngineCode::ParseError
        | EngineCode::UpstreamUndeclared => false,
    }
}

/// The result of `initialize`.
pub fn initialize_result(version: &str, info: &ServerInfo, can: Capabilities) -> Vec<u8> {
    let result = json!({
        "protocolVersion": version,
        "capabilities": can.json(),
        "serverInfo": info.json(),
        "instructions": instructions(info),
    });
    result.to_string().into_bytes()
}

/// The result of `server/discover`.
pub fn discover_result(info: &ServerInfo, can: Capabilities, caching: Caching) -> Vec<u8> {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": can.json(),
        "instructions": instructions(info),
        "_meta": {"io.modelcontextprotocol/serverInfo": info.json()},
    });
    let mut bytes = result.to_string().into_bytes();
    bytes.pop();
    caching.write_to(&mut bytes);
    bytes.push(b'}');
    bytes
}
