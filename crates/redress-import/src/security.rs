//! What a service asks of callers to know them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A way in which a service knows its callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SecurityScheme {
    /// A key in one place of the request.
    ApiKey {
        /// What requirements call it.
        scheme: String,
        /// Where the key goes.
        place: ApiKeyPlace,
        /// The name of the header, parameter or cookie.
        name: String,
    },
    /// A user and a password (RFC 7617).
    Basic {
        /// What requirements call it.
        scheme: String,
    },
    /// A bearer token (RFC 6750).
    Bearer {
        /// What requirements call it.
        scheme: String,
    },
    /// Another scheme of HTTP, such as `digest`.
    Http {
        /// What requirements call it.
        scheme: String,
        /// The scheme as HTTP calls it, in lower case.
        name: String,
    },
    /// OAuth 2.
    Oauth2 {
        /// What requirements call it.
        scheme: String,
        /// The flows, by their names in OpenAPI: `clientCredentials`, `authorizationCode`, …
        flows: BTreeMap<String, OAuthFlow>,
        /// Where the authorization server describes itself (RFC 8414), where the document says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata_url: Option<String>,
    },
    /// OpenID Connect, by discovery.
    OpenIdConnect {
        /// What requirements call it.
        scheme: String,
        /// Where the provider describes itself.
        url: String,
    },
    /// A client certificate.
    MutualTls {
        /// What requirements call it.
        scheme: String,
    },
}

impl SecurityScheme {
    /// What requirements call it.
    pub fn scheme(&self) -> &str {
        match self {
            SecurityScheme::ApiKey { scheme, .. }
            | SecurityScheme::Basic { scheme }
            | SecurityScheme::Bearer { scheme }
            | SecurityScheme::Http { scheme, .. }
            | SecurityScheme::Oauth2 { scheme, .. }
            | SecurityScheme::OpenIdConnect { scheme, .. }
            | SecurityScheme::MutualTls { scheme } => scheme,
        }
    }
}

/// Where an API key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiKeyPlace {
    /// A header.
    Header,
    /// The query.
    Query,
    /// A cookie.
    Cookie,
}

/// A flow of OAuth 2.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthFlow {
    /// Where a person agrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_url: Option<String>,
    /// Where tokens are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
    /// Where tokens are renewed, if elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_url: Option<String>,
    /// The scopes, with what they are for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scopes: BTreeMap<String, String>,
}

/// Schemes that are needed together, each with its scopes. One without any scheme lets everybody in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecurityRequirement {
    /// The scopes that are needed, by the name of the scheme.
    pub schemes: BTreeMap<String, Vec<String>>,
}
