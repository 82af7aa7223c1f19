//! Outbound credentials: given at registration, seen only by the operation they are for.

use std::{collections::BTreeMap, fmt, sync::Arc};

use zeroize::Zeroizing;

/// A value that must not be seen: no `Serialize`, nothing in `Debug`, wiped when dropped.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<Box<str>>>);

impl Secret {
    /// Keeps `value` secret.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(Arc::new(Zeroizing::new(value.into().into_boxed_str())))
    }

    /// The value itself. Each use of this name is a place to look at in a review.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The credentials of one operation. A composed call sees the callee's own, never
/// its caller's.
#[derive(Clone, Debug, Default)]
pub struct Credentials(BTreeMap<String, Secret>);

impl Credentials {
    /// No credentials.
    pub fn new() -> Credentials {
        Credentials::default()
    }

    /// Adds the secret known as `name`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, secret: Secret) -> Credentials {
        self.0.insert(name.into(), secret);
        self
    }

    /// The secret known as `name`.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }

    /// Every secret.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Secret> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let credentials = Credentials::new().with("api", Secret::new("hunter2"));
        assert!(!format!("{credentials:?}").contains("hunter2"));
        assert_eq!(credentials.get("api").map(Secret::expose), Some("hunter2"));
    }
}
