//! A new configuration for a server that runs: checked as a whole, then taken or refused as a whole.
//!
//! The files of tokens, keys and certificates are watched by the parts that read them; here it is the configuration
//! itself, and what a signal asks for.
//!
//! Why so: docs/decisions/0028-a-configuration-is-taken-whole.md.

use std::{
    convert::Infallible,
    io,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use parking_lot::Mutex;
use redress_access::CheckedFiles;
use redress_core::Registry;
use redress_serve::{Faces, ServerHandle, systemd};
use tokio::task::block_in_place;

#[cfg(feature = "gateway")]
use std::panic;

#[cfg(feature = "gateway")]
use crate::gateway::{ChangedDocuments, DocumentDifference, DocumentWatch, Gateway};
use crate::{
    arguments,
    commands::serve,
    config::{ConfigDocument, LogLevel, ServeSettings},
    debounce::Debounce,
    error::CliError,
    layers::{Reloads, ServiceLayers},
    logs::Log,
    program::Setup,
    signals,
};

/// How often the configuration is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A server that runs, and what it runs by.
pub(crate) struct Reloading {
    pub(crate) setup: Arc<Setup>,
    pub(crate) args: arguments::ServeArgs,
    pub(crate) settings: ServeSettings,
    /// The operations, with nothing around them: others when a document has changed.
    pub(crate) base: Arc<Mutex<Registry>>,
    #[cfg(feature = "gateway")]
    pub(crate) gateway: Gateway,
    #[cfg(feature = "gateway")]
    pub(crate) documents: DocumentWatch,
    pub(crate) parts: ServiceLayers,
    pub(crate) server: ServerHandle,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) log: Log,
}

/// A configuration that is right, and holds nowhere yet.
struct CheckedConfig {
    settings: ServeSettings,
    parts: ServiceLayers,
    /// What the files of tokens and keys say, where the parts have read them before.
    reading: Option<CheckedFiles>,
    faces: Faces,
}

impl Reloading {
    /// Takes a new configuration whenever the file has changed or a signal asks for it. It is a task of its own, and
    /// what waits for the disk waits beside the other tasks: a slow one must not keep the server from its end.
    pub(crate) async fn run(mut self, mut asked: signals::ReloadSignal) -> Infallible {
        // What the server runs by, and not what is there now: the file may have changed since.
        let document = self.settings.document.as_ref();
        let mut looks = Debounce::new(document.map(|document| document.text.clone().into_bytes()));
        loop {
            let by_signal = tokio::time::timeout(LOOK_EVERY, asked.next()).await.is_ok();
            let now = block_in_place(|| self.content());
            let seen = now.as_ref().and_then(|now| now.as_deref().ok());
            if looks.take(seen, by_signal) {
                if by_signal {
                    block_in_place(|| self.parts.reopen());
                }
                self.reload(now).await;
            }
            #[cfg(feature = "gateway")]
            self.look_at_documents(by_signal).await;
        }
    }

    /// What is in the file; nothing where the server runs by none.
    fn content(&self) -> Option<io::Result<Vec<u8>>> {
        Some(ConfigDocument::content(&self.settings.document.as_ref()?.path))
    }

    async fn reload(&mut self, content: Option<io::Result<Vec<u8>>>) {
        systemd::reloading();
        let reloaded = match self.check(content).await {
            Ok(checked) => self.take(checked),
            Err(trouble) => Err(trouble),
        };
        match reloaded {
            Ok(()) => {
                self.reloads.taken.fetch_add(1, Relaxed);
                tracing::info!("the configuration was read again and holds");
            }
            Err(trouble) => {
                self.reloads.refused.fetch_add(1, Relaxed);
                // What is written in the file may be anything: `cause` stays in the log of this machine.
                let code = trouble.code().as_str();
                tracing::error!(code, cause = %trouble, "the new configuration was refused, and the old one holds");
            }
        }
        systemd::ready();
    }

    /// Checks everything that can be checked before anything changes.
    async fn check(&self, content: Option<io::Result<Vec<u8>>>) -> Result<CheckedConfig, CliError> {
        let (settings, (parts, reading)) = block_in_place(|| {
            let settings = self.setup.settings_of(&self.args, self.document(content)?)?;
            self.unchanged(&settings)?;
            // The operations stay, and are made once more to hear whether they could be made.
            self.made_again(&settings)?;
            let parts = self.parts.changed(&settings, &self.base.lock())?;
            Ok::<_, CliError>((settings, parts))
        })?;
        if let Some(access) = parts.new_access(&self.parts)
            && let Err(error) = access.fetch().await
        {
            tracing::warn!(%error, "the keys of the issuer are fetched when a token needs them");
        }
        let registry = parts.around(&self.base.lock(), &settings);
        let faces = serve::faces(&self.setup, &settings, &parts, &registry)?;
        Ok(CheckedConfig { settings, parts, reading, faces })
    }

    #[cfg(feature = "gateway")]
    fn made_again(&self, settings: &ServeSettings) -> Result<Registry, CliError> {
        self.setup.registry_of(settings, self.gateway.operations())
    }

    #[cfg(not(feature = "gateway"))]
    fn made_again(&self, settings: &ServeSettings) -> Result<Registry, CliError> {
        self.setup.registry(settings)
    }

    /// Takes documents of services that have changed: checked whole and taken whole, or refused.
    #[cfg(feature = "gateway")]
    async fn look_at_documents(&mut self, at_once: bool) {
        let changed = self.documents.look(at_once).await;
        match block_in_place(|| self.take_documents(changed)) {
            Ok(false) => {}
            Ok(true) => {
                self.reloads.taken.fetch_add(1, Relaxed);
            }
            Err(trouble) => {
                self.reloads.refused.fetch_add(1, Relaxed);
                let code = trouble.code().as_str();
                tracing::error!(code, cause = %trouble, "a new document was refused, and the old one holds");
            }
        }
    }

    #[cfg(feature = "gateway")]
    fn take_documents(&mut self, changed: ChangedDocuments) -> Result<bool, CliError> {
        // A document is somebody else's text, and whatever reading it does must not end the server.
        let Ok(renewed) = panic::catch_unwind(panic::AssertUnwindSafe(|| self.gateway.renewed(changed))) else {
            tracing::error!("a changed document could not be read, and the one before stays: reading it panicked");
            return Ok(false);
        };
        let Some((gateway, differences)) = renewed? else { return Ok(false) };
        let base = self.setup.registry_of(&self.settings, gateway.operations())?;
        let (parts, reading) = self.parts.changed(&self.settings, &base)?;
        let registry = parts.around(&base, &self.settings);
        let faces = serve::faces(&self.setup, &self.settings, &parts, &registry)?;
        // From here on nothing is refused. Calls that run keep what they began with.
        parts.take(reading);
        parts.metrics.follow(base.contract());
        parts.upstreams.set(gateway.upstreams());
        self.server.replace(faces);
        gateway.keep();
        self.documents = DocumentWatch::of(&gateway);
        (self.parts, self.gateway, *self.base.lock()) = (parts, gateway, base);
        differences.iter().for_each(DocumentDifference::log);
        Ok(true)
    }

    /// The configuration that was looked at: it is not read a second time, since it may be another one by then.
    fn document(&self, content: Option<io::Result<Vec<u8>>>) -> Result<Option<ConfigDocument>, CliError> {
        let (Some(old), Some(content)) = (&self.settings.document, content) else { return Ok(None) };
        ConfigDocument::of(&old.path, content).map(Some)
    }

    /// Refuses what cannot change while the server runs.
    fn unchanged(&self, settings: &ServeSettings) -> Result<(), CliError> {
        let (old, new) = (self.settings.fixed(), settings.fixed());
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new).map(|(old, _)| old.0);
        // Whoever listens speaks TLS or does not; which certificate is shown may change.
        let tls = (self.settings.tls.is_some() != settings.tls.is_some()).then_some("tls");
        // A file of which a part is missing must not let everybody in.
        let access = (self.settings.access.is_some() && settings.access.is_none()).then_some("access");
        let keys: Vec<&'static str> = changed.chain(tls).chain(access).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let path = settings.document.as_ref().map(|document| document.path.display().to_string());
        Err(CliError::ConfigNeedsRestart { path: path.unwrap_or_default(), keys })
    }

    /// Lets a configuration hold that was checked. Certificates come first: they alone can still be refused.
    fn take(&mut self, checked: CheckedConfig) -> Result<(), CliError> {
        #[cfg(feature = "tls")]
        if let (Some(tls), Some(files)) = (self.server.tls(), crate::listening::files(&checked.settings)) {
            tls.replace(files).map_err(|error| crate::listening::unusable(&error))?;
        }
        let CheckedConfig { settings, parts, reading, faces } = checked;
        parts.take(reading);
        self.server.replace(faces);
        self.log.set(self.setup.level.or(settings.level).unwrap_or(LogLevel::Info));
        self.settings = settings;
        self.parts = parts;
        Ok(())
    }
}
