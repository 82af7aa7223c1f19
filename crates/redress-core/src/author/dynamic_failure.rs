//! A failure made at run time, for operations that are declared as data.

use std::{
    any::{Any, TypeId},
    error::Error,
    fmt,
    sync::Arc,
};

use redress_contract::Json;
use serde_json::{Map, Value};

use crate::{AnyFailure, Failure, UpstreamFailure};

/// What the call ends with instead, made of the details that do not fit.
struct Otherwise(Box<OtherwiseFn>);

type OtherwiseFn = dyn Fn(&Map<String, Value>) -> UpstreamFailure + Send + Sync;

impl fmt::Debug for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Otherwise(…)")
    }
}

/// A failure made at run time, from a declaration that is data.
#[derive(Debug)]
pub struct DynamicFailure {
    code: String,
    details: Map<String, Value>,
    retry_after_ms: Option<u64>,
    cause: Option<Box<dyn Error + Send + Sync>>,
    otherwise: Option<Otherwise>,
}

impl DynamicFailure {
    /// An occurrence of the failure `code` with these details. Its message comes from
    /// the declaration.
    pub fn new(code: &str, details: Value) -> DynamicFailure {
        let details = match details {
            Value::Object(map) => map,
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                [("value".to_owned(), other)].into_iter().collect()
            }
        };
        DynamicFailure { code: code.to_owned(), details, retry_after_ms: None, cause: None, otherwise: None }
    }

    /// Says how long to wait, where the declaration names no field for it.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: u64) -> DynamicFailure {
        self.retry_after_ms = Some(ms);
        self
    }

    /// Says what it was caused by. That is for the operator's log, and reaches no caller.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> DynamicFailure {
        self.cause = Some(cause.into());
        self
    }

    /// Says what the call ends with where the details break the schema that is declared for them: another service gave
    /// them, so that it is not this one that is broken. It is made of the details, and only then.
    #[must_use]
    pub fn otherwise(
        mut self,
        failure: impl Fn(&Map<String, Value>) -> UpstreamFailure + Send + Sync + 'static,
    ) -> DynamicFailure {
        self.otherwise = Some(Otherwise(Box::new(failure)));
        self
    }

    pub(crate) fn if_unfit(&self) -> Option<UpstreamFailure> {
        self.otherwise.as_ref().map(|Otherwise(failure)| failure(&self.details))
    }

    pub(crate) fn fields(&self) -> &Map<String, Value> {
        &self.details
    }
}

impl fmt::Display for DynamicFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code)
    }
}

impl Error for DynamicFailure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl AnyFailure for DynamicFailure {
    fn code(&self) -> &str {
        &self.code
    }

    fn details(&self) -> Result<Option<Json>, serde_json::Error> {
        if self.details.is_empty() { Ok(None) } else { Json::of(&self.details).map(Some) }
    }

    fn write_field(&self, name: &str, json: &mut Vec<u8>) -> bool {
        self.details.get(name).is_some_and(|value| serde_json::to_writer(json, value).is_ok())
    }

    fn retry_after_ms(&self) -> Option<u64> {
        self.retry_after_ms
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The failures of an operation declared as data: which they are is in the declaration.
impl Failure for DynamicFailure {
    fn declarations() -> Vec<redress_contract::FailureDeclaration> {
        Vec::new()
    }

    fn includes(id: TypeId) -> bool {
        id == TypeId::of::<DynamicFailure>()
    }

    fn absorb(slot: &mut dyn Any) -> Option<Arc<dyn AnyFailure>> {
        let failure = slot.downcast_mut::<Option<DynamicFailure>>()?.take()?;
        Some(Arc::new(failure))
    }
}
