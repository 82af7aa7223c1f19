//! What the parameters of a request say, read without copying.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The parameters of `tools/call`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallParams<'a> {
    /// The tool.
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

    /// Whether the client says that it can do this, such as `elicitation`.
    pub fn client_can(&self, capability: &str) -> bool {
        self.client_capabilities.is_some_and(|given| can(given, capability))
    }
}

impl InitializeParams<'_> {
    /// Whether the client says that it can do this, such as `elicitation`.
    pub fn client_can(&self, capability: &str) -> bool {
        can(self.capabilities, capability)
    }
}

fn can(capabilities: &RawValue, wanted: &str) -> bool {
    let given: Result<std::collections::HashMap<String, serde::de::IgnoredAny>, _> =
        serde_json::from_str(capabilities.get());
    given.is_ok_and(|given| given.contains_key(wanted))
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
