//! The folder of one server: its configuration, its callers, its state and the effects of its calls.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use redress_access::{NewToken, TokenFile};
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
    /// Whether connections from this machine are those of a proxy, so that one address may have as many as there are.
    pub(crate) behind_proxy: bool,
    /// What one caller may ask for: `rate`, `burst`, `in_flight`, `streams`, `sockets`.
    pub(crate) limits: [u32; 5],
    /// How many MiB answers may hold: in all, of one caller and of one connection.
    pub(crate) answers_mib: [u32; 3],
    /// How often a month each caller may have `soak.counted`.
    pub(crate) quota: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            request_secs: 10,
            idle_secs: 75,
            write_secs: 30,
            grace_secs: 10,
            behind_proxy: false,
            limits: [20_000, 20_000, 512, 256, 256],
            answers_mib: [256, 64, 8],
            quota: None,
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
        let mut home = Home { folder, identities: Vec::new() };
        for number in 0..callers {
            let identity = home.identity(&format!("caller-{number}"), None)?;
            home.identities.push(identity);
        }
        Ok(home)
    }

    /// A caller with a token of its own, which may end.
    pub(crate) fn identity(&self, caller: &str, expires: Option<SystemTime>) -> io::Result<Identity> {
        let mut new = NewToken::new(caller).scopes(["soak", "consent:grant"]);
        if let Some(expires) = expires {
            new = new.expires(expires);
        }
        let (token, _) = TokenFile::at(self.path().join("tokens.json")).create(new).map_err(io::Error::other)?;
        Ok(Identity { caller: caller.into(), token: Arc::from(token.expose()) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The callers that the server knows.
    pub(crate) fn identities(&self) -> &[Identity] {
        &self.identities
    }

    /// The folder of the state.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
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
    let Settings { request_secs, idle_secs, write_secs, grace_secs, behind_proxy, limits, answers_mib, quota } =
        settings;
    let proxies = if *behind_proxy { "trusted_proxies = [\"127.0.0.1/32\"]\n" } else { "" };
    let counted = |quota| format!("rules = [{{ operations = [\"soak.counted\"], quota = \"{quota}/month\" }}]\n");
    let rules = quota.map(counted).unwrap_or_default();
    let [rate, burst, in_flight, streams, sockets] = limits;
    let [all, caller, connection] = answers_mib;
    format!(
        r#"[serve]
listen = "127.0.0.1:0"
shutdown_grace = "{grace_secs}s"

[access]
tokens = "tokens.json"

[state]
folder = "state"

[audit]
enabled = true

[limits]
rate = "{rate}/s"
burst = {burst}
in_flight = {in_flight}
streams = {streams}
sockets = {sockets}
connections = 12000
shed = true
answer_bytes = "{all}MiB"
answer_bytes_per_caller = "{caller}MiB"
answer_bytes_per_connection = "{connection}MiB"
{rules}
[http]
header_time = "{request_secs}s"
body_time = "{request_secs}s"
idle_time = "{idle_secs}s"
write_time = "{write_secs}s"
{proxies}
[mcp]
subscriptions = true
subscription_time = "30s"

[telemetry]
metrics = true

[log]
level = "error"
format = "json"
"#
    )
}
