//! Extensions: operations and codes that come as one bundle, and go as one.

use std::{
    collections::BTreeSet,
    error::Error,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::FutureExt as _;
use redress_contract::{Code, Example, ExampleEnding, Failure, Finding, Origin};
use semver::{Version, VersionReq};
use serde_json::Value;

use crate::{Operation, handler::BoxFuture, input::Shape};

type SetUp = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<(), Box<dyn Error + Send + Sync>>> + Send + Sync>;
type TearDown = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Namespaces that belong to the engine.
const RESERVED: [&str; 4] = ["redress", "services", "errors", "consent"];

/// A bundle of operations and codes under one namespace (A8).
///
/// Its operations are `namespace.name`; its codes are written bare and become
/// `namespace.CODE`. A registry takes all of it or nothing.
#[derive(Clone)]
pub struct Extension {
    namespace: String,
    version: String,
    requires: String,
    operations: Vec<Operation>,
    codes: Vec<Failure>,
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
            requires: "*".to_owned(),
            operations: Vec::new(),
            codes: Vec::new(),
            config: None,
            set_up: None,
            tear_down: None,
        }
    }

    /// Says which versions of redress it works with, such as `^0.1`.
    #[must_use]
    pub fn requires(mut self, range: &str) -> Extension {
        self.requires = range.to_owned();
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
    pub fn code(mut self, failure: Failure) -> Extension {
        self.codes.push(failure);
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
            let codes: Vec<Failure> = codes.map(|failure| self.owned(failure)).collect();
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

    /// Its codes, in its namespace.
    pub(crate) fn codes(&self) -> impl Iterator<Item = Failure> {
        self.written().map(|failure| self.owned(failure))
    }

    /// Its codes as the author writes them.
    fn written(&self) -> impl Iterator<Item = &Failure> {
        self.operations.iter().flat_map(|operation| operation.declaration.failures()).chain(&self.codes)
    }

    /// The failure under the namespace, and so its parents, as far as they are the extension's own.
    fn owned(&self, failure: &Failure) -> Failure {
        let is_own = |code: &Code| self.written().any(|own| own.code() == code);
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
        if self.written().any(|own| *own.code() == *code) {
            format!("{}.{code}", self.namespace)
        } else {
            code.to_owned()
        }
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Extension").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// What is wrong with the extensions themselves, before anything of them is set up.
pub(crate) fn check(extensions: &[(Extension, Value)], others: &[Operation]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (extension, config) in extensions {
        let mut say = |rule, says: String, help: &str| {
            findings.push(Finding::new(rule, extension.namespace.as_str(), says, help));
        };
        let namespace = extension.namespace.as_str();
        let well_formed = namespace.starts_with(|c: char| c.is_ascii_lowercase())
            && namespace.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !well_formed || RESERVED.contains(&namespace) {
            let says = format!("`{namespace}` cannot be an extension's namespace");
            say(
                "extension-namespace",
                says,
                "use lower-case letters and digits, and none of the engine's own namespaces",
            );
        }
        if !seen.insert(namespace) {
            say("namespace-owner", "two extensions claim this namespace".into(), "load one of them only");
        }
        // With operations of its own, the clash of owners shows among the operations.
        if extension.operations.is_empty()
            && let Some(other) = others.iter().find(|other| other.declaration.name().namespace() == namespace)
        {
            let says = format!("this namespace has more than one owner: extension {namespace}, {}", other.owner);
            say("namespace-owner", says, "let one of them own it, and move the other to a namespace of its own");
        }
        for operation in &extension.operations {
            let name = operation.declaration.name();
            if name.namespace() != namespace {
                let says = format!("its operation `{name}` is in another namespace");
                say("extension-namespace", says, "begin the name with the extension's own namespace");
            }
        }
        versions(extension, &mut say);
        if let Err(says) = configured(extension, config) {
            say("extension-config", says, "give it the configuration that its schema describes");
        }
    }
    findings
}

fn versions(extension: &Extension, say: &mut impl FnMut(&'static str, String, &str)) {
    if Version::parse(&extension.version).is_err() {
        let says = format!("`{}` is not a version", extension.version);
        say("extension-manifest", says, "write a semantic version, such as `1.0.0`");
    }
    let ours = Version::parse(env!("CARGO_PKG_VERSION"));
    match (VersionReq::parse(&extension.requires), ours) {
        (Err(_), _) => {
            let says = format!("`{}` is not a range of versions", extension.requires);
            say("extension-manifest", says, "write a range such as `^0.1` or `>=0.1, <0.3`");
        }
        (Ok(range), Ok(ours)) if !range.matches(&ours) => {
            let says = format!("it works with redress {range}, and this is {ours}");
            say("extension-version", says, "use a version of the extension that fits");
        }
        (Ok(_), _) => {}
    }
}

/// The configuration with its defaults filled in, if it is what the schema says.
fn configured(extension: &Extension, config: &Value) -> Result<Value, String> {
    let Some(schema) = &extension.config else {
        return if config.is_null() || config.as_object().is_some_and(serde_json::Map::is_empty) {
            Ok(Value::Object(serde_json::Map::new()))
        } else {
            Err("it takes no configuration, and is given one".to_owned())
        };
    };
    let mut config = if config.is_null() { Value::Object(serde_json::Map::new()) } else { config.clone() };
    if let (Some(members), Some(config)) = (schema.get("properties").and_then(Value::as_object), config.as_object_mut())
    {
        for (name, default) in members.iter().filter_map(|(name, member)| Some((name, member.get("default")?))) {
            config.entry(name).or_insert_with(|| default.clone());
        }
    }
    let shape = Shape::dynamic(schema.clone())
        .map_err(|error| format!("its configuration schema does not compile: {error}"))?;
    match shape.first_error(&config) {
        None => Ok(config),
        Some((pointer, rule)) => Err(format!("the configuration breaks `{rule}` at `{pointer}`")),
    }
}

/// The extensions that are set up, first to last.
#[derive(Clone, Default)]
pub(crate) struct Loaded(Arc<Mutex<Vec<Option<TearDown>>>>);

impl Loaded {
    /// Sets the extensions up in order. If one fails, those before it are torn down in
    /// reverse and nothing stays.
    pub(crate) async fn set_up(extensions: Vec<(Extension, Value)>) -> Result<Loaded, Finding> {
        let loaded = Loaded::default();
        for (extension, config) in extensions {
            let config = configured(&extension, &config).unwrap_or_default();
            let ended = match &extension.set_up {
                None => Ok(()),
                Some(set_up) => match AssertUnwindSafe(async { set_up(config).await }).catch_unwind().await {
                    Ok(ended) => ended.map_err(|error| error.to_string()),
                    Err(_) => Err("it panicked".to_owned()),
                },
            };
            if let Err(says) = ended {
                loaded.tear_down().await;
                let says = format!("its set-up failed: {says}");
                return Err(Finding::new(
                    "extension-set-up",
                    extension.namespace,
                    says,
                    "correct what its set-up needs, or do not load it",
                ));
            }
            loaded.0.lock().unwrap_or_else(PoisonError::into_inner).push(extension.tear_down);
        }
        Ok(loaded)
    }

    /// Tears everything down, last set up first. A second call finds nothing to do.
    pub(crate) async fn tear_down(&self) {
        let hooks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for hook in hooks.into_iter().rev().flatten() {
            if AssertUnwindSafe(async { hook().await }).catch_unwind().await.is_err() {
                tracing::error!("the tear-down of an extension panicked");
            }
        }
    }
}
