//! The documents of a service, made when first asked for.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use parking_lot::Mutex;
use redress_contract::{Caller, Contract, Disclosure, EngineCode, Name};
use redress_core::{Refusal, Registry, offload::offload};
use redress_wire::{http, openrpc};

use serde_json::json;
use tokio::time::timeout;

use crate::request::{
    etag::TaggedDocument,
    response,
    service::{Exchange, FacesInner},
};

/// For how many sets of operations the documents are kept. Most callers of a service see one of a few sets; for one that is
/// seen by few, they are made anew once others have pushed it out.
const MAX_SETS: usize = 8;

/// How many bytes of pages about codes are kept for one set of operations; the newest is kept whatever it has.
const MAX_PAGES: usize = 8 * 1024 * 1024;

/// The documents, kept for each set of operations that a caller was shown of late.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    /// The one that was asked for last is the last.
    sets: Mutex<Vec<(DocumentKey, Arc<CachedDocument>)>>,
    /// How many bytes the largest that was made had.
    largest: AtomicUsize,
}

/// All that a document depends on: which operations its reader sees, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DocumentKey {
    /// How often operations were hidden or shown before. What was made while one was is never served afterwards.
    version: u64,
    /// Whether its reader is told what operations are made of inside.
    internals: bool,
    operations: Vec<Name>,
}

impl DocumentKey {
    fn by(registry: &Registry, caller: Option<&Caller>) -> DocumentKey {
        DocumentKey {
            // Read first: of a change in between, what is read here knows at most too early.
            version: registry.changes().version(),
            internals: Disclosure::shows_internals(caller),
            operations: registry.open_to(caller).map(|operation| operation.name().clone()).collect(),
        }
    }
}

#[derive(Debug, Default)]
struct CachedDocument {
    openapi: OnceLock<TaggedDocument>,
    openrpc: OnceLock<TaggedDocument>,
    contract: OnceLock<TaggedDocument>,
    /// The pages about codes, by the code and by whether they are for people; the one that was made last is the last.
    pages: Mutex<Vec<((String, bool), TaggedDocument)>>,
}

impl CachedDocument {
    fn page(&self, code: &str, html: bool) -> Option<TaggedDocument> {
        let pages = self.pages.lock();
        let (_, page) = pages.iter().find(|((known, kind), _)| known == code && *kind == html)?;
        Some(page.clone())
    }

    fn keep_page(&self, code: String, html: bool, page: TaggedDocument) {
        let mut pages = self.pages.lock();
        pages.push(((code, html), page));
        while pages.len() > 1 && pages.iter().map(|(_, page)| page.bytes().len()).sum::<usize>() > MAX_PAGES {
            pages.remove(0);
        }
    }

    fn of(&self, document: ServedDocument) -> &OnceLock<TaggedDocument> {
        match document {
            ServedDocument::OpenApi => &self.openapi,
            ServedDocument::OpenRpc => &self.openrpc,
            ServedDocument::Contract => &self.contract,
        }
    }
}

impl Exchange {
    /// What `make` makes for the caller, once there is room for it: it is an answer like that of a call.
    pub(crate) async fn made<F>(&self, caller: Option<&Caller>, make: impl Fn() -> F) -> Result<TaggedDocument, Refusal>
    where
        F: Future<Output = TaggedDocument>,
    {
        let (shared, account) = (&self.shared, &self.meta.account);
        let peer = self.meta.peer.map(|peer| peer.ip());
        loop {
            let expected = shared.documents.largest.load(Relaxed);
            // How large it is, is known once it is made; from then on it is charged as that.
            let account = account.as_ref().map(|account| account.message(1));
            if let Some(account) = &account {
                let room = timeout(shared.limits.write_time, account.reserve(caller, peer, expected));
                room.await.map_err(|_| no_room())?;
            }
            let made = make().await;
            let length = made.bytes().len();
            if length <= expected || account.is_none() {
                let reservation = account.and_then(|account| account.settle(length));
                return Ok(made.map(|bytes| response::held(bytes, reservation)));
            }
            // The next ones wait for as much before they are made, and so does this one.
            shared.documents.largest.fetch_max(length, Relaxed);
        }
    }
}

fn no_room() -> Refusal {
    Refusal::new(EngineCode::Overloaded)
        .with_details(&json!({"limit": "answer_bytes", "per": "connection"}))
        .with_retry_after_ms(1000)
}

/// A document about what a caller may call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServedDocument {
    OpenApi,
    OpenRpc,
    Contract,
}

impl DocumentCache {
    /// Where the documents about what is seen are kept.
    fn kept(&self, seen: DocumentKey) -> Arc<CachedDocument> {
        // No change of it can be half made, so a lock without poison will do.
        let mut sets = self.sets.lock();
        let kept = match sets.iter().position(|(known, _)| *known == seen) {
            Some(place) => sets.remove(place).1,
            None => {
                sets.retain(|(known, _)| known.version >= seen.version);
                if sets.len() >= MAX_SETS {
                    sets.remove(0);
                }
                Arc::default()
            }
        };
        sets.push((seen, Arc::clone(&kept)));
        kept
    }
}

impl FacesInner {
    /// The document for this caller. It grows with the operations, so it is made off the workers.
    pub(crate) async fn document(
        self: &Arc<FacesInner>,
        document: ServedDocument,
        caller: Option<Arc<Caller>>,
    ) -> TaggedDocument {
        let kept = self.documents.kept(DocumentKey::by(&self.registry, caller.as_deref()));
        if let Some(made) = kept.of(document).get() {
            return made.clone();
        }
        let shared = Arc::clone(self);
        offload(move || {
            let caller = caller.as_deref();
            // What is seen may have changed while this waited for its turn.
            let kept = shared.documents.kept(DocumentKey::by(&shared.registry, caller));
            let make = || shared.make(document, &shared.registry.disclosed_to(caller));
            kept.of(document).get_or_init(make).clone()
        })
        .await
    }

    /// The page about a code, or about all of them, for this caller; nothing where there is none. It is no call, so that no rate
    /// holds how often it is asked for, and so it is made once.
    pub(crate) async fn page_of(
        self: &Arc<FacesInner>,
        code: &str,
        html: bool,
        caller: Option<Arc<Caller>>,
    ) -> Option<TaggedDocument> {
        let kept = self.documents.kept(DocumentKey::by(&self.registry, caller.as_deref()));
        if let Some(page) = kept.page(code, html) {
            return Some(page);
        }
        let (shared, code) = (Arc::clone(self), code.to_owned());
        offload(move || {
            let caller = caller.as_deref();
            let kept = shared.documents.kept(DocumentKey::by(&shared.registry, caller));
            if let Some(page) = kept.page(&code, html) {
                return Some(page);
            }
            let page = super::errors::made(&shared.registry, caller, &code, html)?;
            kept.keep_page(code, html, page.clone());
            Some(page)
        })
        .await
    }

    fn make(&self, document: ServedDocument, contract: &Contract) -> TaggedDocument {
        TaggedDocument::new(match document {
            ServedDocument::OpenApi => http::openapi(contract, &self.info).to_string().into_bytes(),
            ServedDocument::OpenRpc => openrpc::openrpc(contract, &self.info).to_string().into_bytes(),
            ServedDocument::Contract => serde_json::to_vec(contract).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use redress_core::{Operation, consent_grant, contract};
    use serde_json::Value;

    use super::*;
    use crate::{Faces, connection::server_state::ServerState};

    fn operation(name: &str, scope: &str) -> Operation {
        let access = contract::Access::caller().scope(scope);
        Operation::dynamic(contract::OperationDeclaration::query(name).with_summary("One.").with_access(access))
            .with_handler(|_, _| async { Ok(Value::Null) })
    }

    fn shared() -> Arc<FacesInner> {
        let registry = Registry::builder()
            .add(operation("lab.alpha", "lab:read"))
            .add(operation("lab.beta", "lab:read"))
            .add(consent_grant())
            .build()
            .unwrap();
        Faces::new(registry).shared(&Arc::new(ServerState::default()))
    }

    fn reader(id: &str) -> Option<Arc<Caller>> {
        Some(Arc::new(Caller::new(id).scope("lab:read")))
    }

    /// The names of the operations in a contract.
    fn names(document: &TaggedDocument) -> Vec<String> {
        let document: Value = serde_json::from_slice(document.bytes()).unwrap();
        let operations = document["operations"].as_array().unwrap().iter();
        operations.map(|operation| operation["name"].as_str().unwrap().to_owned()).collect()
    }

    #[tokio::test]
    async fn a_document_is_made_once_for_all_who_see_the_same_operations() {
        let shared = shared();
        for document in [ServedDocument::OpenApi, ServedDocument::OpenRpc, ServedDocument::Contract] {
            let first = shared.document(document, reader("ada")).await;
            let again = shared.document(document, reader("bob")).await;
            assert_eq!(
                first.bytes().as_ptr(),
                again.bytes().as_ptr(),
                "{document:?} is the very same, not an equal one"
            );
            let auditor = Caller::new("eve").scope("lab:read").scope(Disclosure::INTERNALS);
            let whole = shared.document(document, Some(Arc::new(auditor))).await;
            assert_ne!(
                first.bytes().as_ptr(),
                whole.bytes().as_ptr(),
                "{document:?} says more to whoever may know more"
            );
            let nobody = shared.document(document, None).await;
            assert_ne!(first.bytes(), nobody.bytes(), "{document:?} says less to whoever sees less");
        }
    }

    #[tokio::test]
    async fn a_document_follows_what_is_hidden_and_shown() {
        let shared = shared();
        let asked = || shared.document(ServedDocument::Contract, reader("ada"));
        assert_eq!(names(&asked().await), ["lab.alpha", "lab.beta"]);
        shared.registry.changes().hide("lab.beta");
        assert_eq!(names(&asked().await), ["lab.alpha"]);
        shared.registry.changes().show("lab.beta");
        assert_eq!(names(&asked().await), ["lab.alpha", "lab.beta"]);
    }

    /// What is seen was looked at before the change, and the document made after it.
    #[tokio::test]
    async fn a_document_that_was_made_while_an_operation_was_hidden_is_not_kept_for_later() {
        let shared = shared();
        let early = DocumentKey::by(&shared.registry, reader("ada").as_deref());
        shared.registry.changes().hide("lab.beta");
        let make = || shared.make(ServedDocument::Contract, &shared.registry.disclosed_to(reader("ada").as_deref()));
        let late = shared.documents.kept(early).of(ServedDocument::Contract).get_or_init(make).clone();
        assert_eq!(names(&late), ["lab.alpha"]);
        shared.registry.changes().show("lab.beta");
        assert_eq!(names(&shared.document(ServedDocument::Contract, reader("ada")).await), ["lab.alpha", "lab.beta"]);
    }

    #[test]
    fn the_sets_have_an_end_and_the_one_that_was_used_least_of_late_goes() {
        let documents = DocumentCache::default();
        let seen = |number: usize| DocumentKey {
            version: 0,
            internals: false,
            operations: vec![Name::new(&format!("lab.n{number}")).unwrap()],
        };
        let first = documents.kept(seen(0));
        let second = documents.kept(seen(1));
        for number in 2..=MAX_SETS {
            assert!(Arc::ptr_eq(&documents.kept(seen(0)), &first));
            documents.kept(seen(number));
        }
        assert_eq!(documents.sets.lock().len(), MAX_SETS);
        assert!(Arc::ptr_eq(&documents.kept(seen(0)), &first));
        assert!(!Arc::ptr_eq(&documents.kept(seen(1)), &second));
    }
}
