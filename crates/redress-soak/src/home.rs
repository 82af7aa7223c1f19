//! The folder of one server: its configuration, its callers, its state and the effects of its calls.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tempfile::TempDir;

use crate::client::Identity;

/// The variable that tells the server where effects go.
pub(crate) const EFFECTS: &str = "SOAK_EFFECTS";

/// What differs between the servers of the scenarios. Everything else is on, as an operator would have it.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// How long a client may take for the head of a request, and for its body.
    pub(crate) request_secs: u64,
    /// How long a connection may do nothing.
    pub(crate) idle_secs: u64,
    /// How long an answer may wait for its reader.
    pub(crate) write_secs: u64,
    /// How long running calls may take once the server goes down.
    pub(crate) grace_secs: u64,
    /// How many connections there may be.
    pub(crate) connections: u64,
    /// Where the state goes, if not beside the configuration.
    pub(crate) state: Option<PathBuf>,
    /// How long idempotency keys last.
    pub(crate) keys_last: &'static str,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            request_secs: 10,
            idle_secs: 75,
            write_secs: 30,
            grace_secs: 10,
            connections: 20_000,
            state: None,
            keys_last: "24h",
        }
    }
}

pub(crate) struct Home {
    folder: TempDir,
    identities: Vec<Identity>,
}

impl Home {
    /// A folder for a server with these settings, and with this many callers.
    pub(crate) fn new(settings: &Settings, callers: usize) -> io::Result<Home> {
        let folder = tempfile::Builder::new().prefix("redress-soak-").tempdir()?;
        fs::write(folder.path().join("redress.toml"), toml(settings))?;
        let identities = (0..callers).map(|_| Identity { caller: "local".into(), token: Arc::from("") }).collect();
        Ok(Home { folder, identities })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The callers that the server knows.
    pub(crate) fn identities(&self) -> &[Identity] {
        &self.identities
    }

    pub(crate) fn effects_path(&self) -> PathBuf {
        self.path().join("effects")
    }

    /// How often each entry was added.
    pub(crate) fn effects(&self) -> io::Result<HashMap<String, usize>> {
        let mut effects = HashMap::new();
        match fs::read_to_string(self.effects_path()) {
            Ok(text) => text.lines().for_each(|entry| *effects.entry(entry.to_owned()).or_default() += 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(effects)
    }

    /// Leaves the folder where it is, for a person to look at.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

fn toml(settings: &Settings) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "[serve]\nlisten = \"127.0.0.1:0\"\nshutdown_grace = \"{}s\"", settings.grace_secs);
    let _ = writeln!(text, "[log]\nlevel = \"error\"\nformat = \"json\"");
    text
}
