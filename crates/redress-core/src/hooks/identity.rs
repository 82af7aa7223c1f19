//! Who calls.

use std::{error::Error, sync::Arc};

use redress_contract::Caller;

use crate::{Secret, author::handler::BoxFuture};

/// Why a token tells nobody who calls.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The token is not one of ours.
    #[error("the token is not valid")]
    Invalid,
    /// The token was, and is no more.
    #[error("the token has expired")]
    Expired,
    /// Nobody can tell now, such as while the database of users is down. The token may be as good as any: its sender is
    /// told to come again, with UPSTREAM_UNREACHABLE, and `source` goes to the log.
    #[error("who calls cannot be told now")]
    Unavailable {
        /// Why.
        source: Arc<dyn Error + Send + Sync>,
    },
}

impl IdentityError {
    /// Nobody can tell now, because of `source`.
    ///
    /// ```
    /// use redress_core::IdentityError;
    ///
    /// let error = IdentityError::unavailable(std::io::Error::other("the database of users is down"));
    /// assert_eq!(error.to_string(), "who calls cannot be told now");
    /// ```
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> IdentityError {
        IdentityError::Unavailable { source: Arc::from(source.into()) }
    }
}

/// Two are the same that say the same; what was behind them is for the log.
impl PartialEq for IdentityError {
    fn eq(&self, other: &IdentityError) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Eq for IdentityError {}

/// Tells from a token who calls.
pub trait IdentityProvider: Send + Sync + 'static {
    /// The caller that this token stands for, where that is known without waiting. It is asked first;
    /// nothing means that [`identify`](IdentityProvider::identify) has to tell. The token is lent as the bytes in
    /// its message, and is not to be kept from here.
    fn known(&self, token: &[u8]) -> Option<Arc<Caller>> {
        let _ = token;
        None
    }

    /// The caller that this token stands for.
    fn identify<'a>(&'a self, token: &'a Secret) -> BoxFuture<'a, Result<Caller, IdentityError>>;
}
