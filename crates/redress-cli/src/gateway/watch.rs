//! Which documents have changed: files by when they were written, and addresses by asking again.

use std::time::Duration;

use redress_upstream::{DocumentFetch, DocumentTag, DocumentUnreachable};
use tokio::{task::JoinHandle, time::Instant};

use super::{
    Gateway, SourceDocument,
    source::{self, FileStampList},
};
use crate::debounce::Debounce;

/// How often a document at an address is asked for again.
const EVERY: Duration = Duration::from_secs(60);
/// The same while it could not be got.
const AGAIN: Duration = Duration::from_secs(2);

/// Documents to be read again, by the places of their services: what was got, or nothing for a file.
#[derive(Debug, Default)]
pub(crate) struct ChangedDocuments(pub(super) Vec<(usize, Option<SourceDocument>)>);

/// Looks for documents that have changed.
#[derive(Default)]
pub(crate) struct DocumentWatch {
    files: Vec<WatchedDocument>,
    addresses: Vec<WatchedAddress>,
}

struct WatchedDocument {
    place: usize,
    stamps: FileStampList,
    looks: Debounce,
}

/// A document that has changed, with what tells it from the next; nothing where it is the same.
type Fetched = Result<Option<(Vec<u8>, DocumentTag)>, DocumentUnreachable>;

struct WatchedAddress {
    place: usize,
    upstream: String,
    fetch: DocumentFetch,
    tag: DocumentTag,
    due: Instant,
    running: Option<JoinHandle<Fetched>>,
    /// Whether it could be got the last time, so that each change is told once.
    is_there: bool,
}

impl DocumentWatch {
    /// Looks at the documents of `gateway`.
    pub(crate) fn of(gateway: &Gateway) -> DocumentWatch {
        let mut watch = DocumentWatch::default();
        for (place, one) in gateway.served.iter().enumerate() {
            if let Some(url) = one.table.document_url() {
                let Ok(fetch) = source::fetch(url) else { continue };
                let tag = one.document.as_ref().map(|document| document.tag.clone()).unwrap_or_default();
                let is_there = one.document.as_ref().is_some_and(|document| document.is_fresh);
                let due = Instant::now() + if is_there { EVERY } else { AGAIN };
                let upstream = one.table.name.clone();
                watch.addresses.push(WatchedAddress { place, upstream, fetch, tag, due, running: None, is_there });
            } else if let Some(document) = &one.document {
                let stamps = document.stamps.clone();
                let looks = Debounce::new(Some(seen(&stamps)));
                watch.files.push(WatchedDocument { place, stamps, looks });
            }
        }
        watch
    }

    /// What has changed since the last look. `now` asks for all of it at once.
    pub(crate) async fn look(&mut self, now: bool) -> ChangedDocuments {
        let mut changed = ChangedDocuments::default();
        for file in &mut self.files {
            let stamps: FileStampList = file.stamps.iter().map(|(path, _)| source::stamp(path)).collect();
            if file.looks.take(Some(&seen(&stamps)), now) {
                changed.0.push((file.place, None));
            }
        }
        for address in &mut self.addresses {
            if let Some((bytes, tag)) = address.look(now).await {
                changed.0.push((address.place, Some(SourceDocument::got(bytes, tag))));
            }
        }
        changed
    }
}

/// What was seen of files, to be compared.
fn seen(stamps: &FileStampList) -> Vec<u8> {
    format!("{stamps:?}").into_bytes()
}

impl WatchedAddress {
    /// The document, where another was got since the last look.
    async fn look(&mut self, now: bool) -> Option<(Vec<u8>, DocumentTag)> {
        if self.running.is_none() && (now || self.due <= Instant::now()) {
            let (fetch, tag) = (self.fetch.clone(), self.tag.clone());
            self.running = Some(tokio::spawn(async move { fetch.get(&tag).await }));
        }
        let running = self.running.take_if(|running| running.is_finished())?;
        let got = running.await.unwrap_or(Err(DocumentUnreachable::Unreachable));
        self.due = Instant::now() + if got.is_ok() { EVERY } else { AGAIN };
        match got {
            Ok(got) => {
                if !std::mem::replace(&mut self.is_there, true) {
                    tracing::info!(upstream = self.upstream, "the document of a service can be got again");
                }
                let (bytes, tag) = got?;
                self.tag = tag.clone();
                Some((bytes, tag))
            }
            Err(error) => {
                if std::mem::replace(&mut self.is_there, false) {
                    tracing::warn!(upstream = self.upstream, %error, "the document of a service cannot be got, and the last one holds");
                }
                None
            }
        }
    }
}

impl Drop for WatchedAddress {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}
