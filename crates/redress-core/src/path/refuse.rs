//! How the path itself refuses: an engine code with what this call knows about it.

use std::{borrow::Cow, sync::Arc};

use redress_contract::{EngineCode, Printed, Problem, Shape};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Call;
use crate::{
    AnyFailure,
    prepared::{Occurrence, Prepared},
};

/// A bad ending on its way to the envelope.
pub(crate) struct Bad {
    pub(crate) problem: Problem,
    /// What every occurrence of it has in common, already written.
    pub(crate) printed: Option<Arc<Printed>>,
    /// The failure itself, for a typed composed call.
    pub(crate) failure: Option<Arc<dyn AnyFailure>>,
}

impl Bad {
    pub(super) fn new(problem: Problem) -> Box<Bad> {
        Box::new(Bad { problem, printed: None, failure: None })
    }
}

impl Call {
    /// Refuses with an engine code and nothing more.
    pub(crate) fn refuse(&self, code: EngineCode) -> Box<Bad> {
        Bad::new(self.engine(code, None, None))
    }

    /// Refuses with an engine code and details.
    pub(crate) fn refuse_with(&self, code: EngineCode, details: &impl Serialize) -> Box<Bad> {
        // Details of the engine are plain values, so writing them cannot fail; if it ever
        // does, the code alone is still the truth.
        Bad::new(self.engine(code, to_raw_value(details).ok(), None))
    }

    /// The problem of an engine code, at this point of this call.
    pub(super) fn engine(
        &self,
        code: EngineCode,
        details: Option<Box<RawValue>>,
        retry_after_ms: Option<u64>,
    ) -> Problem {
        Prepared::engine(code).problem(Occurrence {
            shape: self.ctx.entry.as_ref().map_or(Shape::Query, |entry| entry.declaration.shape()),
            started: self.started(),
            message: Cow::Borrowed(code.message()),
            details,
            retry_after_ms,
            failure: None,
        })
    }
}
