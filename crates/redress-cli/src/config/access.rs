//! `[access]`: who may call, and how it is known.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{Span, When};

/// Who may call, and how it is known. Where none of it is set, nobody is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct AccessTable {
    /// The file of bearer tokens that `redress token` keeps, relative to the folder of this file.
    pub(crate) tokens: Option<PathBuf>,
    /// Bearer tokens by their hashes, beside those of the file.
    pub(crate) hashes: Vec<GivenToken>,
    /// JSON Web Tokens of an issuer.
    pub(crate) jwt: Option<JwtTable>,
    /// Client certificates, where the server speaks TLS.
    pub(crate) certificates: Option<CertificatesTable>,
}

/// A bearer token by its hash, as `redress token new --print-hash` shows it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct GivenToken {
    /// Who calls with it.
    pub(crate) caller: String,
    /// What the caller may do with it.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub(crate) sha256: String,
    /// When it ends: a time such as `2027-01-31T12:00:00Z`, or a day. Where nothing is said, never.
    pub(crate) expires: Option<When>,
}

/// JSON Web Tokens of an issuer. Its keys come from one of four places.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct JwtTable {
    /// Who issues the tokens: what their `iss` must be.
    pub(crate) issuer: Option<String>,
    /// For whom they are: one of these must be in their `aud`. Where nothing is said, a token that names somebody is refused.
    pub(crate) audience: Option<OneOrMany>,
    /// Where the issuer publishes its keys.
    pub(crate) jwks_url: Option<String>,
    /// A file of the issuer's keys, as a JSON Web Key Set.
    pub(crate) jwks_file: Option<PathBuf>,
    /// A file that holds the secret shared with the issuer.
    pub(crate) secret_file: Option<PathBuf>,
    /// A file that holds the issuer's public key, in PEM form.
    pub(crate) key_file: Option<PathBuf>,
    /// How tokens may be signed. Where nothing is said, in every way that suits the keys.
    pub(crate) algorithms: Option<Vec<AlgorithmSetting>>,
    /// The claim that names the caller.
    pub(crate) caller_claim: Option<String>,
    /// The claim that holds the scopes: words in a text, or a list.
    pub(crate) scopes_claim: Option<String>,
    /// What else a token must claim.
    pub(crate) required_claims: Option<BTreeMap<String, Value>>,
    /// How far the clock of the issuer may be off.
    pub(crate) clock_skew: Option<Span>,
    /// How many tokens that have been checked are remembered.
    pub(crate) cache: Option<usize>,
}

/// One text, or a list of them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or a list of texts")]
pub(crate) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(crate) fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

/// How a token may be signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum AlgorithmSetting {
    HS256,
    HS384,
    HS512,
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

impl AlgorithmSetting {
    /// Every one.
    #[cfg(test)]
    pub(crate) const ALL: [AlgorithmSetting; 12] = [
        AlgorithmSetting::HS256,
        AlgorithmSetting::HS384,
        AlgorithmSetting::HS512,
        AlgorithmSetting::RS256,
        AlgorithmSetting::RS384,
        AlgorithmSetting::RS512,
        AlgorithmSetting::PS256,
        AlgorithmSetting::PS384,
        AlgorithmSetting::PS512,
        AlgorithmSetting::ES256,
        AlgorithmSetting::ES384,
        AlgorithmSetting::EdDSA,
    ];

    /// Its name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AlgorithmSetting::HS256 => "HS256",
            AlgorithmSetting::HS384 => "HS384",
            AlgorithmSetting::HS512 => "HS512",
            AlgorithmSetting::RS256 => "RS256",
            AlgorithmSetting::RS384 => "RS384",
            AlgorithmSetting::RS512 => "RS512",
            AlgorithmSetting::PS256 => "PS256",
            AlgorithmSetting::PS384 => "PS384",
            AlgorithmSetting::PS512 => "PS512",
            AlgorithmSetting::ES256 => "ES256",
            AlgorithmSetting::ES384 => "ES384",
            AlgorithmSetting::EdDSA => "EdDSA",
        }
    }
}

/// Where the keys of an issuer come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum KeySourceSetting<'a> {
    Url(&'a str),
    Jwks(&'a Path),
    Secret(&'a Path),
    Key(&'a Path),
}

impl JwtTable {
    /// The one place that the keys come from; nothing where none is named, or several are.
    pub(crate) fn keys(&self) -> Option<KeySourceSetting<'_>> {
        let named = [
            self.jwks_url.as_deref().map(KeySourceSetting::Url),
            self.jwks_file.as_deref().map(KeySourceSetting::Jwks),
            self.secret_file.as_deref().map(KeySourceSetting::Secret),
            self.key_file.as_deref().map(KeySourceSetting::Key),
        ];
        let mut named = named.into_iter().flatten();
        named.next().filter(|_| named.next().is_none())
    }
}

/// Client certificates that one of these authorities has issued.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct CertificatesTable {
    /// A file of the authorities that may issue them, in PEM form.
    pub(crate) ca: Option<PathBuf>,
    /// Whether a connection without a certificate is refused.
    pub(crate) required: Option<bool>,
    /// Who comes with which certificate.
    pub(crate) callers: Vec<CertifiedCaller>,
}

/// Who comes with a certificate.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub(crate) struct CertifiedCaller {
    /// A name in the certificate: an alternative name (DNS, URI or email), or the common name of its subject.
    pub(crate) name: String,
    /// Who the caller is.
    pub(crate) caller: String,
    /// What the caller may do.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
}

impl AccessTable {
    /// Whether anything says who calls.
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_none() && self.hashes.is_empty() && self.jwt.is_none() && self.certificates.is_none()
    }

    /// Every path in it, to be read from where the file is.
    pub(crate) fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let jwt = self.jwt.iter_mut();
        let keys = jwt.flat_map(|jwt| [&mut jwt.jwks_file, &mut jwt.secret_file, &mut jwt.key_file]);
        let ca = self.certificates.iter_mut().map(|certificates| &mut certificates.ca);
        keys.chain(ca).chain([&mut self.tokens]).filter_map(Option::as_mut)
    }
}
