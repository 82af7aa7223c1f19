//! What is sent to be known by a service, and what must be seen nowhere else.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use redress_core::Secret;
use redress_import::{ApiKeyPlace, SecurityScheme};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue};

use crate::request::Built;

/// What is sent to be known by a service.
#[derive(Default)]
pub(crate) struct Applied {
    headers: Vec<(HeaderName, Secret)>,
    query: Vec<(String, Secret)>,
    cookies: Vec<(String, Secret)>,
    /// Every text that must be seen nowhere, the parts of those above included.
    secrets: Vec<Secret>,
}

impl Applied {
    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    pub(super) fn secret(&mut self, scheme: &SecurityScheme, secret: Secret) {
        self.secrets.push(secret.clone());
        match scheme {
            SecurityScheme::ApiKey { place: ApiKeyPlace::Header, name, .. } => {
                if let Ok(name) = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()) {
                    self.headers.push((name, secret));
                }
            }
            SecurityScheme::ApiKey { place: ApiKeyPlace::Query, name, .. } => self.query.push((name.clone(), secret)),
            SecurityScheme::ApiKey { place: ApiKeyPlace::Cookie, name, .. } => {
                self.cookies.push((name.clone(), secret))
            }
            SecurityScheme::Http { name, .. } => {
                self.headers.push((AUTHORIZATION, Secret::new(format!("{name} {}", secret.expose()))));
            }
            SecurityScheme::Bearer { .. }
            | SecurityScheme::Oauth2 { .. }
            | SecurityScheme::OpenIdConnect { .. }
            | SecurityScheme::Basic { .. }
            | SecurityScheme::MutualTls { .. } => self.authorize("Bearer", &secret),
        }
    }

    pub(super) fn bearer(&mut self, token: Secret) {
        self.authorize("Bearer", &token);
        self.secrets.push(token);
    }

    pub(super) fn basic(&mut self, user: &Secret, password: &Secret) {
        let pair = Secret::new(STANDARD.encode(format!("{}:{}", user.expose(), password.expose())));
        self.authorize("Basic", &pair);
        self.secrets.extend([pair, password.clone()]);
    }

    fn authorize(&mut self, how: &str, secret: &Secret) {
        self.headers.push((AUTHORIZATION, Secret::new(format!("{how} {}", secret.expose()))));
    }

    /// Puts it into a request, in the place of whatever the input had put there.
    pub(crate) fn put_into(&self, built: &mut Built) {
        for (name, secret) in &self.headers {
            // What no header can hold is not sent, and the service says that it is missing.
            if let Ok(mut value) = HeaderValue::from_str(secret.expose()) {
                value.set_sensitive(true);
                built.headers.insert(name, value);
            }
        }
        if !self.query.is_empty() {
            let given: Vec<(String, String)> = built
                .url
                .query_pairs()
                .filter(|(name, _)| !self.query.iter().any(|(own, _)| own == name))
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            let is_replaced = built.url.query_pairs().count() != given.len();
            if is_replaced {
                built.url.query_pairs_mut().clear().extend_pairs(given);
            }
            let own = self.query.iter().map(|(name, secret)| (name.as_str(), secret.expose()));
            built.url.query_pairs_mut().extend_pairs(own);
        }
        if !self.cookies.is_empty() {
            let given = built.headers.get(COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let is_own = |pair: &&str| {
                let name = pair.split('=').next().unwrap_or_default().trim();
                !name.is_empty() && !self.cookies.iter().any(|(own, _)| own == name)
            };
            let mut pairs: Vec<String> = given.split(';').filter(is_own).map(|pair| pair.trim().to_owned()).collect();
            pairs.extend(self.cookies.iter().map(|(name, secret)| format!("{name}={}", secret.expose())));
            if let Ok(mut value) = HeaderValue::from_str(&pairs.join("; ")) {
                value.set_sensitive(true);
                built.headers.insert(COOKIE, value);
            }
        }
    }

    /// Whether it is what `other` is.
    pub(crate) fn is_same_as(&self, other: &Applied) -> bool {
        let texts = |applied: &Applied| {
            applied.secrets.iter().map(|one| one.expose().to_owned()).map(zeroize::Zeroizing::new).collect::<Vec<_>>()
        };
        texts(self) == texts(other)
    }

    /// Every text that must be seen nowhere.
    pub(crate) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }
}

impl std::fmt::Debug for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Applied(…)")
    }
}
