//! What a Rust type has to say to be a declared failure.

use std::{
    any::{Any, TypeId},
    error::Error,
    sync::Arc,
};

use redress_contract::{self as contract, Json};

use crate::Fail;

/// One occurrence of a declared failure, whatever its type.
///
/// Its `Display` is the message of the contract: made from public fields only.
pub trait AnyFailure: Error + Send + Sync + 'static {
    /// The code of this occurrence.
    fn code(&self) -> &str;

    /// The public fields, as a JSON object; nothing where there are none.
    fn details(&self) -> Result<Option<Json>, serde_json::Error>;

    /// Appends one public field as JSON, for the next call's input. Says no where there is
    /// none that can be written.
    fn write_field(&self, name: &str, json: &mut Vec<u8>) -> bool;

    /// How long to wait before the next try, where the failure knows.
    fn retry_after_ms(&self) -> Option<u64> {
        None
    }

    /// This occurrence as a value that can be matched by its type.
    fn as_any(&self) -> &dyn Any;
}

/// A type whose every value is a declared failure: what `#[derive(Failure)]` writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not declare its failures",
    label = "this type declares no failures",
    note = "write `#[derive(Debug, Failure)]` above the enum"
)]
pub trait Failure: AnyFailure + Sized {
    /// Every failure it declares, the included ones last.
    fn declarations() -> Vec<contract::FailureDeclaration>;

    /// Whether an occurrence of the type `id` is one of those.
    fn includes(id: TypeId) -> bool;

    /// Takes the failure out of `slot`, an `Option` of any type, if that type is one
    /// whose failures are declared here.
    fn absorb(slot: &mut dyn Any) -> Option<Arc<dyn AnyFailure>>;

    /// Replaces the hint, for this occurrence.
    fn with_hint(self, hint: impl Into<String>) -> Fail<Self> {
        Fail::from(self).with_hint(hint)
    }

    /// Adds the candidates that are near to what was asked for.
    fn with_similar<S: Into<String>>(self, wanted: &str, candidates: impl IntoIterator<Item = S>) -> Fail<Self> {
        Fail::from(self).with_similar(wanted, candidates)
    }

    /// Adds a call that helps.
    fn with_next_action<I: serde::Serialize>(self, operation: &str, input: &I, why: &str) -> Fail<Self> {
        Fail::from(self).with_next_action(operation, input, why)
    }
}

/// That `Self` may be raised where the failures of `E` are declared: `E` itself, and each
/// type that it includes. A strict operation compiles only with these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a failure that `{E}` declares",
    label = "not declared, and the operation is strict: write `.map_err(|error| {E}::…)?` with the variant that it is",
    note = "a strict operation lets only declared failures pass; `#[failure(include({Self}))]` declares those of an enum"
)]
pub trait DeclaredBy<E>: Failure {}

/// The failures of an operation that declares none.
#[derive(Debug)]
pub enum NoFailure {}

impl std::fmt::Display for NoFailure {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl Error for NoFailure {}

impl AnyFailure for NoFailure {
    fn code(&self) -> &str {
        match *self {}
    }

    fn details(&self) -> Result<Option<Json>, serde_json::Error> {
        match *self {}
    }

    fn write_field(&self, _: &str, _: &mut Vec<u8>) -> bool {
        match *self {}
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Failure for NoFailure {
    fn declarations() -> Vec<contract::FailureDeclaration> {
        Vec::new()
    }

    fn includes(_: TypeId) -> bool {
        false
    }

    fn absorb(_: &mut dyn Any) -> Option<Arc<dyn AnyFailure>> {
        None
    }
}

impl DeclaredBy<NoFailure> for NoFailure {}
