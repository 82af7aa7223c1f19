//! Extensions that are set up: what they brought, and how they go.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use redress_contract::{self as contract, Access, Code, Disclosure, Finding, Name};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Extension, TearDown, check::configured};
use crate::{Ctx, DynamicFailure, Operation, Outcome, author::operation::REDRESS, registry::rules};

/// One extension that is loaded, as `services.extensions` tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LoadedExtension {
    /// The namespace that it owns.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// The versions of redress that it works with; all of them where it says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<String>,
    /// The operations that it brought.
    pub operations: Vec<Name>,
    /// The codes that it brought, in its namespace.
    pub codes: Vec<Code>,
    /// The names of the guards that it brought.
    pub guards: Vec<String>,
}

impl LoadedExtension {
    fn of(extension: &Extension) -> LoadedExtension {
        let mut codes: Vec<Code> = extension.codes().map(|failure| failure.code().clone()).collect();
        codes.sort();
        codes.dedup();
        LoadedExtension {
            name: extension.namespace.clone(),
            version: extension.version.clone(),
            requires: extension.requires.clone(),
            operations: extension.operations.iter().map(|operation| operation.declaration.name().clone()).collect(),
            codes,
            guards: extension.guards.iter().map(|guard| guard.name().to_owned()).collect(),
        }
    }
}

/// The extensions that are set up, first to last.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    about: Arc<[LoadedExtension]>,
    hooks: Arc<Mutex<Vec<Option<TearDown>>>>,
}

impl Loaded {
    /// Sets the extensions up in order. If one fails, those before it are torn down in
    /// reverse and nothing stays.
    pub(crate) async fn set_up(extensions: Vec<(Extension, Value)>) -> Result<Loaded, Finding> {
        let about = extensions.iter().map(|(extension, _)| LoadedExtension::of(extension)).collect();
        let loaded = Loaded { about, hooks: Arc::default() };
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
                    &rules::EXTENSION_SET_UP,
                    extension.namespace,
                    says,
                    "correct what its set-up needs, or do not load it",
                ));
            }
            loaded.hooks.lock().push(extension.tear_down);
        }
        Ok(loaded)
    }

    /// Tears everything down, last set up first. A second call finds nothing to do.
    pub(crate) async fn tear_down(&self) {
        let hooks = std::mem::take(&mut *self.hooks.lock());
        for hook in hooks.into_iter().rev().flatten() {
            if AssertUnwindSafe(async { hook().await }).catch_unwind().await.is_err() {
                tracing::error!("the tear-down of an extension panicked");
            }
        }
    }

    /// What is loaded, in the order of loading.
    pub(crate) fn about(&self) -> &[LoadedExtension] {
        &self.about
    }
}

/// The operation that tells which extensions are loaded. What is inside a service, and in which version, is for whoever
/// runs it, so it asks for a scope; a registry without extensions has no such operation.
pub(crate) fn introspection() -> Operation {
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let brought = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "open": {"type": "boolean", "description": "Whether you may call it now."},
        },
        "required": ["name", "open"],
    });
    let extension = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The namespace that it owns."},
            "version": {"type": "string"},
            "requires": {"type": "string", "description": "The versions of redress that it works with."},
            "operations": {"type": "array", "items": brought},
            "codes": texts(),
            "guards": texts(),
        },
        "required": ["name", "version", "operations", "codes", "guards"],
    });
    let declaration = contract::OperationDeclaration::query("services.extensions")
        .with_summary("List the extensions that are loaded, and what each brought.")
        .with_access(Access::caller().scope("extensions:read"))
        .with_tag("discovery")
        .with_output(json!({
            "type": "object",
            "properties": {"extensions": {"type": "array", "items": extension}},
            "required": ["extensions"],
        }));
    Operation::dynamic(declaration).with_owner(REDRESS).with_handler(run)
}

async fn run(ctx: Ctx, _: Value) -> Outcome<Value, DynamicFailure> {
    let open: Vec<&str> = ctx.open().map(|operation| operation.name().as_str()).collect();
    // What an extension is made of inside is told to those alone who are told it of any operation.
    let internals = Disclosure::shows_internals(ctx.caller());
    let is_told =
        |name: &&Name| internals || ctx.contract().operation(name.as_str()).is_some_and(|one| one.is_external());
    let mut told = Vec::new();
    for extension in ctx.extensions() {
        let brought = extension.operations.iter().filter(is_told);
        let brought: Vec<Value> =
            brought.map(|name| json!({"name": name, "open": open.contains(&name.as_str())})).collect();
        let mut about = serde_json::to_value(extension)?;
        about["operations"] = brought.into();
        told.push(about);
    }
    Ok(json!({"extensions": told}))
}
