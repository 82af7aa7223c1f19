//! What is told how a call ended, and cannot change it.

use std::time::Duration;

use redress_contract::{Caller, Kind, OperationDeclaration, Problem, RequestId};

use crate::{Face, Fault};

/// A call that has ended.
#[derive(Debug)]
pub struct EndedCall<'a> {
    /// The operation; nothing where no such operation exists.
    pub operation: Option<&'a OperationDeclaration>,
    /// The name of the call.
    pub request_id: &'a RequestId,
    /// The name of the call that made it.
    pub parent: Option<&'a RequestId>,
    /// Who called.
    pub caller: Option<&'a Caller>,
    /// The bad ending; nothing where it ended well.
    pub problem: Option<&'a Problem>,
    /// What came about that the operation does not declare; nothing where it ended as it may.
    pub fault: Option<Fault>,
    /// What sort of error a contained fault was caused by, which its caller is not told.
    pub cause: Option<Kind>,
    /// Whether it has no outcome yet, as it asked its caller something. The call that the
    /// caller makes with the answers is another one, with an ending of its own.
    pub asks: bool,
    /// By which way it came in.
    pub face: Face,
    /// How long it took.
    pub elapsed: Duration,
}

/// What is told, once, how each call ended. With no observer, nothing is spent on it.
pub trait Observer: Send + Sync + 'static {
    /// A call of `operation` has been admitted as far as it exists; [`ended`](Observer::ended) follows, once, with the
    /// same operation. Calls of what does not exist are told of at their end alone.
    fn began(&self, operation: &OperationDeclaration) {
        let _ = operation;
    }

    /// A call has ended. What this does, a panic included, changes nothing for the caller.
    fn ended(&self, call: &EndedCall<'_>);
}

/// One observer may watch several registries.
impl<O: Observer + ?Sized> Observer for std::sync::Arc<O> {
    fn began(&self, operation: &OperationDeclaration) {
        (**self).began(operation);
    }

    fn ended(&self, call: &EndedCall<'_>) {
        (**self).ended(call);
    }
}
