//! Extensions: operations, codes and what stands around them, that come as one bundle and go as one.
//!
//! Why so:
//! - docs/decisions/0005-extensions-by-start.md
//! - docs/decisions/0065-extensions-bring-what-they-need.md

mod check;
mod guard;
mod loaded;

use std::{any::TypeId, error::Error, future::Future, sync::Arc};

use redress_contract::{Code, Example, ExampleEnding, FailureDeclaration, Origin};
use serde_json::Value;

pub(crate) use check::{check, states};
pub use loaded::LoadedExtension;
pub(crate) use loaded::{Loaded, introspection};

use crate::{Guard, Limit, Observer, Operation, author::handler::BoxFuture, call::ctx::AnyState};
use guard::OwnedGuard;

type SetUp = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> + Send + Sync>;
type TearDown = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// State that an extension brings.
#[derive(Clone)]
pub(crate) struct BroughtState {
    pub(crate) id: TypeId,
    pub(crate) type_name: &'static str,
    pub(crate) state: AnyState,
}

/// A bundle of operations and codes under one namespace, with the guards, limits, observers and state that they need.
///
/// Its operations are `namespace.name`; its codes are written bare and become
/// `namespace.CODE`. A registry takes all of it or nothing.
#[derive(Clone)]
pub struct Extension {
    namespace: String,
    version: String,
    /// Every version, where it says nothing.
    requires: Option<String>,
    operations: Vec<Operation>,
    codes: Vec<FailureDeclaration>,
    state: Vec<BroughtState>,
    guards: Vec<Arc<dyn Guard>>,
    limits: Vec<Arc<dyn Limit>>,
    observers: Vec<Arc<dyn Observer>>,
    config: Option<Value>,
    set_up: Option<SetUp>,
    tear_down: Option<TearDown>,
}

impl Extension {
    /// An extension that owns `namespace`, in this version of its own.
    pub fn new(namespace: &str, version: &str) -> Extension {
        Extension {
            namespace: namespace.to_owned(),
            version: version.to_owned(),
            requires: None,
            operations: Vec::new(),
            codes: Vec::new(),
            state: Vec::new(),
            guards: Vec::new(),
            limits: Vec::new(),
            observers: Vec::new(),
            config: None,
            set_up: None,
            tear_down: None,
        }
    }

    /// Says which versions of redress it works with, such as `^0.1` or `^0.1 || ^0.3`; all of them, unless said
    /// otherwise. A pre-release of redress counts as the release that it comes before.
    #[must_use]
    pub fn requires(mut self, range: &str) -> Extension {
        self.requires = Some(range.to_owned());
        self
    }

    /// Adds an operation, whose name begins with the namespace.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adding an operation is not arithmetic, and `add` is its word")]
    pub fn add(mut self, operation: Operation) -> Extension {
        self.operations.push(operation);
        self
    }

    /// Adds a code, written bare, that every operation of the extension may end with.
    #[must_use]
    pub fn code(mut self, failure: FailureDeclaration) -> Extension {
        self.codes.push(failure);
        self
    }

    /// Shares `state` with every operation that takes `State<T>`, as [`Builder::state`](crate::Builder::state) does. A type
    /// that another brings already is refused.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Extension {
        let type_name = std::any::type_name::<T>();
        self.state.push(BroughtState { id: TypeId::of::<T>(), type_name, state: Arc::new(state) });
        self
    }

    /// Adds a guard, asked after those of the service. It looks at the operations that it says it covers, others' among
    /// them; its codes are written bare.
    #[must_use]
    pub fn guard(mut self, guard: impl Guard) -> Extension {
        self.guards.push(Arc::new(guard));
        self
    }

    /// Adds a limit, asked after those of the service.
    #[must_use]
    pub fn limit(mut self, limit: impl Limit) -> Extension {
        self.limits.push(Arc::new(limit));
        self
    }

    /// Adds an observer, told after those of the service.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Extension {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Sets the schema of its configuration; members with a `default` may be left out.
    #[must_use]
    pub fn config(mut self, schema: Value) -> Extension {
        self.config = Some(schema);
        self
    }

    /// Sets what runs, with the configuration, before the first call.
    #[must_use]
    pub fn on_set_up<F, R, E>(mut self, function: F) -> Extension
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.set_up = Some(Arc::new(move |config| {
            let running = function(config);
            Box::pin(async move { running.await.map_err(Into::into) })
        }));
        self
    }

    /// Sets what runs when it goes, if its set-up had come to its end.
    #[must_use]
    pub fn on_tear_down<F, R>(mut self, function: F) -> Extension
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        self.tear_down = Some(Arc::new(move || Box::pin(function())));
        self
    }

    /// The namespace that it owns.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its operations as a registry takes them: owned by it, their codes in its namespace.
    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation> {
        self.operations.iter().map(|operation| {
            let mut operation = operation.clone();
            let codes = operation.declaration.failures().iter().chain(&self.codes);
            let codes: Vec<FailureDeclaration> = codes.map(|failure| self.owned(failure)).collect();
            let examples: Vec<Example> =
                operation.declaration.examples().iter().map(|example| self.owned_example(example)).collect();
            operation.declaration = examples
                .into_iter()
                .fold(operation.declaration.without_examples(), |declaration, example| {
                    declaration.with_example(example)
                })
                .without_failures()
                .with_failures(codes)
                .with_origin(Origin::Extension);
            if let Some(check) = &mut operation.check {
                for code in &mut check.codes {
                    *code = self.owned_code(code);
                }
            }
            operation.owner = format!("extension {}", self.namespace);
            operation
        })
    }

    /// Its codes, in its namespace, those of its guards included.
    pub(crate) fn codes(&self) -> impl Iterator<Item = FailureDeclaration> {
        let own = self.written().map(|failure| self.owned(failure));
        own.chain(self.guards().flat_map(|guard| guard.failures()))
    }

    /// Its guards, whose codes are in its namespace.
    pub(crate) fn guards(&self) -> impl Iterator<Item = Arc<dyn Guard>> {
        let own: Arc<[Code]> = self.own_codes().collect();
        self.guards.iter().map(move |guard| {
            Arc::new(OwnedGuard::new(&self.namespace, Arc::clone(guard), Arc::clone(&own))) as Arc<dyn Guard>
        })
    }

    /// Its limits.
    pub(crate) fn limits(&self) -> &[Arc<dyn Limit>] {
        &self.limits
    }

    /// Its observers.
    pub(crate) fn observers(&self) -> &[Arc<dyn Observer>] {
        &self.observers
    }

    /// The state that it brings.
    pub(crate) fn brought_state(&self) -> &[BroughtState] {
        &self.state
    }

    /// Its codes as the author writes them.
    fn written(&self) -> impl Iterator<Item = &FailureDeclaration> {
        self.operations.iter().flat_map(|operation| operation.declaration.failures()).chain(&self.codes)
    }

    /// Every code of its own, as it is written: those of its operations, of the whole and of its guards.
    fn own_codes(&self) -> impl Iterator<Item = Code> {
        let guards = self.guards.iter().flat_map(|guard| guard.failures());
        self.written().map(|failure| failure.code().clone()).chain(guards.map(|failure| failure.code().clone()))
    }

    /// The failure under the namespace, and so its parents, as far as they are the extension's own.
    fn owned(&self, failure: &FailureDeclaration) -> FailureDeclaration {
        let is_own = |code: &Code| self.own_codes().any(|own| own == *code);
        failure.clone().in_namespace(&self.namespace, is_own)
    }

    fn owned_example(&self, example: &Example) -> Example {
        let ending = match &example.ending {
            ExampleEnding::Failure(code) => ExampleEnding::Failure(self.owned_code(code)),
            ending @ ExampleEnding::Output(_) => ending.clone(),
        };
        Example { input: example.input.clone(), ending }
    }

    /// The code under the namespace, if it is one of the extension's own.
    fn owned_code(&self, code: &str) -> String {
        if self.own_codes().any(|own| own == *code) { format!("{}.{code}", self.namespace) } else { code.to_owned() }
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
