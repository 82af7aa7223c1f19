//! The operations of a service, checked and ready to be called.

mod builder;
mod check;
mod entry;
pub(crate) mod prepared;
mod roles;
pub(crate) mod rules;
pub(crate) mod settings;
mod view;

use std::{
    any::TypeId,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use redress_contract::{
    Caller, Code, Contract, EngineCode, FailureDeclaration, Name, OperationDeclaration, ProgramInfo,
};
use tokio_util::task::TaskTracker;

pub use builder::{BuildError, Builder};
pub(crate) use entry::RegisteredOperation;
pub use view::Shown;

use crate::{
    Audit, Classifier, ConsentStore, ContentGuard, IdempotencyStore, IdentityError, IdentityProvider, Limit, Observer,
    QuotaStore, Secret, Settings,
    call::{changes::Announcer, ctx::AnyState},
    hooks::extension::Loaded,
};

/// The operations of a service, checked and ready to be called. Cloning is cheap, and all
/// clones are the same registry.
///
/// Built by [`Registry::builder`]; what is wrong with the declarations is told all at once.
#[derive(Clone)]
pub struct Registry(pub(crate) Arc<RegistryInner>);

/// A map from what programs write, hashed fast but not predictably.
pub(crate) type TextMap<V> = HashMap<Box<str>, V, foldhash::fast::RandomState>;

#[derive(Clone)]
pub(crate) struct RegistryInner {
    pub(crate) entries: Vec<Arc<RegisteredOperation>>,
    /// Every name and alias, to its place in `entries`.
    pub(crate) index: TextMap<usize>,
    pub(crate) contract: Arc<Contract>,
    pub(crate) state: HashMap<TypeId, AnyState>,
    pub(crate) content: HashMap<String, Arc<dyn ContentGuard>>,
    pub(crate) limits: Vec<Arc<dyn Limit>>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    pub(crate) identity: Option<Arc<dyn IdentityProvider>>,
    pub(crate) consent: Arc<dyn ConsentStore>,
    pub(crate) idempotency: Arc<dyn IdempotencyStore>,
    pub(crate) audit: Option<Arc<dyn Audit>>,
    /// Where the calls are counted that are taken from an allowance.
    pub(crate) quotas: Option<Arc<dyn QuotaStore>>,
    /// Whether any of the limits takes calls from an allowance.
    pub(crate) has_quotas: bool,
    /// The calls with an idempotency key that run, each in a task of its own; of every registry with these operations.
    pub(crate) keyed: TaskTracker,
    /// Those of them that run with the parts of this registry.
    pub(crate) own_keyed: TaskTracker,
    /// The standard one is made when the first foreign error is met: its patterns take longer
    /// to compile than a hundred operations to register.
    pub(crate) classifier: OnceLock<Classifier>,
    pub(crate) settings: Settings,
    pub(crate) extensions: Loaded,
    /// Codes that an extension declares beside those of its operations.
    pub(crate) codes: Vec<FailureDeclaration>,
    /// What the program says of itself.
    pub(crate) program: Option<Arc<ProgramInfo>>,
    pub(crate) announcer: Arc<Announcer>,
    /// What a face shows of each entry, where that is not everything.
    pub(crate) view: Option<Arc<[Shown]>>,
}

impl Registry {
    /// Starts a registry.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Everything that is declared, the internal and the hidden operations included.
    pub fn contract(&self) -> &Contract {
        &self.0.contract
    }

    /// The operation of this name or alias, in any form that the wire may use, unless it is hidden
    /// at the time. Those that are hidden are in the [`contract`](Registry::contract) all the same.
    pub fn operation(&self, name: &str) -> Option<&OperationDeclaration> {
        let shown = |entry: &&Arc<RegisteredOperation>| !entry.is_hidden() && self.shows(entry) != Shown::No;
        self.find(name).filter(shown).map(|entry| &entry.declaration)
    }

    /// The operations that `caller` may call from outside, the hidden ones left out. They are whole; what a caller may
    /// be shown of them is [`disclosed_to`](Registry::disclosed_to) it.
    pub fn open_to(&self, caller: Option<&Caller>) -> impl Iterator<Item = &OperationDeclaration> {
        let open = move |entry: &&Arc<RegisteredOperation>| self.is_open(entry, caller);
        self.0.entries.iter().filter(open).map(|entry| &entry.declaration)
    }

    /// The operations that are not hidden, in the order they were declared.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &OperationDeclaration> {
        let shown = |entry: &&Arc<RegisteredOperation>| !entry.is_hidden() && self.shows(entry) != Shown::No;
        self.0.entries.iter().filter(shown).map(|entry| &entry.declaration)
    }

    /// The declaration of a code: the engine's own, or the first operation's that has it. Kind, status and `retryable` are
    /// those of all of them; what else it says may differ by operation.
    pub fn failure(&self, code: &str) -> Option<FailureDeclaration> {
        if let Some(engine) = EngineCode::parse(code) {
            return Some(engine.declaration());
        }
        self.declared().find(|failure| *failure.code() == *code).cloned()
    }

    /// Every code that a caller may meet, the engine's own first.
    pub fn codes(&self) -> Vec<Code> {
        let mut codes: Vec<Code> = EngineCode::ALL.into_iter().map(EngineCode::code).collect();
        for failure in self.declared() {
            if !codes.contains(failure.code()) {
                codes.push(failure.code().clone());
            }
        }
        codes
    }

    fn declared(&self) -> impl Iterator<Item = &FailureDeclaration> {
        self.0.contract.operations().iter().flat_map(OperationDeclaration::failures).chain(&self.0.codes)
    }

    /// Where consents are kept.
    pub fn consent(&self) -> &Arc<dyn ConsentStore> {
        &self.0.consent
    }

    /// The caller that a token stands for: the quick word of the identity provider where it has one, else its
    /// considered one. Where there is no provider, no token stands for anybody.
    pub async fn identify(&self, token: &Secret) -> Result<Arc<Caller>, IdentityError> {
        let Some(provider) = &self.0.identity else { return Err(IdentityError::Invalid) };
        match provider.known(token.expose().as_bytes()) {
            Some(caller) => Ok(caller),
            None => provider.identify(token).await.map(Arc::new),
        }
    }

    /// The caller that a token stands for, where the identity provider has a quick word. A face that asks for it needs
    /// no copy of the token; with nothing known, the call itself is given the token and finds out.
    pub fn known(&self, token: &[u8]) -> Option<Arc<Caller>> {
        let provider = self.0.identity.as_ref()?;
        // It is asked again inside the call, where a panic becomes an outcome.
        catch_unwind(AssertUnwindSafe(|| provider.known(token))).ok().flatten()
    }

    /// What tells from a token who calls, where the registry was given one.
    pub fn identity(&self) -> Option<&Arc<dyn IdentityProvider>> {
        self.0.identity.as_ref()
    }

    /// Whether calls can be kept as they have to be: while the audit, the store of idempotency keys or that of quotas is
    /// closed, calls are refused, and a load balancer had better ask elsewhere.
    pub fn is_ready(&self) -> bool {
        let counted = !self.0.has_quotas || self.0.quotas.as_ref().is_some_and(|quotas| quotas.is_open());
        counted && self.0.idempotency.is_open() && self.0.audit.as_ref().is_none_or(|audit| audit.is_open())
    }

    /// Resolves when no call with an idempotency key runs any more, in this registry or in another that is
    /// [given layers](Registry::with_layers) from the same. Such a call goes on when its caller leaves, so a service that goes down
    /// waits for this too.
    pub async fn settled(&self) {
        self.0.keyed.close();
        self.0.keyed.wait().await;
    }

    /// Whether no call with an idempotency key runs in this registry itself, so that nothing needs its parts any more
    /// once it is no longer called.
    pub fn is_settled(&self) -> bool {
        self.0.own_keyed.is_empty()
    }

    /// What the program says of itself, where the registry was told.
    pub fn program(&self) -> Option<&ProgramInfo> {
        self.0.program.as_deref()
    }

    /// The numbers that bound every call.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// How foreign errors are told apart.
    pub fn classifier(&self) -> &Classifier {
        self.0.classifier.get_or_init(Classifier::standard)
    }

    /// The extensions that are loaded, in the order of loading.
    pub fn extensions(&self) -> &[crate::LoadedExtension] {
        self.0.extensions.about()
    }

    /// Tears the extensions down, last loaded first. Calls made afterwards still run.
    pub async fn shut_down(&self) {
        self.0.extensions.tear_down().await;
    }

    /// The same registry with one more observer, for the test kit.
    #[cfg(feature = "testing")]
    pub(crate) fn observed_by(&self, observer: impl Observer) -> Registry {
        self.with_layers(crate::Layers::new().observer(Arc::new(observer)))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<RegisteredOperation>> {
        let place = match self.0.index.get(name) {
            Some(place) => place,
            None => self.0.index.get(&*Name::from_wire(name))?,
        };
        self.0.entries.get(*place)
    }

    pub(crate) fn state(&self, id: TypeId) -> Option<&AnyState> {
        self.0.state.get(&id)
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("operations", &self.0.entries.len()).finish_non_exhaustive()
    }
}
