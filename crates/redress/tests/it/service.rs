//! Small operations, and a service that is made of them, for the tests of the call path.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use redress::{
    Access, Builder, Caller, DynamicFailure, EndedCall, Kind, Observer, Operation, Outcome, Recovery, Registry,
    contract::{self, FailureDeclaration},
    testing::Harness,
};
use serde_json::{Value, json};

/// A query that is open to everyone and takes any object.
pub(crate) fn query(name: &str) -> contract::OperationDeclaration {
    open(contract::OperationDeclaration::query(name))
}

/// A mutation that is open to everyone and takes any object.
pub(crate) fn mutation(name: &str) -> contract::OperationDeclaration {
    open(contract::OperationDeclaration::mutation(name))
}

/// A subscription that is open to everyone and takes any object.
pub(crate) fn subscription(name: &str) -> contract::OperationDeclaration {
    open(contract::OperationDeclaration::subscription(name))
}

fn open(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation.with_summary("Serve a test.").with_access(Access::anyone()).with_input(json!({"type": "object"}))
}

/// A failure that takes any details and leaves nothing to try.
pub(crate) fn failure(code: &str, kind: Kind) -> FailureDeclaration {
    FailureDeclaration::new(code, kind)
        .with_when("It happens in a test.")
        .with_details(json!({"type": "object"}))
        .with_recovery(Recovery::stop("There is nothing left to try here."))
}

/// An operation that always ends like this.
pub(crate) fn ends<F>(declaration: contract::OperationDeclaration, ending: F) -> Operation
where
    F: Fn() -> Outcome<Value, DynamicFailure> + Send + Sync + 'static,
{
    Operation::dynamic(declaration).with_handler(move |_, _| std::future::ready(ending()))
}

/// An operation that fails with this failure.
pub(crate) fn fails(declaration: contract::OperationDeclaration, code: &'static str, details: Value) -> Operation {
    ends(declaration, move || Err(DynamicFailure::new(code, details.clone()))?)
}

/// A harness that calls the one operation as `ada`.
pub(crate) fn with(operation: Operation) -> Harness {
    built(Registry::builder().add(operation))
}

/// A harness that calls as `ada`.
pub(crate) fn built(builder: Builder) -> Harness {
    Harness::new(registry(builder)).as_caller(Caller::new("ada"))
}

/// The registry, which these tests declare rightly.
pub(crate) fn registry(builder: Builder) -> Registry {
    match builder.build() {
        Ok(registry) => registry,
        Err(error) => panic!("{error}"),
    }
}

/// Notes, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn add(&self, note: impl Into<String>) {
        self.0.lock().expect("no test panics while it holds this").push(note.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no test panics while it holds this"))
    }
}

/// One end of a call, as an observer saw it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) operation: Option<String>,
    pub(crate) code: Option<String>,
    pub(crate) request_id: String,
    pub(crate) parent: Option<String>,
    pub(crate) caller: Option<String>,
    pub(crate) fault: Option<String>,
    pub(crate) cause: Option<Kind>,
}

/// An observer that keeps what it was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<Vec<Seen>>>);

impl Watch {
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.lock().expect("no test panics while it holds this").clone()
    }

    /// The codes of the ends, `ok` for a good one.
    pub(crate) fn codes(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.code.unwrap_or_else(|| "ok".to_owned())).collect()
    }
}

impl Observer for Watch {
    fn ended(&self, call: &EndedCall<'_>) {
        self.0.lock().expect("no test panics while it holds this").push(Seen {
            operation: call.operation.map(|operation| operation.name().to_string()),
            code: if call.asks {
                Some("asks".to_owned())
            } else {
                call.problem.map(|problem| problem.code.to_string())
            },
            request_id: call.request_id.to_string(),
            parent: call.parent.map(ToString::to_string),
            caller: call.caller.map(|caller| caller.id().to_owned()),
            fault: call.fault.map(|fault| fault.to_string()),
            cause: call.cause,
        });
    }
}

/// Says when it is dropped, to prove that a future really was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped(Arc<AtomicBool>);

impl Dropped {
    pub(crate) fn guard(&self) -> DropGuard {
        DropGuard(Arc::clone(&self.0))
    }

    pub(crate) fn is(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug)]
pub(crate) struct DropGuard(Arc<AtomicBool>);

impl Drop for DropGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Waits for what must come: a test that would hang fails instead, and on a paused clock at once.
pub(crate) async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(60), coming).await.expect("it comes within a minute")
}

/// Counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
