//! What the server says of itself.

use redress_contract::EngineCode;
use serde_json::{Value, json};

use super::{
    Caching, VERSIONS,
    describe::ToolReader,
    prose::{Spoken, spoken},
    shared::SharedFailures,
};

/// What the server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name, for programs.
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

/// What every model should know before it calls anything: said once, so that no tool has to. `is_seen` says whether its
/// reader may call a tool of this namespace, and `read` what names are to them.
pub fn instructions(
    info: &ServerInfo,
    shared: &SharedFailures,
    is_seen: &dyn Fn(&str) -> bool,
    read: &dyn Fn(&str) -> Spoken,
) -> String {
    let codes: Vec<&str> = EngineCode::ALL.into_iter().filter(|code| is_met(*code)).map(EngineCode::as_str).collect();
    let about = info.description.as_deref().map(|text| spoken(text.trim(), read));
    let about = about.filter(|text| !text.is_empty()).map(|text| format!("{text}\n\n")).unwrap_or_default();
    format!(
        "{about}A tool answers with its output as JSON, or fails: `isError`, one sentence, and JSON with `code`, `hint`, \
         `retry` and often `next_actions`, each a tool and its arguments. Go by the code. `retry` says whether the same \
         call may be made again: safe, safe_with_key, after_verify, unsafe, after_fix or never. After_verify: make the \
         next action first; if its output has at `done.pointer` what `done.is` says, it was done, else call \
         again.\n\n{}Besides the codes that its description lists, every tool can fail with: {}.",
        shared.lines(is_seen, ToolReader { names: read, shared: &|_, _| false }),
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
        // Only tools that another service carries out end with these.
        | EngineCode::UpstreamUndeclared
        | EngineCode::CredentialsRequired
        | EngineCode::ContractChanged => false,
    }
}

/// The result of `initialize`.
pub fn initialize_result(version: &str, info: &ServerInfo, can: Capabilities, instructions: &str) -> Vec<u8> {
    let result = json!({
        "protocolVersion": version,
        "capabilities": can.json(),
        "serverInfo": info.json(),
        "instructions": instructions,
    });
    result.to_string().into_bytes()
}

/// The result of `server/discover`.
pub fn discover_result(info: &ServerInfo, can: Capabilities, caching: Caching, instructions: &str) -> Vec<u8> {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": VERSIONS,
        "capabilities": can.json(),
        "instructions": instructions,
        "_meta": {"io.modelcontextprotocol/serverInfo": info.json()},
    });
    let mut bytes = result.to_string().into_bytes();
    bytes.pop();
    caching.write_to(&mut bytes);
    bytes.push(b'}');
    bytes
}
