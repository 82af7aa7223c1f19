//! What the parameters of a request say, read without copying.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ClientCapabilities;

/// The longest state of a trace that is passed on, as the standard asks for at least.
const LONGEST_STATE: usize = 512;

/// The parameters of `tools/call` and of `prompts/get`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallParams<'a> {
    /// The tool or the prompt.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// Its input, as it was written.
    #[serde(borrow, default)]
    pub arguments: Option<&'a RawValue>,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
    /// Answers to what an earlier result asked for.
    #[serde(borrow, default)]
    pub input_responses: Option<&'a RawValue>,
    /// What an earlier result asked to be given back.
    #[serde(borrow, default)]
    pub request_state: Option<&'a RawValue>,
}

/// The parameters of `resources/read`, and of asking to be told of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams<'a> {
    /// The document.
    #[serde(borrow)]
    pub uri: Cow<'a, str>,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
    /// Answers to what an earlier result asked for.
    #[serde(borrow, default)]
    pub input_responses: Option<&'a RawValue>,
    /// What an earlier result asked to be given back.
    #[serde(borrow, default)]
    pub request_state: Option<&'a RawValue>,
}

/// What makes a request a further round of an earlier one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundParams<'a> {
    /// What the client can be asked.
    pub can: ClientCapabilities,
    /// Answers to what an earlier result asked for.
    pub responses: Option<&'a RawValue>,
    /// What an earlier result asked to be given back.
    pub state: Option<&'a RawValue>,
}

/// The parameters of `completion/complete`.
#[derive(Clone, Debug, Deserialize)]
pub struct CompleteParams<'a> {
    /// What is being filled in.
    #[serde(borrow, rename = "ref")]
    pub reference: Reference<'a>,
    /// Which argument, and what is typed of it.
    #[serde(borrow)]
    pub argument: CompletionArgument<'a>,
    /// What is filled in already.
    #[serde(default)]
    pub context: Option<CompletionContext>,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
}

/// What is being filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type")]
pub enum Reference<'a> {
    /// The arguments of a prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// The prompt.
        #[serde(borrow)]
        name: Cow<'a, str>,
    },
    /// The variables of a template.
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template, or a document.
        #[serde(borrow)]
        uri: Cow<'a, str>,
    },
}

/// An argument that is being typed.
#[derive(Clone, Debug, Deserialize)]
pub struct CompletionArgument<'a> {
    /// Its name.
    #[serde(borrow)]
    pub name: Cow<'a, str>,
    /// What is typed of it.
    #[serde(borrow)]
    pub value: Cow<'a, str>,
}

/// What is filled in beside the argument that is being typed.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CompletionContext {
    /// The other arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// The parameters of `logging/setLevel`.
#[derive(Clone, Debug, Deserialize)]
pub struct LevelParams<'a> {
    /// The least level that is wanted.
    #[serde(borrow)]
    pub level: Cow<'a, str>,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
}

/// The parameters of `subscriptions/listen`.
#[derive(Clone, Debug, Deserialize)]
pub struct ListenParams<'a> {
    /// Which changes are wanted.
    pub notifications: SubscriptionFilter,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
}

/// Which changes a client wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubscriptionFilter {
    /// Those of the tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tools_list_changed: bool,
    /// Those of the prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prompts_list_changed: bool,
    /// Those of the list of documents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resources_list_changed: bool,
    /// Those of these documents.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub resource_subscriptions: BTreeSet<String>,
}

/// The parameters of a list.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ListParams<'a> {
    /// Where to go on.
    #[serde(borrow, default)]
    pub cursor: Option<Cow<'a, str>>,
    /// What the request says of itself.
    #[serde(borrow, default, rename = "_meta")]
    pub meta: Option<RequestMeta<'a>>,
}

/// The parameters of `initialize`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams<'a> {
    /// The revision that the client would like.
    #[serde(borrow)]
    pub protocol_version: Cow<'a, str>,
    /// What the client can.
    #[serde(borrow)]
    pub capabilities: &'a RawValue,
    /// What the client is.
    #[serde(borrow)]
    pub client_info: &'a RawValue,
}

/// What a request says of itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RequestMeta<'a> {
    /// The revision that it speaks, in the modern era.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub protocol_version: Option<Cow<'a, str>>,
    /// What the client can, in the modern era.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub client_capabilities: Option<&'a RawValue>,
    /// What progress is to be known by; a string or a number.
    #[serde(borrow, default, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
    /// Makes the call safe to repeat.
    #[serde(borrow, default, rename = "dev.redress/idempotency_key")]
    pub idempotency_key: Option<Cow<'a, str>>,
    /// The least level of notes that is wanted, in the modern era.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub log_level: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tracestate: Option<&'a RawValue>,
}

impl RequestMeta<'_> {
    /// The members that the modern era wants and that are missing or are not what they should
    /// be.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.protocol_version.is_none() {
            missing.push("io.modelcontextprotocol/protocolVersion");
        }
        if !self.client_capabilities.is_some_and(|given| given.get().starts_with('{')) {
            missing.push("io.modelcontextprotocol/clientCapabilities");
        }
        missing
    }

    /// The trace that the request belongs to (W3C Trace Context), if what is there is text.
    pub fn traceparent(&self) -> Option<Cow<'_, str>> {
        self.traceparent.and_then(text)
    }

    /// What the systems that the trace has passed through have to say about it, if it is not too long.
    pub fn tracestate(&self) -> Option<Cow<'_, str>> {
        self.tracestate.and_then(text).filter(|state| state.len() <= LONGEST_STATE)
    }

    /// What the client can be asked.
    pub fn client_can(&self) -> ClientCapabilities {
        self.client_capabilities.map(ClientCapabilities::read).unwrap_or_default()
    }
}

impl InitializeParams<'_> {
    /// What the client can be asked.
    pub fn client_can(&self) -> ClientCapabilities {
        ClientCapabilities::read(self.capabilities)
    }
}

/// The text of a JSON string; nothing if it is none.
fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

/// Reads the parameters of a request; nothing at all counts as an empty object.
pub fn read_params<'a, T: Deserialize<'a>>(params: &'a [u8]) -> Option<T> {
    let params = if params.is_empty() { b"{}" } else { params };
    // A list in the place of an object would be read as its members, in their order.
    if params.first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(params).ok()
}
