//! The parts that an operator's settings put around the operations: who calls, what is kept, limits, what is seen.

mod access;
#[cfg(feature = "otlp")]
mod collector;
mod limits;
#[cfg(not(feature = "state"))]
mod memory;
#[cfg(not(feature = "otlp"))]
mod no_collector;
#[cfg(feature = "state")]
mod state;
mod telemetry;
mod upstream_list;

use std::{sync::Arc, time::Duration};

use redress_access::{Authenticator, CheckedFiles};
use redress_core::{Layers, Registry};
use redress_limits::Limits;
use redress_mcp::DroppedFields;
use redress_serve::ServerHandle;
use redress_telemetry::{AccessLog, Metrics};

pub(crate) use access::{knowing, options as access_options};
#[cfg(feature = "otlp")]
pub(crate) use collector::{Otlp, collector};
pub(crate) use limits::{calls as call_limits, faces as face_limits, networks};
#[cfg(not(feature = "state"))]
pub(crate) use memory::StateLayer;
#[cfg(not(feature = "otlp"))]
pub(crate) use no_collector::{Otlp, collector};
#[cfg(feature = "state")]
pub(crate) use state::StateLayer;
pub(crate) use telemetry::{Reloads, headers};
pub(crate) use upstream_list::UpstreamList;

use crate::{
    config::{AccessTable, ServeSettings, defaults, fitting, secrets_outside_root},
    error::CliError,
};

/// How long what is left to tell may take at the end: to the access log, and to the collector.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(5);

/// What is around the operations.
#[derive(Clone)]
pub(crate) struct ServiceLayers {
    /// Who calls, and by what it was opened.
    pub(crate) access: Option<(Arc<Authenticator>, AccessTable)>,
    pub(crate) kept: StateLayer,
    limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    log: Option<Arc<AccessLog>>,
    /// How many fields that MCP hosts add were dropped.
    pub(crate) dropped_fields: DroppedFields,
    /// The services behind the gateway.
    pub(crate) upstreams: UpstreamList,
    /// Whether calls are recorded.
    audited: bool,
}

impl ServiceLayers {
    /// Opens everything that `settings` name.
    pub(crate) async fn open(settings: &ServeSettings, registry: &Registry) -> Result<ServiceLayers, CliError> {
        ServiceLayers::around_state(settings, registry, StateLayer::open(settings)).await
    }

    /// What is around the operations of a program on pipes: whoever starts it is its caller. Each of its hosts starts one
    /// of its own, so that the folder of the state may be taken: then it is kept in memory.
    pub(crate) async fn of_pipes(settings: &ServeSettings, registry: &Registry) -> Result<ServiceLayers, CliError> {
        let settings = ServeSettings { access: None, ..settings.clone() };
        ServiceLayers::around_state(&settings, registry, StateLayer::open_if_free(&settings)).await
    }

    async fn around_state(
        settings: &ServeSettings,
        registry: &Registry,
        kept: impl Future<Output = Result<StateLayer, CliError>>,
    ) -> Result<ServiceLayers, CliError> {
        fitting(settings, registry)?;
        secrets_outside_root::log(settings)?;
        let access = access::open(settings)?;
        let limits = limits::calls(settings)?;
        let log = telemetry::access_log(settings)?;
        let kept = kept.await?;
        let metrics = Metrics::new(registry.contract());
        let dropped_fields = DroppedFields::default();
        telemetry::of_parts(&metrics, log.as_ref(), &dropped_fields);
        kept.count(&metrics);
        let upstreams = UpstreamList::default();
        if !settings.upstreams.is_empty() {
            upstreams.count(&metrics);
        }
        let audited = settings.audit.enabled.unwrap_or(defaults::AUDITED);
        Ok(ServiceLayers { access, kept, limits, metrics, log, dropped_fields, upstreams, audited })
    }

    /// The same parts under other settings, and what the files say that stay the same. What stays keeps what it has
    /// counted, fetched and remembered; nothing of it holds yet.
    pub(crate) fn changed(
        &self,
        settings: &ServeSettings,
        registry: &Registry,
    ) -> Result<(ServiceLayers, Option<CheckedFiles>), CliError> {
        fitting(settings, registry)?;
        secrets_outside_root::log(settings)?;
        let (access, reading) = match &self.access {
            Some((access, table)) if settings.access.as_ref() == Some(table) => {
                (self.access.clone(), access::read(access)?)
            }
            _ => (access::open_anew(settings)?, None),
        };
        let limits = self.limits.replaced(limits::options(settings)?);
        let limits = limits.map_err(|error| limits::wrong(settings, &error))?;
        let parts = ServiceLayers {
            access,
            limits,
            audited: settings.audit.enabled.unwrap_or(defaults::AUDITED),
            ..self.clone()
        };
        Ok((parts, reading))
    }

    /// Lets hold what was read of files that stay the same, and asks for the keys that are at a URL.
    pub(crate) fn take(&self, reading: Option<CheckedFiles>) {
        let (Some((access, _)), Some(reading)) = (&self.access, reading) else { return };
        access.take(reading);
        let access = Arc::clone(access);
        tokio::spawn(async move {
            if let Err(error) = access.fetch().await {
                tracing::warn!(%error, "the keys that were fetched last stay in use");
            }
        });
    }

    /// What tells who calls, where it is another than in `old`: it has fetched no keys yet.
    pub(crate) fn new_access(&self, old: &ServiceLayers) -> Option<&Arc<Authenticator>> {
        let (access, _) = self.access.as_ref()?;
        let same = old.access.as_ref().is_some_and(|(old, _)| Arc::ptr_eq(old, access));
        (!same).then_some(access)
    }

    /// `registry` with all of it around.
    pub(crate) fn around(&self, registry: &Registry, settings: &ServeSettings) -> Registry {
        let mut layers = Layers::new().limit(self.limits.clone()).observer(self.metrics.clone());
        if let Some((access, _)) = &self.access {
            layers = layers.identity(access.clone());
        }
        layers = self.kept.fit(layers, self.audited);
        if let Some(log) = &self.log {
            layers = layers.observer(log.clone());
        }
        if let Some(depth) = settings.limits.json_depth {
            layers = layers.json_depth(depth.get());
        }
        if let Some(members) = settings.limits.json_members {
            layers = layers.json_members(members.get());
        }
        if let Some(bytes) = settings.limits.max_output {
            layers = layers.max_output(bytes.0);
        }
        if let Some(yes) = settings.check_outputs {
            layers = layers.check_outputs(yes);
        }
        registry.with_layers(layers)
    }

    /// Counts what the server counts, and sends it all where a collector is named.
    pub(crate) fn seen(&self, server: &ServerHandle, reloads: &Arc<Reloads>, otlp: Option<&Otlp>) {
        telemetry::of_server(&self.metrics, server, reloads);
        if let Some(otlp) = otlp {
            otlp.export(&self.metrics);
        }
    }

    /// Opens the access log anew, for one that was moved away.
    pub(crate) fn reopen(&self) {
        if let Some(log) = &self.log
            && let Err(error) = log.reopen()
        {
            tracing::error!(%error, "the access log goes on where it was");
        }
    }

    /// Keeps what waits, and lets go.
    pub(crate) async fn close(self) {
        if let Some(log) = self.log {
            // It waits with its whole thread.
            let written = tokio::task::spawn_blocking(move || log.flush(LAST_WORDS)).await;
            if !written.unwrap_or(false) {
                tracing::error!("the access log was not written to its end");
            }
        }
        self.kept.close().await;
    }
}

#[cfg(test)]
mod tests {
    use redress_core::{
        Ctx, Declared, NoFailure, Nothing, Once, Operation, Outcome, Request,
        contract::{self, Access},
    };
    use serde::{Serialize, Serializer};

    use super::*;
    use crate::{
        arguments::{BoundsArgs, FolderArgs, ServeArgs},
        config::File,
    };

    /// A number that writes itself as something else than its schema says.
    #[derive(schemars::JsonSchema)]
    struct Liar(#[expect(dead_code, reason = "only its schema is read")] u8);

    impl Serialize for Liar {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_str("seven")
        }
    }

    /// An operation of a type, which is believed where nothing is checked.
    struct Lie;

    impl Declared for Lie {
        type Input = Nothing;
        type Output = Liar;
        type Failure = NoFailure;

        const NAME: &'static str = "typed.lie";

        fn attributes() -> contract::OperationDeclaration {
            contract::OperationDeclaration::query(Lie::NAME).with_summary("Give a text.").with_access(Access::anyone())
        }

        fn needs() -> Vec<(std::any::TypeId, &'static str)> {
            Vec::new()
        }

        fn operation() -> Operation {
            Operation::once::<Lie>()
        }
    }

    impl Once for Lie {
        async fn run(_: &Ctx, _: Nothing) -> Outcome<Liar> {
            Ok(Liar(7))
        }
    }

    #[tokio::test]
    async fn the_file_says_whether_outputs_are_checked() {
        for (built_with, text, caught) in [
            (false, "[serve]\ncheck_outputs = true\n", true),
            (true, "[serve]\ncheck_outputs = false\n", false),
            (true, "", true),
            (false, "", false),
        ] {
            let file: File = toml::from_str(text).unwrap();
            let settings =
                ServeSettings::of(&ServeArgs::default(), &FolderArgs::default(), &BoundsArgs::default(), file, None)
                    .unwrap();
            let registry = Registry::builder().add(Lie::operation()).check_outputs(built_with).build().unwrap();
            let parts = ServiceLayers::open(&settings, &registry).await.unwrap();
            let envelope = parts.around(&registry, &settings).call(Lie::NAME, Request::new(&b"{}"[..])).await;
            assert_eq!(envelope.code(), caught.then_some("INVALID_OUTPUT"), "{built_with} {text}");
        }
    }
}
