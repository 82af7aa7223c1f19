//! Tokens for the gateway's own credentials (RFC 6749, 4.4): asked for once however many calls need one, and again before
//! they expire.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::Mutex;
use redress_core::Secret;
use reqwest::{Url, header};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    ClientCredentials,
    source::{SecretMissing, SourcedSecret},
};

/// The most bytes that an authorization server may answer with.
const MAX: usize = 256 * 1024;
/// For how long a token is good that does not say.
const UNSAID: Duration = Duration::from_secs(300);
/// How long before its end a token is exchanged, at most.
const EARLY: Duration = Duration::from_secs(60);
/// For how long what an authorization server says of itself holds.
const DISCOVERED: Duration = Duration::from_secs(3600);
/// What was refused, or has just been got, is not asked for again before this.
const AGAIN: Duration = Duration::from_secs(1);

/// The client that asks authorization servers. It follows no redirect: a secret goes where the operator said.
#[derive(Clone, Debug)]
pub(crate) struct TokenClient(pub(crate) reqwest::Client);

/// Why there is no token.
#[derive(Debug)]
pub(crate) enum TokenTrouble {
    Secret(SecretMissing),
    Refused { why: &'static str, unreachable: bool },
}

fn refused(why: &'static str) -> TokenTrouble {
    TokenTrouble::Refused { why, unreachable: false }
}

/// The tokens of one scheme, by the scopes that they are good for.
pub(crate) struct Tokens {
    credentials: ClientCredentials,
    client_id: Arc<SourcedSecret>,
    client_secret: Arc<SourcedSecret>,
    token_url: Option<Url>,
    issuer: Option<Url>,
    discovered: Mutex<Option<(Url, Instant)>>,
    by_scopes: Mutex<HashMap<String, Arc<Slot>>>,
}

/// The token for one set of scopes.
#[derive(Default)]
struct Slot {
    kept: Mutex<Option<Token>>,
    /// When a token was last not given.
    failed: Mutex<Option<(Instant, &'static str, bool)>>,
    /// Held by whoever asks for a token.
    flight: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Token {
    secret: Secret,
    since: Instant,
    lasts: Duration,
}

impl Token {
    fn is_good(&self) -> bool {
        self.since.elapsed() < self.lasts
    }

    /// Whether it should be exchanged already.
    fn is_old(&self) -> bool {
        self.since.elapsed() + EARLY.min(self.lasts / 5) >= self.lasts
    }
}

impl Tokens {
    /// Tokens for `credentials`, or the address that no secret is sent to.
    pub(crate) fn new(credentials: ClientCredentials) -> Result<Tokens, String> {
        let safe = |text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => Url::parse(text).ok().filter(is_safe).map(Some).ok_or_else(|| text.clone()),
        };
        Ok(Tokens {
            client_id: SourcedSecret::new(credentials.client_id.clone()),
            client_secret: SourcedSecret::new(credentials.client_secret.clone()),
            token_url: safe(&credentials.token_url)?,
            issuer: safe(&credentials.issuer)?,
            credentials,
            discovered: Mutex::default(),
            by_scopes: Mutex::default(),
        })
    }

    /// Whether the gateway's own credentials can be read.
    pub(crate) async fn readable(&self) -> Result<(), SecretMissing> {
        self.client_id.get().await?;
        self.client_secret.get().await.map(drop)
    }

    /// A token that is good for `scopes`. With `renew`, the service has refused the one that was got before.
    pub(crate) async fn get(
        &self,
        scopes: &[String],
        client: &TokenClient,
        renew: bool,
    ) -> Result<Secret, TokenTrouble> {
        let scope = self.credentials.scopes.as_deref().unwrap_or(scopes).join(" ");
        let slot = Arc::clone(self.by_scopes.lock().entry(scope.clone()).or_default());
        let kept = slot.kept.lock().clone();
        if let Some(token) = kept.filter(|token| token.is_good() && !renew) {
            if !token.is_old() {
                return Ok(token.secret);
            }
            // It is still good: one call exchanges it, and the others need not wait for that.
            let Ok(_flight) = slot.flight.try_lock() else { return Ok(token.secret) };
            return Ok(self.fetch(&slot, &scope, client, false).await.unwrap_or(token.secret));
        }
        let _flight = slot.flight.lock().await;
        let kept = slot.kept.lock().clone();
        // Somebody else's token may have come meanwhile.
        if let Some(token) = kept.filter(|token| token.is_good() && (!renew || token.since.elapsed() < AGAIN)) {
            return Ok(token.secret);
        }
        if let Some((at, why, unreachable)) = *slot.failed.lock()
            && at.elapsed() < AGAIN
        {
            return Err(TokenTrouble::Refused { why, unreachable });
        }
        self.fetch(&slot, &scope, client, renew).await
    }

    async fn fetch(&self, slot: &Slot, scope: &str, client: &TokenClient, renew: bool) -> Result<Secret, TokenTrouble> {
        match self.ask(scope, client, renew).await {
            Ok(token) => {
                let secret = token.secret.clone();
                *slot.kept.lock() = Some(token);
                *slot.failed.lock() = None;
                Ok(secret)
            }
            Err(trouble) => {
                if let TokenTrouble::Refused { why, unreachable } = trouble {
                    *slot.failed.lock() = Some((Instant::now(), why, unreachable));
                }
                Err(trouble)
            }
        }
    }

    async fn ask(&self, scope: &str, client: &TokenClient, renew: bool) -> Result<Token, TokenTrouble> {
        let read = async |secret: &SourcedSecret| {
            let read = if renew { secret.renewed().await } else { secret.get().await };
            read.map_err(TokenTrouble::Secret)
        };
        let (id, secret) = (read(&self.client_id).await?, read(&self.client_secret).await?);
        let url = self.token_endpoint(client).await?;
        let mut form = form(&[("grant_type", "client_credentials")]);
        for (name, value) in [
            ("scope", Some(scope).filter(|scope| !scope.is_empty())),
            ("resource", self.credentials.resource.as_deref()),
            ("audience", self.credentials.audience.as_deref()),
        ] {
            if let Some(value) = value {
                form.push('&');
                form.push_str(&self::form(&[(name, value)]));
            }
        }
        let mut request = client.0.post(url).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if self.credentials.secret_in_body {
            form.push('&');
            form.push_str(&self::form(&[("client_id", id.expose()), ("client_secret", secret.expose())]));
        } else {
            let pair = format!("{}:{}", plus(id.expose()), plus(secret.expose()));
            let mut value = header::HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
                .map_err(|_| refused("the credentials cannot be sent"))?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        let (status, bytes) = answer(request.header(header::ACCEPT, "application/json").body(form)).await?;
        if status != 200 {
            return Err(refused(if status == 401 || status == 400 {
                "it does not accept the gateway's credentials"
            } else {
                "it answered with an error"
            }));
        }
        let given: Given = serde_json::from_slice(&bytes).map_err(|_| refused("its answer holds no token"))?;
        if !given.token_type.as_deref().unwrap_or("bearer").eq_ignore_ascii_case("bearer") {
            return Err(refused("its token is not a bearer token"));
        }
        let lasts = given.expires_in.map_or(UNSAID, |seconds| Duration::from_secs(seconds.min(30 * 24 * 3600)));
        Ok(Token { secret: Secret::new(given.access_token), since: Instant::now(), lasts })
    }

    /// Where tokens are given: where the operator says, or where the authorization server says of itself.
    async fn token_endpoint(&self, client: &TokenClient) -> Result<Url, TokenTrouble> {
        if let Some(url) = &self.token_url {
            return Ok(url.clone());
        }
        let kept = self.discovered.lock().clone();
        if let Some((url, _)) = kept.filter(|(_, since)| since.elapsed() < DISCOVERED) {
            return Ok(url);
        }
        let Some(issuer) = &self.issuer else { return Err(refused("nobody says where tokens are given")) };
        let mut found = None;
        for url in descriptions(issuer) {
            let (status, bytes) = answer(client.0.get(url).header(header::ACCEPT, "application/json")).await?;
            if status == 200 {
                found = serde_json::from_slice::<Description>(&bytes).ok();
                break;
            }
        }
        let described = found.ok_or_else(|| refused("it does not describe itself"))?;
        let endpoint = Url::parse(&described.token_endpoint).ok().filter(is_safe);
        let endpoint = endpoint.ok_or_else(|| refused("it names an address that no secret is sent to"))?;
        *self.discovered.lock() = Some((endpoint.clone(), Instant::now()));
        Ok(endpoint)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

/// What an authorization server gives.
#[derive(Deserialize)]
struct Given {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default)]
    expires_in: Option<u64>,
}

/// What an authorization server says of itself.
#[derive(Deserialize)]
struct Description {
    token_endpoint: String,
}

/// Where an issuer may describe itself.
fn descriptions(issuer: &Url) -> Vec<Url> {
    if issuer.path().contains("/.well-known/") {
        return vec![issuer.clone()];
    }
    let path = issuer.path().trim_end_matches('/').to_owned();
    // OpenID Connect appends, and RFC 8414 inserts.
    [format!("{path}/.well-known/openid-configuration"), format!("/.well-known/oauth-authorization-server{path}")]
        .into_iter()
        .map(|path| {
            let mut url = issuer.clone();
            url.set_path(&path);
            url
        })
        .collect()
}

/// What is answered, with an end. Why nothing is, is said in words of ours: an error of the client may hold anything.
async fn answer(request: reqwest::RequestBuilder) -> Result<(u16, Vec<u8>), TokenTrouble> {
    let unreachable = |_: reqwest::Error| TokenTrouble::Refused { why: "it cannot be reached", unreachable: true };
    let mut response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if bytes.len() + chunk.len() > MAX {
            return Err(refused("its answer is too large"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok((status, bytes))
}

/// Whether a secret may be sent there: encrypted, or to this machine.
fn is_safe(url: &Url) -> bool {
    let local = || {
        let loopback = crate::address::literal(url).is_some_and(|address| address.is_loopback());
        loopback || url.host_str() == Some("localhost")
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    url.has_host() && !has_user && (url.scheme() == "https" || url.scheme() == "http" && local())
}

/// A text as a form holds it.
fn plus(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn form(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}={}", plus(value))).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_out_encrypted_or_stays_on_this_machine() {
        for (url, may) in [
            ("https://login.example/token", true),
            ("http://127.0.0.1:9/token", true),
            ("http://localhost/token", true),
            ("http://[::1]/token", true),
            ("http://login.example/token", false),
            ("http://10.0.0.1/token", false),
            ("https://user:word@login.example/token", false),
            ("ftp://login.example/token", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), may, "{url}");
        }
    }

    #[test]
    fn an_issuer_describes_itself_in_one_of_two_places() {
        let shown =
            |issuer: &str| descriptions(&Url::parse(issuer).unwrap()).into_iter().map(String::from).collect::<Vec<_>>();
        assert_eq!(
            shown("https://login.example/tenant/"),
            [
                "https://login.example/tenant/.well-known/openid-configuration",
                "https://login.example/.well-known/oauth-authorization-server/tenant"
            ]
        );
        let exact = "https://login.example/.well-known/openid-configuration";
        assert_eq!(shown(exact), [exact]);
    }
}
