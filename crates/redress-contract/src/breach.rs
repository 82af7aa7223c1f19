//! Outputs that are not what was promised: what becomes of one, and how it is marked.

use serde::{Deserialize, Serialize};

/// What becomes of an output that breaks the schema which its operation promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputBreach {
    /// It is not delivered: INVALID_OUTPUT, a bug of the service.
    #[default]
    Invalid,
    /// It is not delivered: UPSTREAM_UNDECLARED, since another service gave it.
    Undeclared,
    /// It is delivered, and marked with a [`Breach`]. Faces whose clients would refuse it promise nothing of it.
    Marked,
}

impl OutputBreach {
    pub(crate) fn is_invalid(&self) -> bool {
        *self == OutputBreach::Invalid
    }
}

/// The first place where a value breaks its schema. It holds none of the value: no more than the way to it.
///
/// ```
/// use redress_contract::{Breach, Envelope, Meta, OutputJson, RequestId};
///
/// let breach = Breach { pointer: "/id".to_owned(), rule: "type".to_owned() };
/// let output = OutputJson::encode(&serde_json::json!({"id": "seven"})).unwrap().marked(breach);
/// let request_id = RequestId::given("a").unwrap();
/// let envelope = Envelope::success(output, Meta::new(request_id));
/// let json: serde_json::Value = serde_json::from_slice(&envelope.into_bytes()).unwrap();
/// assert_eq!(json["_meta"]["output_breach"]["pointer"], "/id");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// Where (RFC 6901).
    pub pointer: String,
    /// The keyword that is broken; `schema` where the schema itself is none, `json` for what is no JSON.
    pub rule: String,
}
