//! Gathering what a registry is made of.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use redress_contract::{Contract, FailureDeclaration, Finding, ProgramInfo};
use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::{RegisteredOperation, Registry, RegistryInner, TextMap, check, rules};
use crate::{
    Audit, Classifier, ConsentMemory, ConsentStore, ContentGuard, Extension, Guard, IdempotencyMemory,
    IdempotencyStore, IdentityProvider, IntoOperation, Limit, Observer, Operation, QuotaStore, Settings,
    author::operation::REDRESS,
    call::ctx::AnyState,
    hooks::extension::{self, Loaded},
};

/// Gathers what a registry is made of. Nothing is judged before [`build`](Builder::build).
pub struct Builder {
    pub(crate) operations: Vec<Operation>,
    pub(crate) state: HashMap<TypeId, AnyState>,
    pub(crate) guards: Vec<Arc<dyn Guard>>,
    pub(crate) content: HashMap<String, Arc<dyn ContentGuard>>,
    limits: Vec<Arc<dyn Limit>>,
    observers: Vec<Arc<dyn Observer>>,
    identity: Option<Arc<dyn IdentityProvider>>,
    consent: Arc<dyn ConsentStore>,
    idempotency: Arc<dyn IdempotencyStore>,
    audit: Option<Arc<dyn Audit>>,
    quotas: Option<Arc<dyn QuotaStore>>,
    classifier: Option<Classifier>,
    pub(crate) settings: Settings,
    extensions: Vec<(Extension, Value)>,
    pub(crate) codes: Vec<FailureDeclaration>,
    program: Option<Arc<ProgramInfo>>,
    /// The types of which a state was given more than once.
    pub(crate) states_twice: Vec<&'static str>,
}

/// Everything that is wrong with the declarations. Its `Debug` is its `Display`, so that `.unwrap()` and a `main` that
/// returns it show the findings as they are meant to be read.
#[derive(Clone)]
pub struct BuildError {
    findings: Vec<Finding>,
}

impl BuildError {
    pub(crate) fn new(mut findings: Vec<Finding>) -> BuildError {
        findings.sort();
        findings.dedup();
        BuildError { findings }
    }

    /// What is wrong, each with what to write instead.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the registry has {} problem(s)", self.findings.len())?;
        self.findings.iter().try_for_each(|finding| write!(f, "\n{finding}"))
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

impl Builder {
    pub(super) fn new() -> Builder {
        Builder {
            operations: Vec::new(),
            state: HashMap::new(),
            guards: Vec::new(),
            content: HashMap::new(),
            limits: Vec::new(),
            observers: Vec::new(),
            identity: None,
            consent: Arc::new(ConsentMemory::new()),
            idempotency: Arc::new(IdempotencyMemory::default()),
            audit: None,
            quotas: None,
            classifier: None,
            settings: Settings::default(),
            extensions: Vec::new(),
            codes: Vec::new(),
            program: None,
            states_twice: Vec::new(),
        }
    }

    /// Says what program this is, for the documents of faces that are told nothing else. With `redress::main!` the
    /// command says it.
    #[must_use]
    pub fn program(mut self, info: ProgramInfo) -> Builder {
        self.program = Some(Arc::new(info));
        self
    }

    /// Adds an operation: a function with `#[operation]`, or an [`Operation`].
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "adding an operation is not arithmetic, and `add` is its word")]
    pub fn add<A>(mut self, operation: impl IntoOperation<A>) -> Builder {
        self.operations.push(operation.into_operation());
        self
    }

    /// Adds several operations, such as `redress::serve::discovery()`.
    #[must_use]
    pub fn add_all<A>(mut self, operations: impl IntoIterator<Item = impl IntoOperation<A>>) -> Builder {
        self.operations.extend(operations.into_iter().map(IntoOperation::into_operation));
        self
    }

    /// Shares `state` with every operation that takes `State<T>`. There is one state of a type: a second one is
    /// refused by `build`, and two of the same kind are told apart by types of their own.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> Builder {
        if self.state.insert(TypeId::of::<T>(), Arc::new(state)).is_some() {
            self.states_twice.push(std::any::type_name::<T>());
        }
        self
    }

    /// Adds a guard. Guards are asked in the order in which they were added.
    #[must_use]
    pub fn guard(mut self, guard: impl Guard) -> Builder {
        self.guards.push(Arc::new(guard));
        self
    }

    /// Adds a content guard for its language.
    #[must_use]
    pub fn content_guard(mut self, guard: impl ContentGuard) -> Builder {
        self.content.insert(guard.language().to_owned(), Arc::new(guard));
        self
    }

    /// Adds a limit. Limits are asked in the order in which they were added.
    #[must_use]
    pub fn limit(mut self, limit: impl Limit) -> Builder {
        self.limits.push(Arc::new(limit));
        self
    }

    /// Adds an observer.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Builder {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Sets what tells from a token who calls.
    #[must_use]
    pub fn identity(mut self, provider: impl IdentityProvider) -> Builder {
        self.identity = Some(Arc::new(provider));
        self
    }

    /// Sets where consents are kept; in memory, unless said otherwise.
    #[must_use]
    pub fn consent(mut self, store: impl ConsentStore) -> Builder {
        self.consent = Arc::new(store);
        self
    }

    /// Sets where idempotency keys are kept; in memory, unless said otherwise.
    #[must_use]
    pub fn idempotency(mut self, store: impl IdempotencyStore) -> Builder {
        self.idempotency = Arc::new(store);
        self
    }

    /// Sets what keeps a record of the calls; nothing, unless said otherwise.
    #[must_use]
    pub fn audit(mut self, audit: impl Audit) -> Builder {
        self.audit = Some(Arc::new(audit));
        self
    }

    /// Sets where the calls are counted that a limit takes from an allowance; without one, they are refused.
    #[must_use]
    pub fn quotas(mut self, store: impl QuotaStore) -> Builder {
        self.quotas = Some(Arc::new(store));
        self
    }

    /// Sets how foreign errors are told apart.
    #[must_use]
    pub fn classifier(mut self, classifier: Classifier) -> Builder {
        self.classifier = Some(classifier);
        self
    }

    /// Sets how long a call may take where its operation does not say.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Builder {
        self.settings.deadline = deadline;
        self
    }

    /// Sets how many bytes of input an operation takes where it does not say.
    #[must_use]
    pub fn max_input(mut self, bytes: usize) -> Builder {
        self.settings.max_input = bytes;
        self
    }

    /// Sets how many bytes of output an operation may give at once where it does not say.
    #[must_use]
    pub fn max_output(mut self, bytes: usize) -> Builder {
        self.settings.max_output = bytes;
        self
    }

    /// Sets how deep operations may call each other.
    #[must_use]
    pub fn max_depth(mut self, depth: usize) -> Builder {
        self.settings.max_depth = depth;
        self
    }

    /// Sets from when on a call is worth a warning.
    #[must_use]
    pub fn slow(mut self, threshold: Duration) -> Builder {
        self.settings.slow = threshold;
        self
    }

    /// Says whether the outputs and details of typed operations are checked against their
    /// schemas: by default in debug builds only.
    #[must_use]
    pub fn check_outputs(mut self, yes: bool) -> Builder {
        self.settings.check_outputs = yes;
        self
    }

    /// Adds an extension with its configuration. Its set-up may wait for something, so a
    /// registry with extensions is made by [`start`](Builder::start).
    #[must_use]
    pub fn extension(mut self, extension: Extension, config: Value) -> Builder {
        self.extensions.push((extension, config));
        self
    }

    /// Checks everything and makes the registry, or says all that is wrong.
    pub fn build(mut self) -> Result<Registry, BuildError> {
        if let Some((extension, _)) = self.extensions.first() {
            let finding = Finding::new(
                &rules::EXTENSION_NEEDS_START,
                extension.namespace(),
                "an extension has to be set up, and `build` cannot wait for that",
                "write `.start().await?` instead of `.build()?`",
            );
            return Err(BuildError::new(vec![finding]));
        }
        self.contribute();
        self.finish(Loaded::default())
    }

    /// Checks everything, sets the extensions up in order and makes the registry. If
    /// anything is wrong, what was set up is torn down in reverse and nothing stays.
    pub async fn start(mut self) -> Result<Registry, BuildError> {
        let extensions = std::mem::take(&mut self.extensions);
        let mut findings = extension::check(&extensions, &self.operations);
        let service = self.state.keys().copied();
        findings.extend(extension::states(extensions.iter().map(|(extension, _)| extension), service));
        for (extension, _) in &extensions {
            self.operations.extend(extension.operations());
            self.codes.extend(extension.codes());
            self.guards.extend(extension.guards());
            self.limits.extend(extension.limits().iter().cloned());
            self.observers.extend(extension.observers().iter().cloned());
            for brought in extension.brought_state() {
                self.state.insert(brought.id, Arc::clone(&brought.state));
            }
        }
        // A service that has taken the namespace for itself tells of its extensions in its own way.
        let is_taken = |operation: &Operation| {
            operation.declaration.name().namespace() == "services" && operation.owner != REDRESS
        };
        if !extensions.is_empty() && !self.operations.iter().any(is_taken) {
            self.operations.push(extension::introspection());
        }
        self.contribute();
        findings.extend(check::findings(&self));
        if !findings.is_empty() {
            return Err(BuildError::new(findings));
        }
        let loaded = Loaded::set_up(extensions).await.map_err(|finding| BuildError::new(vec![finding]))?;
        match self.finish(loaded.clone()) {
            Ok(registry) => Ok(registry),
            Err(error) => {
                loaded.tear_down().await;
                Err(error)
            }
        }
    }

    /// Adds the failures of the guards to the operations that they cover.
    fn contribute(&mut self) {
        for operation in &mut self.operations {
            let contributed = check::contributed(&self.guards, &operation.declaration);
            operation.declaration = operation.declaration.clone().with_failures(contributed);
        }
    }

    fn finish(mut self, extensions: Loaded) -> Result<Registry, BuildError> {
        let mut findings = check::findings(&self);
        // From here on every schema is as it is shown, so that what is shown is what is checked.
        for operation in &mut self.operations {
            operation.declaration = operation.declaration.clone().bundled();
        }
        let contract = Contract::new(self.operations.iter().map(|operation| operation.declaration.clone()));
        let mut entries = Vec::with_capacity(self.operations.len());
        let mut index = TextMap::default();
        for operation in self.operations {
            let name = operation.declaration.name().clone();
            match RegisteredOperation::new(operation, entries.len(), &self.guards, &self.settings) {
                Ok(entry) => {
                    for known in entry.declaration.aliases().iter().chain([&name]) {
                        index.insert(known.as_str().into(), entries.len());
                    }
                    entries.push(Arc::new(entry));
                }
                Err(error) => findings.push(check::bad_schema(&name, "input", &error)),
            }
        }
        if !findings.is_empty() {
            return Err(BuildError::new(findings));
        }
        Ok(Registry(Arc::new(RegistryInner {
            entries,
            index,
            contract: Arc::new(contract),
            state: self.state,
            content: self.content,
            has_quotas: self.limits.iter().any(|limit| limit.has_quotas()),
            limits: self.limits,
            observers: self.observers,
            identity: self.identity,
            consent: self.consent,
            idempotency: self.idempotency,
            audit: self.audit,
            quotas: self.quotas,
            keyed: TaskTracker::new(),
            own_keyed: TaskTracker::new(),
            classifier: self.classifier.map(OnceLock::from).unwrap_or_default(),
            settings: self.settings,
            extensions,
            codes: self.codes,
            program: self.program,
            announcer: Arc::default(),
            view: None,
        })))
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("operations", &self.operations).finish_non_exhaustive()
    }
}
