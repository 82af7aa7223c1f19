//! How a client learns where to get a token: RFC 9728 and the challenges that point to it.

use std::collections::BTreeSet;

use ::http::HeaderValue;
use redress_contract::OperationDeclaration;
use redress_core::Registry;
use redress_wire::http::{INVALID_TOKEN, insufficient_scope};
use serde_json::{Value, json};

/// Where the document about the protected resource is, below the address of the server.
const PATH: &str = "/.well-known/oauth-protected-resource/mcp";

/// What clients can learn about the protected resource (RFC 9728).
#[derive(Clone, Debug)]
pub struct Metadata {
    name: String,
    authorization_servers: Vec<String>,
    scopes: BTreeSet<String>,
}

/// Why a whole request is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Challenge<'a> {
    /// There is no token.
    Missing,
    /// The token tells nobody.
    Invalid,
    /// The caller lacks these scopes.
    Scopes(&'a str),
}

/// What to do where no token tells who asks. A model cannot send one: its client does, with every request.
pub(crate) fn sign_in(authorization_servers: &[String]) -> &'static str {
    if authorization_servers.is_empty() {
        "Ask the user for a token and put it into the settings of the client: it has to send a valid one with every \
         request, as `Authorization: Bearer TOKEN`."
    } else {
        "Ask the user to sign in where `WWW-Authenticate` leads: the client has to send a valid token with every request, \
         as `Authorization: Bearer TOKEN`."
    }
}

impl Metadata {
    pub(crate) fn new(name: &str, authorization_servers: Vec<String>, registry: &Registry) -> Metadata {
        // Clients ask for the scopes that are named here, and an agent is not to have those of a person.
        let external = registry.contract().operations().iter().filter(|operation| operation.is_external());
        let external = external.filter(|operation| !operation.access().is_for_persons());
        let scopes = external
            .map(OperationDeclaration::access)
            .flat_map(|access| access.all_scopes().iter().chain(access.any_scopes()));
        Metadata { name: name.to_owned(), authorization_servers, scopes: scopes.cloned().collect() }
    }

    /// The document, for a server at `base`.
    pub fn document(&self, base: &str) -> Vec<u8> {
        let mut document = json!({
            "resource": format!("{base}/mcp"),
            "resource_name": self.name,
            "bearer_methods_supported": ["header"],
            "scopes_supported": self.scopes,
        });
        if let (false, Value::Object(members)) = (self.authorization_servers.is_empty(), &mut document) {
            members.insert("authorization_servers".into(), json!(self.authorization_servers));
        }
        document.to_string().into_bytes()
    }

    /// What `WWW-Authenticate` says, for a server at `base`.
    pub(crate) fn challenge(&self, base: &str, why: Challenge<'_>) -> Option<HeaderValue> {
        let error = match why {
            Challenge::Missing => String::new(),
            Challenge::Invalid => format!("{INVALID_TOKEN}, "),
            Challenge::Scopes(scope) => format!("{}, ", insufficient_scope(scope)),
        };
        HeaderValue::from_str(&format!(r#"Bearer {error}resource_metadata="{base}{PATH}""#)).ok()
    }
}
