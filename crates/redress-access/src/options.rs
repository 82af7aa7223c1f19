//! What an operator can set.

#[cfg(feature = "jwt")]
use std::collections::BTreeMap;
use std::{path::PathBuf, time::Duration, time::SystemTime};

#[cfg(feature = "jwt")]
use serde_json::Value;

#[cfg(feature = "certificates")]
use crate::CertificateRule;
#[cfg(feature = "jwks-url")]
use crate::jwt::JwksUrl;
#[cfg(feature = "jwt")]
use crate::{AccessError, Algorithm};

/// Who may call, and how they prove who they are.
///
/// ```
/// use redress_access::{Authenticator, AccessOptions, TokenHash};
///
/// let mut options = AccessOptions::default();
/// let sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b".to_owned();
/// options.hashes.push(TokenHash { caller: "ada".into(), scopes: vec!["files:read".into()], sha256, expires: None });
/// let access = Authenticator::open(options).unwrap();
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AccessOptions {
    /// The file of bearer tokens. It may be missing, and holds no tokens then.
    pub tokens: Option<PathBuf>,
    /// Bearer tokens by their hashes, beside those of the file.
    pub hashes: Vec<TokenHash>,
    /// How JSON Web Tokens are verified; without it, none is.
    #[cfg(feature = "jwt")]
    pub jwt: Option<JwtOptions>,
    /// Which client certificate stands for which caller.
    #[cfg(feature = "certificates")]
    pub certificates: Vec<CertificateRule>,
    /// How many tokens are remembered once they are verified.
    pub cache: usize,
    /// For how long at most a token is taken at its remembered word.
    pub remember: Duration,
    /// How often files are looked at for changes.
    pub poll: Duration,
}

impl Default for AccessOptions {
    fn default() -> AccessOptions {
        AccessOptions {
            tokens: None,
            hashes: Vec::new(),
            #[cfg(feature = "jwt")]
            jwt: None,
            #[cfg(feature = "certificates")]
            certificates: Vec::new(),
            cache: 10_000,
            remember: Duration::from_mins(5),
            poll: Duration::from_millis(500),
        }
    }
}

/// A bearer token that configuration gives, by its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenHash {
    /// Whom it stands for.
    pub caller: String,
    /// What they may do.
    pub scopes: Vec<String>,
    /// The SHA-256 of the token, in hexadecimal digits.
    pub sha256: String,
    /// When it ends, if it does.
    pub expires: Option<SystemTime>,
}

/// How JSON Web Tokens are verified.
///
/// ```
/// use redress_access::{JwtOptions, KeySource};
///
/// let mut jwt = JwtOptions::new(KeySource::JwksFile("jwks.json".into()));
/// jwt.issuer = vec!["https://login.example".into()];
/// jwt.audience = vec!["https://api.example".into()];
/// jwt.scopes_claim = "realm_access.roles".into();
/// jwt.required_claims.insert("tenant".into(), Some("acme".into()));
/// ```
#[cfg(feature = "jwt")]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JwtOptions {
    /// Where the keys are.
    pub keys: KeySource,
    /// Who may have made a token (`iss`); anybody who has the key, if none is named.
    pub issuer: Vec<String>,
    /// For whom a token may have been made (`aud`). If none is named, only a token that names nobody is for us.
    pub audience: Vec<String>,
    /// The algorithms that are allowed; those of the keys, if none is named.
    pub algorithms: Vec<Algorithm>,
    /// The claim that names the caller; a path of members, such as `user.id`.
    pub caller_claim: String,
    /// The claim that holds the scopes: words in a string, or an array; a path of members.
    pub scopes_claim: String,
    /// Claims that must be there, and what they must equal (or hold, if they are arrays).
    pub required_claims: BTreeMap<String, Option<Value>>,
    /// How far the clock of whoever made a token may be off.
    pub clock_skew: Duration,
    /// The longest token that is looked at.
    pub max_bytes: usize,
    /// After how long keys from a URL are fetched again.
    pub refresh: Duration,
    /// How long to wait at least between two fetches, whatever tokens ask for.
    pub pause: Duration,
    /// How long one fetch may take.
    pub fetch_time: Duration,
}

#[cfg(feature = "jwt")]
impl JwtOptions {
    /// Tokens that `keys` verify, with everything else as it usually is.
    pub fn new(keys: KeySource) -> JwtOptions {
        JwtOptions {
            keys,
            issuer: Vec::new(),
            audience: Vec::new(),
            algorithms: Vec::new(),
            caller_claim: "sub".to_owned(),
            scopes_claim: "scope".to_owned(),
            required_claims: BTreeMap::new(),
            clock_skew: Duration::from_secs(30),
            max_bytes: 16 * 1024,
            refresh: Duration::from_mins(5),
            pause: Duration::from_secs(10),
            fetch_time: Duration::from_secs(5),
        }
    }
}

/// Where the keys of JSON Web Tokens are.
#[cfg(feature = "jwt")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// A JSON Web Key Set in a file.
    JwksFile(PathBuf),
    /// A JSON Web Key Set at an address.
    #[cfg(feature = "jwks-url")]
    JwksUrl(String),
    /// A secret shared with whoever makes tokens. One line end at its end is not part of it.
    SecretFile(PathBuf),
    /// One or more public keys as PEM.
    KeyFile(PathBuf),
}

#[cfg(feature = "jwt")]
impl KeySource {
    /// Refuses an address that keys are not taken from. Nothing is opened or fetched.
    pub fn check(&self) -> Result<(), AccessError> {
        match self {
            #[cfg(feature = "jwks-url")]
            KeySource::JwksUrl(url) => JwksUrl::of(url).map(drop),
            KeySource::JwksFile(_) | KeySource::SecretFile(_) | KeySource::KeyFile(_) => Ok(()),
        }
    }
}
