//! Keeping what says who may call out of the folder that is served: whoever may read and change files there would
//! read and change that too.

use std::path::{Path, PathBuf};

use crate::{
    config::{Settings, WhereState},
    trouble::Trouble,
};

/// Refuses a folder that holds tokens, keys or the state, where others than `local` may call.
pub(crate) fn check(settings: &Settings) -> Result<(), Trouble> {
    // Who is `local` has this machine anyway.
    let Some(access) = &settings.access else { return Ok(()) };
    let Ok(root) = settings.root.canonicalize() else { return Ok(()) };
    let mut access = access.clone();
    let tls = settings.tls.iter().flat_map(|tls| [tls.key.clone(), tls.certificate.clone()]);
    let state = match &settings.state {
        WhereState::Memory => None,
        WhereState::Folder(table) => table.folder.clone(),
    };
    let configuration = settings.document.as_ref().map(|document| document.path.clone());
    let mut private = access.paths().map(|path| path.clone()).chain(tls).chain(state).chain(configuration);
    match private.find(|path| is_inside(path, &root)) {
        None => Ok(()),
        Some(path) => Err(settings.wrong(
            "serve.root",
            format!("the folder {} holds {}, which callers must not read", settings.root.display(), path.display()),
        )),
    }
}

/// Whether `path`, or the nearest folder of it that is there, lies in `root`.
fn is_inside(path: &Path, root: &Path) -> bool {
    let here = PathBuf::from(".");
    let mut there = path.ancestors().map(|path| if path.as_os_str().is_empty() { here.as_path() } else { path });
    there.find_map(|path| path.canonicalize().ok()).is_some_and(|found| found.starts_with(root))
}
