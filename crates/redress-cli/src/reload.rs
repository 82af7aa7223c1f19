//! A new configuration for a server that runs: checked as a whole, then taken or refused as a whole.
//!
//! The files of tokens, keys and certificates are watched by the parts that read them; here it is the configuration
//! itself, and what a signal asks for.

use std::{
    convert::Infallible,
    fs,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use redress_access::Reading;
use redress_core::Registry;
use redress_serve::{Faces, ServerHandle, systemd};

use crate::{
    arguments,
    config::{Level, Settings},
    logs::Log,
    parts::{Parts, Reloads},
    program::Setup,
    serve,
    trouble::Trouble,
};

/// How often the configuration is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A server that runs, and what it runs by.
pub(crate) struct Reloading<'a> {
    pub(crate) setup: &'a Setup<'a>,
    pub(crate) typed: &'a arguments::Serve,
    pub(crate) settings: Settings,
    /// The operations, with nothing around them.
    pub(crate) base: Registry,
    pub(crate) parts: Parts,
    pub(crate) server: ServerHandle,
    pub(crate) reloads: Arc<Reloads>,
    /// Whether other machines can connect.
    pub(crate) reachable: bool,
    pub(crate) log: Log,
}

/// A configuration that is right, and holds nowhere yet.
struct Checked {
    settings: Settings,
    parts: Parts,
    /// What the files of tokens and keys say, where the parts have read them before.
    reading: Option<Reading>,
    faces: Faces,
}

impl Reloading<'_> {
    /// Takes a new configuration whenever the file has changed or a signal asks for it.
    pub(crate) async fn run(mut self, mut asked: impl AsyncFnMut()) -> Infallible {
        // What the server runs by, and not what is there now: the file may have changed since.
        let mut seen = self.settings.document.as_ref().map(|document| document.text.clone().into_bytes());
        loop {
            let by_signal = tokio::time::timeout(LOOK_EVERY, asked()).await.is_ok();
            let now = self.content();
            if !by_signal && now == seen {
                continue;
            }
            seen = now;
            if by_signal {
                self.parts.reopen();
            }
            self.reload().await;
        }
    }

    /// What is in the file; nothing where there is none, and where an editor is about to put it back.
    fn content(&self) -> Option<Vec<u8>> {
        fs::read(&self.settings.document.as_ref()?.path).ok()
    }

    async fn reload(&mut self) {
        systemd::reloading();
        let reloaded = match self.check().await {
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
    async fn check(&self) -> Result<Checked, Trouble> {
        let settings = self.setup.settings(self.typed)?;
        self.unchanged(&settings)?;
        // The operations stay, and are made once more to hear whether they could be made.
        self.setup.registry(&settings)?;
        let (parts, reading) = self.parts.changed(&settings)?;
        if let Some(access) = parts.new_access(&self.parts)
            && let Err(error) = access.fetch().await
        {
            tracing::warn!(%error, "the keys of the issuer are fetched when a token needs them");
        }
        let registry = parts.around(&self.base, &settings);
        if self.reachable && registry.identity().is_none() {
            return Err(Trouble::NotLoopbackWithoutAccess { address: settings.listen.to_string() });
        }
        let faces = serve::faces(self.setup, &settings, &parts, &registry)?;
        Ok(Checked { settings, parts, reading, faces })
    }

    /// Refuses what cannot change while the server runs.
    fn unchanged(&self, settings: &Settings) -> Result<(), Trouble> {
        let (old, new) = (self.settings.fixed(), settings.fixed());
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new).map(|(old, _)| old.0);
        // Whoever listens speaks TLS or does not; which certificate is shown may change.
        let tls = (self.settings.tls.is_some() != settings.tls.is_some()).then_some("tls");
        let keys: Vec<&'static str> = changed.chain(tls).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let path = settings.document.as_ref().map(|document| document.path.display().to_string());
        Err(Trouble::ConfigNeedsRestart { path: path.unwrap_or_default(), keys })
    }

    /// Lets a configuration hold that was checked. Certificates come first: they alone can still be refused.
    fn take(&mut self, checked: Checked) -> Result<(), Trouble> {
        #[cfg(feature = "tls")]
        if let (Some(tls), Some(files)) = (self.server.tls(), crate::listening::files(&checked.settings)) {
            tls.replace(files).map_err(|error| crate::listening::unusable(&error))?;
        }
        let Checked { settings, parts, reading, faces } = checked;
        parts.take(reading);
        self.server.replace(faces);
        self.log.set(self.setup.level.or(settings.level).unwrap_or(Level::Info));
        self.settings = settings;
        self.parts = parts;
        Ok(())
    }
}
