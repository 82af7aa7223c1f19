//! Where documents come from: files, and addresses that the configuration names. Of the latter the last good one is kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use redress_import::{Import, Overlay, ReadError, ReadOptions, openapi};
use redress_upstream::{DocumentFetch, DocumentTag};

use crate::{
    config::is_address,
    error::{CliError, chain},
};

/// The most bytes of a document, and of a file beside it.
const MAX_SIZE: u64 = 64 << 20;
/// The most files beside a document.
const MAX_FILES: usize = 1_000;

/// A document as it was read.
#[derive(Clone, Debug)]
pub(crate) struct SourceDocument {
    pub(super) bytes: Vec<u8>,
    files: BTreeMap<String, Vec<u8>>,
    /// What changes it before it is read, by the files that say so.
    overlays: Vec<(PathBuf, Vec<u8>)>,
    /// By what the server of the document knows it; nothing of a file, and of one that was kept.
    pub(super) tag: DocumentTag,
    /// Whether it was got now, and not in an earlier run.
    pub(super) is_fresh: bool,
    /// What the files were like when they were read.
    pub(super) stamps: FileStampList,
}

/// When each file was written, and how long it is.
pub(super) type FileStampList = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

impl SourceDocument {
    /// The same with overlays, which are read again with it.
    pub(super) fn with_overlays(mut self, paths: &[PathBuf]) -> Result<SourceDocument, CliError> {
        for path in paths {
            self.stamps.push(stamp(path));
            let read = redress_disk::read(path, MAX_SIZE);
            let bytes = read.map_err(|cause| CliError::FileUnreadable { path: path.display().to_string(), cause })?;
            self.overlays.push((path.clone(), bytes));
        }
        Ok(self)
    }

    /// The document at `path`, which is a file or an address.
    pub(crate) fn read(path: &Path) -> Result<SourceDocument, CliError> {
        let shown = path.display().to_string();
        if is_address(path) {
            return fetched(&shown)?.map_err(|says| CliError::DocumentUnreadable { path: shown, says });
        }
        // Before it is read: what is written meanwhile is seen at the next look.
        let mut stamps = vec![stamp(path)];
        let bytes = redress_disk::read(path, MAX_SIZE)
            .map_err(|cause| CliError::FileUnreadable { path: shown.clone(), cause })?;
        let files = beside(path, &bytes, &mut stamps)
            .map_err(|error| CliError::DocumentUnreadable { path: shown, says: chain(&error) })?;
        Ok(SourceDocument { bytes, files, overlays: Vec::new(), tag: DocumentTag::default(), is_fresh: true, stamps })
    }

    /// One that was got from an address.
    pub(super) fn got(bytes: Vec<u8>, tag: DocumentTag) -> SourceDocument {
        SourceDocument { bytes, files: BTreeMap::new(), overlays: Vec::new(), tag, is_fresh: true, stamps: Vec::new() }
    }

    /// What it says, with `name` before the names of its operations.
    pub(crate) fn import(&self, path: &Path, name: &str) -> Result<Import, CliError> {
        let mut overlays = Vec::new();
        for (file, bytes) in &self.overlays {
            overlays.push(Overlay::parse(bytes).map_err(|error| CliError::DocumentUnreadable {
                path: file.display().to_string(),
                says: chain(&error),
            })?);
        }
        let files = self.files.clone();
        let options = ReadOptions { prefix: Some(name.to_owned()), files, overlays, ..ReadOptions::default() };
        openapi::read(&self.bytes, &options)
            .map_err(|error| CliError::DocumentUnreadable { path: path.display().to_string(), says: chain(&error) })
    }

    /// What tells two documents apart.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.bytes, &self.files, &self.overlays).hash(&mut hasher);
        hasher.finish()
    }
}

/// What the file is like now.
pub(super) fn stamp(path: &Path) -> (PathBuf, Option<(SystemTime, u64)>) {
    let seen = fs::metadata(path).ok().and_then(|found| Some((found.modified().ok()?, found.len())));
    (path.to_owned(), seen)
}

/// The document at an address, or why there is none.
fn fetched(url: &str) -> Result<Result<SourceDocument, String>, CliError> {
    let fetch = fetch(url).map_err(|says| CliError::DocumentUnreadable { path: url.to_owned(), says })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::RuntimeUnavailable)?;
    // On a thread of its own, since this may be inside of a runtime, where nothing can be waited for.
    let got =
        std::thread::scope(|scope| scope.spawn(move || runtime.block_on(fetch.get(&DocumentTag::default()))).join());
    Ok(match got {
        Ok(Ok(Some((bytes, tag)))) => Ok(SourceDocument::got(bytes, tag)),
        Ok(Ok(None)) => Err("it answers 304".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("it could not be asked for".to_owned()),
    })
}

/// What gets the document at an address.
pub(super) fn fetch(url: &str) -> Result<DocumentFetch, String> {
    let max = usize::try_from(MAX_SIZE).unwrap_or(usize::MAX);
    DocumentFetch::new(url, max).map_err(|error| error.to_string())
}

/// The folder of the documents that were got, and were good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptDocuments(pub(super) Option<PathBuf>);

impl KeptDocuments {
    fn place(&self, name: &str, url: &str) -> Option<PathBuf> {
        let mut hasher = DefaultHasher::new();
        url.hash(&mut hasher);
        Some(self.0.as_ref()?.join(format!("{name}-{:016x}", hasher.finish())))
    }

    /// The last good one.
    pub(super) fn read(&self, name: &str, url: &str) -> Option<SourceDocument> {
        let bytes = redress_disk::read(self.place(name, url)?, MAX_SIZE).ok()?;
        Some(SourceDocument { is_fresh: false, ..SourceDocument::got(bytes, DocumentTag::default()) })
    }

    /// Keeps one that is good, whole or not at all.
    pub(super) fn keep(&self, name: &str, url: &str, document: &SourceDocument) {
        let Some(place) = self.place(name, url) else { return };
        let write = || -> io::Result<()> {
            fs::create_dir_all(place.parent().unwrap_or(Path::new("")))?;
            let new = place.with_extension("new");
            fs::write(&new, &document.bytes)?;
            fs::rename(new, &place)
        };
        if let Err(error) = write() {
            tracing::warn!(upstream = name, %error, "the document cannot be kept for a start without its server");
        }
    }
}

/// Whether what is at `path`, links followed, lies in `folder`: a document that somebody else wrote may have come with links.
fn leads_inside(folder: &Path, path: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match (folder.canonicalize(), path.canonicalize()) {
        (Ok(folder), Ok(path)) => path.starts_with(folder),
        // What is not there leads nowhere, and is looked for again when it comes.
        (_, Err(error)) if error.kind() == std::io::ErrorKind::NotFound => true,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// The files that a document refers to, as far as they are in its folder. What is elsewhere or is not there is left out,
/// and the import tells which references lead nowhere.
fn beside(path: &Path, document: &[u8], stamps: &mut FileStampList) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let (mut files, mut left_out) = (BTreeMap::new(), BTreeSet::new());
    loop {
        let wanted = openapi::needs(document, &files)?;
        let wanted: Vec<String> = wanted.into_iter().filter(|name| !left_out.contains(name)).collect();
        if wanted.is_empty() {
            return Ok(files);
        }
        for name in wanted {
            let is_inside =
                Path::new(&name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            let is_near = is_inside
                && !name.contains("://")
                && files.len() < MAX_FILES
                && leads_inside(folder, &folder.join(&name));
            if is_near {
                stamps.push(stamp(&folder.join(&name)));
            }
            match is_near.then(|| redress_disk::read(folder.join(&name), MAX_SIZE).ok()).flatten() {
                Some(bytes) => drop(files.insert(name, bytes)),
                None => drop(left_out.insert(name)),
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_reference_through_a_link_that_leads_out_is_not_read() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("out.json"), r#"{"S": {"type": "string"}}"#).unwrap();
        fs::write(folder.path().join("in.json"), r#"{"S": {"type": "string"}}"#).unwrap();
        std::os::unix::fs::symlink(outside.path().join("out.json"), folder.path().join("link.json")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("sub")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("in.json"), folder.path().join("own.json")).unwrap();
        let refers = |name: &str| serde_json::json!({"schema": {"$ref": format!("{name}#/S")}});
        let names = ["in.json", "own.json", "link.json", "sub/out.json", "../out.json", "gone.json"];
        let content: serde_json::Map<_, _> =
            names.iter().map(|name| (format!("application/{}", name.replace(['/', '.'], "-")), refers(name))).collect();
        let document = serde_json::json!({
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "paths": {"/a": {"get": {"responses": {"200": {"description": "x", "content": content}}}}},
        });
        let read = beside(&folder.path().join("api.json"), document.to_string().as_bytes(), &mut Vec::new()).unwrap();
        assert_eq!(read.keys().map(String::as_str).collect::<Vec<_>>(), ["in.json", "own.json"]);
    }
}
