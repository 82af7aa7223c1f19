//! The token that a message brings along.

use std::fmt;

use axum::http::HeaderValue;
use redress_core::Secret;

/// A token, where the headers of its message hold it: most tokens are known, and then none of it has to be copied and
/// wiped.
#[derive(Clone)]
pub(crate) struct Bearer(HeaderValue);

const SCHEME: &[u8] = b"bearer ";

impl Bearer {
    /// The token of this `Authorization`, if it is one.
    pub(crate) fn of(authorization: &HeaderValue) -> Option<Bearer> {
        let scheme = authorization.as_bytes().get(..SCHEME.len())?;
        scheme.eq_ignore_ascii_case(SCHEME).then(|| Bearer(authorization.clone()))
    }

    /// The token itself.
    pub(crate) fn expose(&self) -> &[u8] {
        self.0.as_bytes().get(SCHEME.len()..).unwrap_or_default().trim_ascii()
    }

    /// The token, for whoever keeps it. No token is made of what is no text, so it may stand for itself as well as it
    /// can.
    pub(crate) fn secret(&self) -> Secret {
        Secret::new(String::from_utf8_lossy(self.expose()))
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_follows_its_scheme_in_whatever_case() {
        let token = |text: &'static [u8]| {
            let bearer = HeaderValue::from_bytes(text).ok().as_ref().and_then(Bearer::of)?;
            Some(bearer.secret().expose().to_owned())
        };
        assert_eq!(token(b"Bearer a.b.c").as_deref(), Some("a.b.c"));
        assert_eq!(token(b"bEARER  a b \t").as_deref(), Some("a b"));
        assert_eq!(token(b"Bearer ").as_deref(), Some(""));
        assert_eq!(token(b"Bearer \xff").as_deref(), Some("\u{fffd}"));
        for other in [&b""[..], b"Bearer", b"Basic a", b"Bearer\ta", b"Bearers a"] {
            assert_eq!(token(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_token_does_not_show_itself() {
        let bearer = Bearer::of(&HeaderValue::from_static("Bearer hunter2")).unwrap();
        assert!(!format!("{bearer:?}").contains("hunter2"));
    }
}
