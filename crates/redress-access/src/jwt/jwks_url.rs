//! The address of keys: by which ways they may come, and how it is shown.

use std::fmt;

use reqwest::Url;

use crate::AccessError;

/// An address that keys may be taken from.
pub(crate) struct JwksUrl(Url);

impl JwksUrl {
    /// Keys that came by a way on which somebody could have exchanged them would open every door.
    pub(crate) fn of(text: &str) -> Result<JwksUrl, AccessError> {
        let url = Url::parse(text).ok().filter(Url::has_host);
        let address = url.map(JwksUrl).ok_or(AccessError::UrlMalformed)?;
        let safe = address.0.scheme() == "https" || address.is_plain() && address.is_local();
        if safe { Ok(address) } else { Err(AccessError::UrlUnsafe { url: address.to_string() }) }
    }

    pub(super) fn url(&self) -> Url {
        self.0.clone()
    }

    /// Whether keys come unencrypted.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    fn is_local(&self) -> bool {
        let Some(host) = self.0.host_str() else { return false };
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// What is shown of it has neither user nor query, in which there may be a secret.
impl fmt::Display for JwksUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.0.scheme(), self.0.host_str().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.0.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_by_https_or_from_this_machine() {
        for (url, may) in [
            ("https://login.example/jwks", true),
            ("http://127.0.0.1:80/jwks", true),
            ("http://127.1.2.3/jwks", true),
            ("http://[::1]/jwks", true),
            ("http://localhost/jwks", true),
            ("http://login.example/jwks", false),
            ("http://localhost.evil.example/jwks", false),
            ("http://127.0.0.1:80@evil.example/", false),
            ("file:///etc/jwks", false),
            ("login.example", false),
            ("", false),
        ] {
            assert_eq!(JwksUrl::of(url).is_ok(), may, "{url}");
        }
    }

    #[test]
    fn what_may_be_secret_in_an_address_is_not_shown() {
        let shown = |url: &str| JwksUrl::of(url).map_or_else(|error| error.to_string(), |address| address.to_string());
        assert_eq!(shown("https://us:word@login.example:8443/a/b?key=word#word"), "https://login.example:8443/a/b");
        assert_eq!(shown("http://[::1]:9/keys?key=word"), "http://[::1]:9/keys");
        for url in ["http://us:word@login.example/?key=word", "ftp://us:word@localhost/?word", "us:word"] {
            assert!(!shown(url).contains("word"), "{}", shown(url));
        }
    }
}
