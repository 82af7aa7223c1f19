//! Credentials for other services: what a document asks for, from where an operator says, and on no other way out.

mod apply;
mod oauth;
mod source;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use redress_core::Secret;
use redress_import::{Import, SecurityRequirement, SecurityScheme};
use reqwest::Url;

pub(crate) use apply::Applied;
pub(crate) use oauth::TokenClient;
pub use source::{SecretFrom, SecretMissing};

use self::{oauth::Tokens, source::SourcedSecret};
use crate::{UpstreamError, address::is_same_origin};

/// How many secrets that were sent are remembered, those that were exchanged included.
const MAX_SENT: usize = 64;

/// What an operator gives for one security scheme of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A key or a token, sent as the scheme says.
    Secret(SecretFrom),
    /// A user and a password.
    Basic {
        /// The user.
        user: SecretFrom,
        /// The password.
        password: SecretFrom,
    },
    /// A token that an authorization server gives for the gateway's own credentials (RFC 6749, 4.4).
    ClientCredentials(ClientCredentials),
    /// A client certificate, for mutual TLS: PEM files.
    Certificate {
        /// The certificate and those that it was signed with.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

/// How a token is got for the gateway's own credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCredentials {
    /// Who the gateway is to the authorization server.
    pub client_id: SecretFrom,
    /// What proves it.
    pub client_secret: SecretFrom,
    /// Where tokens are given. Without it, where the document says, as long as that is the service itself.
    pub token_url: Option<String>,
    /// Who gives tokens: where tokens are given is in its own description (OpenID Connect Discovery, RFC 8414).
    pub issuer: Option<String>,
    /// What the token is to be good for. Without it, the scopes that the operation asks for.
    pub scopes: Option<Vec<String>>,
    /// For which service the token is to be good (RFC 8707).
    pub resource: Option<String>,
    /// For which audience, where the authorization server asks for that instead.
    pub audience: Option<String>,
    /// Whether the secret goes into the body of the request and not into its `Authorization`.
    pub secret_in_body: bool,
}

impl ClientCredentials {
    /// Credentials with which everything else is as the document says.
    pub fn new(client_id: SecretFrom, client_secret: SecretFrom) -> ClientCredentials {
        ClientCredentials {
            client_id,
            client_secret,
            token_url: None,
            issuer: None,
            scopes: None,
            resource: None,
            audience: None,
            secret_in_body: false,
        }
    }
}

/// Why a call cannot be made as somebody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CredentialsMissing {
    #[error("nothing is given for what the service asks for")]
    NotGiven { schemes: Vec<String> },
    #[error("what is given cannot be had")]
    Unreadable {
        schemes: Vec<String>,
        #[source]
        source: SecretMissing,
    },
    #[error("the authorization server gives no token: {why}")]
    NoToken { schemes: Vec<String>, why: &'static str, unreachable: bool },
}

impl CredentialsMissing {
    pub(crate) fn schemes(&self) -> &[String] {
        match self {
            CredentialsMissing::NotGiven { schemes }
            | CredentialsMissing::Unreadable { schemes, .. }
            | CredentialsMissing::NoToken { schemes, .. } => schemes,
        }
    }

    /// What is wrong, as a caller is told it.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            CredentialsMissing::NotGiven { .. } => "missing",
            CredentialsMissing::Unreadable { .. } => "unreadable",
            CredentialsMissing::NoToken { .. } => "no_token",
        }
    }
}

/// The credentials of one upstream.
#[derive(Debug)]
pub(crate) struct CredentialSet {
    schemes: BTreeMap<String, SchemeCredential>,
    /// What was sent lately, by whichever operation: the service knows all of it, and may say any of it.
    sent: Mutex<Vec<Secret>>,
}

#[derive(Debug)]
struct SchemeCredential {
    scheme: SecurityScheme,
    given: ConfiguredCredential,
}

#[derive(Debug)]
enum ConfiguredCredential {
    Nothing,
    Secret(Arc<SourcedSecret>),
    Basic {
        user: Arc<SourcedSecret>,
        password: Arc<SourcedSecret>,
    },
    Token(Box<Tokens>),
    /// The connection itself says who calls.
    Connection,
}

/// What is known about the credentials of a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialStatus {
    /// The scheme, as the document calls it.
    pub scheme: String,
    /// Whether it is given.
    pub given: bool,
    /// What is wrong with it: where it was to come from, and never what it is.
    pub trouble: Option<String>,
}

impl CredentialSet {
    /// What `given` says for the schemes of `import`. `base` is where the service is.
    pub(crate) fn new(
        import: &Import,
        given: &BTreeMap<String, Credential>,
        base: &Url,
    ) -> Result<CredentialSet, UpstreamError> {
        if let Some(unknown) = given.keys().find(|name| !import.security_schemes.iter().any(|s| s.scheme() == *name)) {
            let known = import.security_schemes.iter().map(|scheme| scheme.scheme().to_owned()).collect();
            return Err(UpstreamError::SchemeUnknown { scheme: unknown.clone(), known });
        }
        let mut schemes = BTreeMap::new();
        for scheme in &import.security_schemes {
            let held = match given.get(scheme.scheme()) {
                None => ConfiguredCredential::Nothing,
                Some(Credential::Secret(from)) => ConfiguredCredential::Secret(SourcedSecret::new(from.clone())),
                Some(Credential::Basic { user, password }) => ConfiguredCredential::Basic {
                    user: SourcedSecret::new(user.clone()),
                    password: SourcedSecret::new(password.clone()),
                },
                Some(Credential::Certificate { .. }) => ConfiguredCredential::Connection,
                Some(Credential::ClientCredentials(credentials)) => {
                    ConfiguredCredential::Token(Box::new(tokens(scheme, credentials, base)?))
                }
            };
            check(scheme, &held)?;
            schemes.insert(scheme.scheme().to_owned(), SchemeCredential { scheme: scheme.clone(), given: held });
        }
        Ok(CredentialSet { schemes, sent: Mutex::default() })
    }

    /// Whether something is given for every scheme of `requirement`.
    fn is_given(&self, requirement: &SecurityRequirement) -> bool {
        let given = |name: &String| {
            self.schemes.get(name).is_some_and(|held| !matches!(held.given, ConfiguredCredential::Nothing))
        };
        requirement.schemes.keys().all(given)
    }

    /// What to send for one of the `requirements`; the first that everything is given for.
    pub(crate) async fn apply(
        &self,
        requirements: &[SecurityRequirement],
        client: &TokenClient,
        renew: bool,
    ) -> Result<Applied, CredentialsMissing> {
        let mut applied = Applied::default();
        // Who may come without anything still comes with what there is.
        let known =
            requirements.iter().find(|requirement| !requirement.schemes.is_empty() && self.is_given(requirement));
        let chosen = known.or_else(|| requirements.iter().find(|requirement| requirement.schemes.is_empty()));
        let Some(requirement) = chosen else {
            if requirements.is_empty() {
                return Ok(applied);
            }
            let schemes: Vec<String> = requirements.iter().flat_map(|one| one.schemes.keys().cloned()).collect();
            return Err(CredentialsMissing::NotGiven { schemes });
        };
        for (name, scopes) in &requirement.schemes {
            let Some(held) = self.schemes.get(name) else { continue };
            held.apply(scopes, client, renew, &mut applied).await?;
        }
        self.note(applied.secrets());
        Ok(applied)
    }

    fn note(&self, secrets: &[Secret]) {
        let mut sent = self.sent.lock();
        for secret in secrets {
            if sent.iter().all(|known| known.expose() != secret.expose()) {
                sent.push(secret.clone());
            }
        }
        let surplus = sent.len().saturating_sub(MAX_SENT);
        sent.drain(..surplus);
    }

    /// What was sent lately, and must not come back to anybody.
    pub(crate) fn sent(&self) -> Vec<Secret> {
        self.sent.lock().clone()
    }

    /// What is known about each scheme, without asking an authorization server for anything.
    pub(crate) async fn status(&self) -> Vec<CredentialStatus> {
        let mut all = Vec::with_capacity(self.schemes.len());
        for (scheme, held) in &self.schemes {
            let read = match &held.given {
                ConfiguredCredential::Nothing => {
                    all.push(CredentialStatus { scheme: scheme.clone(), given: false, trouble: None });
                    continue;
                }
                ConfiguredCredential::Connection => Ok(()),
                ConfiguredCredential::Secret(secret) => secret.get().await.map(drop),
                ConfiguredCredential::Basic { user, password } => match user.get().await {
                    Ok(_) => password.get().await.map(drop),
                    Err(missing) => Err(missing),
                },
                ConfiguredCredential::Token(tokens) => tokens.readable().await,
            };
            let trouble = read.err().map(|missing| missing.to_string());
            all.push(CredentialStatus { scheme: scheme.clone(), given: trouble.is_none(), trouble });
        }
        all
    }
}

impl SchemeCredential {
    async fn apply(
        &self,
        scopes: &[String],
        client: &TokenClient,
        renew: bool,
        applied: &mut Applied,
    ) -> Result<(), CredentialsMissing> {
        let name = self.scheme.scheme();
        let unreadable = |source| CredentialsMissing::Unreadable { schemes: vec![name.to_owned()], source };
        let read = async |secret: &Arc<SourcedSecret>| -> Result<Secret, CredentialsMissing> {
            let read = if renew { secret.renewed().await } else { secret.get().await };
            read.map_err(unreadable)
        };
        match &self.given {
            ConfiguredCredential::Nothing => {
                return Err(CredentialsMissing::NotGiven { schemes: vec![name.to_owned()] });
            }
            ConfiguredCredential::Connection => {}
            ConfiguredCredential::Secret(secret) => applied.secret(&self.scheme, read(secret).await?),
            ConfiguredCredential::Basic { user, password } => applied.basic(&read(user).await?, &read(password).await?),
            ConfiguredCredential::Token(tokens) => {
                let token = tokens.get(scopes, client, renew).await.map_err(|trouble| match trouble {
                    oauth::TokenTrouble::Secret(source) => unreadable(source),
                    oauth::TokenTrouble::Refused { why, unreachable } => {
                        CredentialsMissing::NoToken { schemes: vec![name.to_owned()], why, unreachable }
                    }
                })?;
                applied.bearer(token);
            }
        }
        Ok(())
    }
}

/// Whether what is given can be sent as the scheme says.
fn check(scheme: &SecurityScheme, given: &ConfiguredCredential) -> Result<(), UpstreamError> {
    let fits = match given {
        ConfiguredCredential::Nothing => true,
        ConfiguredCredential::Connection => matches!(scheme, SecurityScheme::MutualTls { .. }),
        ConfiguredCredential::Basic { .. } => matches!(scheme, SecurityScheme::Basic { .. }),
        ConfiguredCredential::Secret(_) => {
            !matches!(scheme, SecurityScheme::MutualTls { .. } | SecurityScheme::Basic { .. })
        }
        ConfiguredCredential::Token(_) => matches!(
            scheme,
            SecurityScheme::Oauth2 { .. } | SecurityScheme::OpenIdConnect { .. } | SecurityScheme::Bearer { .. }
        ),
    };
    if fits { Ok(()) } else { Err(UpstreamError::CredentialUnfit { scheme: scheme.scheme().to_owned() }) }
}

/// Where tokens for `scheme` come from. A secret goes to no address that only a document names, unless it is the
/// service's own.
fn tokens(scheme: &SecurityScheme, credentials: &ClientCredentials, base: &Url) -> Result<Tokens, UpstreamError> {
    let name = || scheme.scheme().to_owned();
    let named = credentials.token_url.as_deref().or(credentials.issuer.as_deref()).is_some();
    let mut credentials = credentials.clone();
    if !named {
        let (token_url, issuer) = match scheme {
            SecurityScheme::Oauth2 { flows, metadata_url, .. } => {
                let flow =
                    flows.get("clientCredentials").or_else(|| flows.values().find(|flow| flow.token_url.is_some()));
                (flow.and_then(|flow| flow.token_url.clone()), metadata_url.clone())
            }
            SecurityScheme::OpenIdConnect { url, .. } => (None, Some(url.clone())),
            SecurityScheme::ApiKey { .. }
            | SecurityScheme::Basic { .. }
            | SecurityScheme::Bearer { .. }
            | SecurityScheme::Http { .. }
            | SecurityScheme::MutualTls { .. } => (None, None),
        };
        let own = |text: &String| base.join(text).ok().filter(|url| is_same_origin(url, base)).map(String::from);
        (credentials.token_url, credentials.issuer) = match (token_url, issuer) {
            (Some(url), _) => match own(&url) {
                Some(own) => (Some(own), None),
                None => return Err(UpstreamError::TokenAddressUnnamed { scheme: name(), address: url }),
            },
            (None, Some(url)) => match own(&url) {
                Some(own) => (None, Some(own)),
                None => return Err(UpstreamError::TokenAddressUnnamed { scheme: name(), address: url }),
            },
            (None, None) => return Err(UpstreamError::TokenAddressMissing { scheme: name() }),
        };
    }
    Tokens::new(credentials).map_err(|address| UpstreamError::AddressUnsafe { address })
}
