//! Keeping what says who may call out of the folder that is served: whoever may read and change files there would
//! read and change that too.
//!
//! Why so: docs/decisions/0030-what-says-who-may-call-is-not-served.md.

use std::path::{Path, PathBuf};

use crate::{
    config::{AccessLogSetting, AccessTable, ServeSettings, WhereState},
    error::CliError,
};

/// Refuses a folder that holds tokens, keys, the configuration, the state or the access log, where others than `local` may
/// call, or where files can be changed.
pub(crate) fn check(settings: &ServeSettings) -> Result<(), CliError> {
    let (mut access, must_not) = match (&settings.access, settings.write) {
        (Some(access), _) => (access.clone(), MustNot::Read),
        // Who is `local` may be the agent of a person, and could make itself a token by which it consents for that person.
        (None, true) => (AccessTable::default(), MustNot::Change),
        // To read is what a program of the same user can do anyway.
        (None, false) => return Ok(()),
    };
    let Ok(root) = settings.root.canonicalize() else { return Ok(()) };
    let tls = settings.tls.iter().flat_map(|tls| [tls.key.clone(), tls.certificate.clone()]);
    let state = match &settings.state {
        WhereState::Memory => None,
        WhereState::Folder(table) => table.folder.clone(),
    };
    let configuration = settings.document.as_ref().map(|document| document.path.clone());
    let log = settings.telemetry.access_log.iter().filter_map(|log| match log {
        AccessLogSetting::File(path) => Some(path.clone()),
        AccessLogSetting::Stderr => None,
    });
    let told = log.chain(settings.telemetry.headers_file.clone());
    let access = access.paths().map(|path| path.clone());
    let secrets = settings.upstreams.iter().flat_map(|upstream| upstream.private()).cloned();
    // Whoever may change files would choose where requests are sent to, with the operator's credentials (SSRF).
    let decisive = settings.upstreams.iter().filter(|_| settings.write).flat_map(|upstream| upstream.decisive());
    let decisive = decisive.map(Path::to_owned);
    let private = configuration.into_iter().chain(access).chain(tls).chain(state).chain(told).chain(secrets);
    let private = private.chain(decisive);
    // All of them at once, or whoever moves one out of the folder is told of the next.
    let mut held: Vec<String> = Vec::new();
    for path in private.filter(|path| is_inside(path, &root)) {
        let path = path.display().to_string();
        if !held.contains(&path) {
            held.push(path);
        }
    }
    if held.is_empty() {
        return Ok(());
    }
    Err(CliError::RootNotApart {
        place: settings.document.as_ref().map(|document| document.place("serve.root")),
        root: settings.root.display().to_string(),
        held,
        must_not,
    })
}

/// What callers must not do with what the folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MustNot {
    /// Others than `local` call, and would read it.
    Read,
    /// Only `local` calls, and could change it.
    Change,
}

impl MustNot {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            MustNot::Read => "read",
            MustNot::Change => "change",
        }
    }
}

/// Refuses an access log that is one of the files that are read: each line of it would spoil them.
pub(crate) fn log(settings: &ServeSettings) -> Result<(), CliError> {
    let Some(AccessLogSetting::File(log)) = &settings.telemetry.access_log else { return Ok(()) };
    let mut access = settings.access.clone().unwrap_or_default();
    let read = access.paths().map(|path| path.clone());
    let tls = settings.tls.iter().flat_map(|tls| [tls.key.clone(), tls.certificate.clone()]);
    let configuration = settings.document.as_ref().map(|document| document.path.clone());
    let mut files = read.chain(tls).chain(configuration).chain(settings.telemetry.headers_file.clone());
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let same = |path: &PathBuf| redress_disk::is_same_file(path, log) || absolute(path) == absolute(log);
    let folder = settings.state.table().and_then(|table| table.folder.as_deref());
    let in_state = folder.is_some_and(|folder| {
        let around = log.parent().and_then(|around| around.canonicalize().ok());
        absolute(log).starts_with(absolute(folder))
            || around.zip(folder.canonicalize().ok()).is_some_and(|(log, state)| log.starts_with(state))
    });
    let other = match files.find(same) {
        Some(file) => format!("is the file {}, which is read", file.display()),
        None if in_state => "is in the folder of the state, which is the state's alone".to_owned(),
        None => return Ok(()),
    };
    Err(settings.wrong("telemetry.access_log", format!("`telemetry.access_log` {other}: name a file of its own")))
}

/// Whether `path`, or the nearest folder of it that is there, lies in `root`; or whether a name on the way to it does.
/// Such a name may be a link that leads out of the folder, and whoever may change files there can lead it elsewhere.
fn is_inside(path: &Path, root: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return true };
    let leads = path.ancestors().find_map(|path| path.canonicalize().ok()).is_some_and(|found| found.starts_with(root));
    let named = path.ancestors().any(|path| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.zip(path.file_name()).is_some_and(|(folder, name)| folder.join(name).starts_with(root))
    });
    leads || named
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn a_name_in_the_folder_is_inside_wherever_it_leads() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("served")).unwrap();
        fs::create_dir_all(at("kept")).unwrap();
        fs::write(at("kept/tokens.json"), "").unwrap();
        fs::write(at("served/plain.json"), "").unwrap();
        symlink(at("kept/tokens.json"), at("served/link.json")).unwrap();
        symlink(at("kept"), at("served/folder")).unwrap();
        symlink(at("served"), at("outside")).unwrap();
        let root = at("served").canonicalize().unwrap();
        for name in [
            "served/plain.json",
            "served/link.json",
            "served/folder/tokens.json",
            "served/none/yet.json",
            "outside/plain.json",
        ] {
            assert!(is_inside(&at(name), &root), "{name}");
        }
        for name in ["kept/tokens.json", "kept/none.json", "served.json", "none/yet.json"] {
            assert!(!is_inside(&at(name), &root), "{name}");
        }
    }
}
