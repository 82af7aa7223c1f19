//! Who calls.

use std::sync::Arc;

use redress_contract::Caller;

use crate::{Secret, handler::BoxFuture};

/// Why a token tells nobody who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The token is not one of ours.
    #[error("the token is not valid")]
    Invalid,
    /// The token was, and is no more.
    #[error("the token has expired")]
    Expired,
}

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
