//! What a configuration names: whether it is there, may be read by whom it should, and fits together.

use std::{
    net::ToSocketAddrs as _,
    path::Path,
    time::{Duration, SystemTime},
};

use redress_access::{Authenticator, TokenFile};
use redress_core::Registry;
use redress_mcp::DroppedFields;
#[cfg(feature = "state")]
use redress_state::{OpenStateError, StateStore};

#[cfg(feature = "state")]
use super::machine::writable;
use super::{DoctorCheck, machine::appendable};
use crate::{
    commands::mcp,
    config::{AccessLogSetting, AccessTable, ListenSetting, ServeSettings, WhereState, fitting},
    error::{CliError, chain, reason},
    layers,
    program::Setup,
    terminal::shell,
};

/// How long the collector has to answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Below this, a state that is written to will soon stop its server.
#[cfg(feature = "state")]
const ENOUGH_ROOM: u64 = 256 << 20;

/// Looks at everything that `settings` name; `runs` says whether a server runs by them.
pub(super) async fn checks(setup: &Setup, settings: &ServeSettings, runs: bool) -> Vec<DoctorCheck> {
    let program = setup.program.name();
    let registry = setup.registry(settings);
    let known = settings.access.is_some() || registry.as_ref().is_ok_and(|registry| registry.identity().is_some());
    let mut checks = vec![reach(settings, known)];
    if let Some(access) = &settings.access {
        checks.extend(tokens(program, access));
        checks.extend(callers(program, access).await);
    }
    checks.extend(tls(program, settings));
    checks.extend(state(settings, runs).await);
    let refused = [("limits", layers::call_limits(settings).err()), ("http", layers::networks(settings).err())];
    let trouble =
        |(check, trouble): (_, Option<CliError>)| trouble.map(|trouble| DoctorCheck::trouble(check, program, &trouble));
    checks.extend(refused.into_iter().filter_map(trouble));
    match registry {
        Ok(registry) => {
            checks.extend(limits(program, settings, &registry));
            checks.extend(trouble(("mcp", mcp::face(setup, settings, &registry, &DroppedFields::default()).err())));
        }
        Err(unmade) => checks.push(DoctorCheck::trouble("config", program, &unmade)),
    }
    checks.extend(telemetry(program, settings).await);
    checks
}

/// Whether everybody could call.
fn reach(settings: &ServeSettings, known: bool) -> DoctorCheck {
    let reachable = match &settings.listen {
        ListenSetting::Tcp(address) => address
            .to_socket_addrs()
            .is_ok_and(|mut found| found.any(|address| !address.ip().to_canonical().is_loopback())),
        ListenSetting::Unix(_) | ListenSetting::Systemd => false,
    };
    let says = match (reachable, known) {
        (true, false) => {
            let next = "set `access` in the configuration, or listen on 127.0.0.1";
            return DoctorCheck::fail("access", "other machines could call, and nothing says who may", next);
        }
        (true, true) if settings.tls.is_none() && settings.http.trusted_proxies.is_none() => {
            let next = "set `tls`, or stand behind a proxy and name it in `http.trusted_proxies`";
            return DoctorCheck::warn("access", "tokens would travel unencrypted", next);
        }
        (_, true) => "callers are known",
        (false, false) => "only this machine can call, and may do everything but give consents",
    };
    DoctorCheck::ok("access", says)
}

fn tokens(program: &str, access: &AccessTable) -> Vec<DoctorCheck> {
    let Some(path) = &access.tokens else { return Vec::new() };
    let shown = path.display().to_string();
    let make = || shell::line([program, "token", "new", "CALLER", "--file", &shown]);
    let tokens = match TokenFile::at(path).list() {
        Ok(tokens) => tokens,
        Err(error) => return vec![DoctorCheck::fail("tokens", chain(&error), make())],
    };
    let now = SystemTime::now();
    let ended = tokens.iter().filter(|token| token.expires.is_some_and(|end| end <= now)).count();
    let live = tokens.len() - ended;
    let counted = match (live, ended) {
        (0, _) if access.hashes.is_empty() && access.jwt.is_none() && access.certificates.is_none() => {
            DoctorCheck::warn("tokens", format!("{shown} holds no token, so nobody can call"), make())
        }
        (_, 0) => DoctorCheck::ok("tokens", format!("{live} in {shown}")),
        (_, _) => {
            let next = shell::line([program, "token", "list", "--file", &shown]);
            DoctorCheck::warn("tokens", format!("{live} in {shown}, and {ended} that ended"), next)
        }
    };
    [Some(counted), open_to_others("tokens", path)].into_iter().flatten().collect()
}

/// The tokens that the configuration gives by their hashes.
fn given(access: &AccessTable) -> Option<DoctorCheck> {
    let now = SystemTime::now();
    let ended = access.hashes.iter().filter(|token| token.expires.is_some_and(|end| end.0 <= now)).count();
    let live = access.hashes.len() - ended;
    match (live, ended) {
        (0, 0) => None,
        (_, 0) => Some(DoctorCheck::ok("hashes", format!("{live} in the configuration"))),
        (_, _) => {
            let says = format!("{live} in the configuration, and {ended} that ended");
            Some(DoctorCheck::warn("hashes", says, "take those that ended out of `access.hashes`"))
        }
    }
}

/// Whether keys and authorities can be read, and keys be fetched.
async fn callers(program: &str, access: &AccessTable) -> Vec<DoctorCheck> {
    if access.hashes.is_empty() && access.jwt.is_none() && access.certificates.is_none() {
        return Vec::new();
    }
    let options = layers::access_options(&AccessTable { tokens: None, ..access.clone() });
    let explain = || shell::line([program, "explain", "ACCESS_UNUSABLE"]);
    let opened = match Authenticator::open(options) {
        Ok(access) => access,
        Err(error) => return vec![DoctorCheck::fail("callers", chain(&error), explain())],
    };
    let mut checks = Vec::new();
    checks.extend(given(access));
    if access.jwt.is_some() {
        checks.push(match opened.fetch().await {
            Ok(()) => DoctorCheck::ok("keys", "the keys of the issuer are there"),
            Err(error) => DoctorCheck::fail("keys", chain(&error), "check the URL and the network, then try again"),
        });
    }
    let secret = access.jwt.as_ref().and_then(|jwt| jwt.secret_file.as_ref());
    checks.extend(secret.and_then(|path| open_to_others("keys", path)));
    checks
}

#[cfg(feature = "tls")]
fn tls(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    let Some(tls) = &settings.tls else { return Vec::new() };
    if let Err(trouble) = crate::listening::tls(settings) {
        return vec![DoctorCheck::trouble("tls", program, &trouble)];
    }
    let bytes = redress_disk::read(&tls.certificate, 4 << 20).unwrap_or_default();
    let first = CertificateDer::pem_slice_iter(&bytes).next().and_then(Result::ok);
    let held = first.map(|certificate| super::certificate::held("tls", &certificate, SystemTime::now()));
    [held, open_to_others("tls", &tls.key)].into_iter().flatten().collect()
}

#[cfg(not(feature = "tls"))]
fn tls(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    let unusable = crate::listening::tls(settings).err();
    unusable.iter().map(|trouble| DoctorCheck::trouble("tls", program, trouble)).collect()
}

/// Whether the state can be kept, and for how long there is room.
async fn state(settings: &ServeSettings, runs: bool) -> Vec<DoctorCheck> {
    match &settings.state {
        WhereState::Memory if settings.document.is_none() => {
            vec![DoctorCheck::ok("state", "in memory; it ends with the process")]
        }
        WhereState::Memory => {
            let next = if cfg!(feature = "state") {
                "set `state.folder` to keep it"
            } else {
                "build the program with the feature `state`, and set `state.folder` to keep it"
            };
            vec![DoctorCheck::warn("state", "consents, keys and the audit end with the process", next)]
        }
        WhereState::Folder(table) => state_folder(&table.folder.clone().unwrap_or_default(), runs).await,
    }
}

/// Settings that name a folder were refused by a build that keeps nothing.
#[cfg(not(feature = "state"))]
async fn state_folder(_: &Path, _: bool) -> Vec<DoctorCheck> {
    Vec::new()
}

#[cfg(feature = "state")]
async fn state_folder(folder: &Path, runs: bool) -> Vec<DoctorCheck> {
    let shown = folder.display();
    // One that is not there yet is made at the start, in the nearest folder that is.
    let there: std::path::PathBuf =
        folder.ancestors().find(|folder| folder.is_dir()).map_or_else(|| ".".into(), Into::into);
    if let Err(cause) = writable(&there) {
        let next = "give the folder to the user of the server, or name another in `state.folder`";
        return vec![DoctorCheck::fail("state", format!("{shown} cannot be written: {}", reason(&cause)), next)];
    }
    match StateStore::look(folder).await {
        Ok(()) => {}
        Err(error @ OpenStateError::Lost) => {
            let next = "put the file back that was there, or restart the service; a back-up goes in between";
            return vec![DoctorCheck::fail("state", format!("{shown}: {error}"), next)];
        }
        Err(OpenStateError::Taken) if runs => {}
        Err(OpenStateError::Taken) => {
            let next = "stop it first, or give this one a folder of its own in `state.folder`";
            return vec![DoctorCheck::warn("state", format!("{shown} is in use by another process"), next)];
        }
        Err(error) => {
            let next = "put a back-up in its place, or name another in `state.folder`";
            return vec![DoctorCheck::fail("state", format!("{shown}: {}", chain(&error)), next)];
        }
    }
    let room = match room(&there) {
        Some(bytes) if bytes < ENOUGH_ROOM => {
            DoctorCheck::warn("state", format!("{shown} has {} MB left", bytes / 1_000_000), "make room on the disk")
        }
        Some(_) | None => DoctorCheck::ok("state", format!("{shown} can be written")),
    };
    let private = folder.is_dir().then(|| open_to_others("state", folder)).flatten();
    [Some(room), private].into_iter().flatten().collect()
}

#[cfg(all(unix, feature = "state"))]
fn room(folder: &Path) -> Option<u64> {
    let volume = rustix::fs::statvfs(folder).ok()?;
    volume.f_bavail.checked_mul(volume.f_frsize)
}

#[cfg(all(not(unix), feature = "state"))]
fn room(_: &Path) -> Option<u64> {
    None
}

/// Whether every rule limits something that there is.
fn limits(program: &str, settings: &ServeSettings, registry: &Registry) -> Option<DoctorCheck> {
    let stray = fitting(settings, registry).err()?;
    Some(DoctorCheck::fail("limits", stray.to_string(), shell::line([program, "ops"])))
}

/// Whether what is seen can be told.
async fn telemetry(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    if let (Some(url), Some(shown)) = (&settings.telemetry.otlp, settings.telemetry.collector()) {
        checks.push(collector(url, &shown).await);
    }
    if let Some(path) = &settings.telemetry.headers_file {
        let unread = layers::headers(path).err();
        checks.extend(unread.map(|trouble| DoctorCheck::trouble("telemetry", program, &trouble)));
        checks.extend(open_to_others("telemetry", path));
    }
    if let Some(AccessLogSetting::File(path)) = &settings.telemetry.access_log {
        checks.push(match appendable(path) {
            Ok(()) => DoctorCheck::ok("telemetry", format!("the access log goes to {}", path.display())),
            Err(cause) => {
                let says = format!("{} cannot be written: {}", path.display(), reason(&cause));
                DoctorCheck::fail(
                    "telemetry",
                    says,
                    "make its folder, give it to the user of the server, or correct `telemetry.access_log`",
                )
            }
        });
    }
    checks
}

/// Any answer shows that somebody is there: what a collector says to a question that is none differs.
async fn collector(url: &str, shown: &str) -> DoctorCheck {
    let asked = async { crate::tls::client(url, None, None).ok()?.get(url).send().await.ok() };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Some(_)) => DoctorCheck::ok("telemetry", format!("the collector at {shown} answers")),
        Ok(None) | Err(_) => DoctorCheck::warn(
            "telemetry",
            format!("no collector answers at {shown}"),
            "start it, or correct `telemetry.otlp`",
        ),
    }
}

/// A warning for a file or folder that others than its owner may open.
#[cfg(unix)]
fn open_to_others(check: &'static str, path: &Path) -> Option<DoctorCheck> {
    use std::os::unix::fs::PermissionsExt as _;
    let about = std::fs::metadata(path).ok()?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return None;
    }
    let shown = path.display().to_string();
    let private = if about.is_dir() { "700" } else { "600" };
    let says = format!("others on this machine may open {shown} (mode {mode:o})");
    Some(DoctorCheck::warn(check, says, shell::line(["chmod", private, &shown])))
}

#[cfg(not(unix))]
fn open_to_others(_: &'static str, _: &Path) -> Option<DoctorCheck> {
    None
}
