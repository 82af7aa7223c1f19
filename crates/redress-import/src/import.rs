//! What came of reading a document.

use std::sync::Arc;

use redress_contract::OperationDeclaration;
use serde::{Deserialize, Serialize};

use crate::{
    FailsWhen, NextCall, RequestPlan, ResponsePlan, SecurityRequirement, SecurityScheme, Server, openapi::Source,
};

/// What came of reading a document: its operations in the order of the document, and everything that was found.
#[derive(Clone, Debug)]
pub struct Import {
    /// What the service is called.
    pub title: String,
    /// The version of its interface, as the document says it.
    pub version: String,
    /// What it is for, in Markdown.
    pub description: Option<String>,
    /// The version of OpenAPI that the document says it is written in, such as `3.1.0`.
    pub openapi: String,
    /// How many bytes the document has, the files beside it included.
    pub document_bytes: usize,
    /// Where it is served, the document's own preference first. Relative addresses are relative to where the document was
    /// got from.
    pub servers: Vec<Server>,
    /// What it asks of callers to know them, by the names that requirements use.
    pub security_schemes: Vec<SecurityScheme>,
    /// The operations, in the order of the document.
    pub operations: Vec<ImportedOperation>,
    /// The operations that could not be imported, each with the reason.
    pub skipped: Vec<Skipped>,
    /// What is odd in the document and was read in spite of it.
    pub warnings: Vec<Warning>,
    /// The document, for what is made of it later.
    pub(crate) source: Arc<Source>,
}

/// One operation of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedOperation {
    /// The operation: one object as input, the output, every failure.
    pub operation: OperationDeclaration,
    /// Where it stands in the document, as an RFC 6901 pointer.
    pub pointer: String,
    /// What the document calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// How it is asked for.
    pub request: RequestPlan,
    /// What it may answer, in the order of the document, and then what was derived from it.
    pub responses: Vec<ResponsePlan>,
    /// What it asks of callers: one of these is enough. Empty means that it asks for nothing.
    pub security: Vec<SecurityRequirement>,
    /// Where it is served, if not where the whole service is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// Calls that help after a failure, as the links and the paths of the document show them. Those that hold are in the
    /// recoveries of [`operation`](ImportedOperation::operation) already; an override can refuse them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_calls: Vec<NextCall>,
    /// What turns a success of HTTP into a failure, as an operator has said it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fails_when: Vec<FailsWhen>,
    /// The same, as the document's own schemas and examples suggest it, for an operator to accept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed_fails_when: Vec<FailsWhen>,
    /// The profiles that an operator has put it into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<String>,
    /// Whether an override has changed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overridden: bool,
}

impl ImportedOperation {
    /// What the document says of an answer with this status: the exact status before its range, the range before the
    /// default.
    pub fn response(&self, status: u16) -> Option<&ResponsePlan> {
        self.responses
            .iter()
            .filter(|response| response.status.covers(status))
            .min_by_key(|response| response.status.breadth())
    }
}

/// An operation that could not be imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Where it stands in the document, as an RFC 6901 pointer.
    pub pointer: String,
    /// Its method, in capitals.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Something odd that was read in spite of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// Where in the document, as an RFC 6901 pointer.
    pub pointer: String,
    /// Which rule, by its id.
    pub rule: String,
    /// What is odd, and what was made of it.
    pub message: String,
}
