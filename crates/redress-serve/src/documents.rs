//! The documents of a service, made when first asked for.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use redress_contract::{Caller, Contract, Disclosure, EngineCode};
use redress_core::{Refusal, offload::offload};
use redress_wire::{http, openrpc};

use serde_json::json;
use tokio::time::timeout;

use crate::{
    answer,
    etag::Tagged,
    service::{Exchange, Shared},
};

/// The documents as callers see them who may call everything. Others get theirs made anew:
/// there may be as many of them as there are sets of scopes.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// For callers who are told what operations are made of inside.
    whole: Kept,
    /// For all others.
    disclosed: Kept,
    /// How many bytes the largest that was made had.
    largest: AtomicUsize,
}

#[derive(Debug, Default)]
struct Kept {
    openapi: OnceLock<Tagged>,
    openrpc: OnceLock<Tagged>,
    contract: OnceLock<Tagged>,
}

impl Exchange {
    /// What `make` makes for the caller, once there is room for it: it is an answer like that of a call.
    pub(crate) async fn made<F>(&self, caller: Option<&Caller>, make: impl Fn() -> F) -> Result<Tagged, Refusal>
    where
        F: Future<Output = Tagged>,
    {
        let (shared, account) = (&self.shared, &self.asking.account);
        let peer = self.asking.peer.map(|peer| peer.ip());
        loop {
            let expected = shared.documents.largest.load(Relaxed);
            let reservation = match account {
                None => None,
                Some(account) => timeout(shared.limits.write_time, account.reserve(caller, peer, expected))
                    .await
                    .map_err(|_| no_room())?,
            };
            let made = make().await;
            let length = made.bytes().len();
            if length <= expected || account.is_none() {
                return Ok(made.map(|bytes| answer::held(bytes, reservation)));
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
pub(crate) enum Document {
    OpenApi,
    OpenRpc,
    Contract,
}

impl Documents {
    fn kept(&self, document: Document, caller: Option<&Caller>) -> &OnceLock<Tagged> {
        let kept = if Disclosure::shows_internals(caller) { &self.whole } else { &self.disclosed };
        match document {
            Document::OpenApi => &kept.openapi,
            Document::OpenRpc => &kept.openrpc,
            Document::Contract => &kept.contract,
        }
    }
}

impl Shared {
    /// The document for this caller. It grows with the operations, so it is made off the workers.
    pub(crate) async fn document(self: &Arc<Shared>, document: Document, caller: Option<Arc<Caller>>) -> Tagged {
        let external = self.registry.contract().operations().iter().filter(|operation| operation.is_external());
        let sees_all = self.registry.open_to(caller.as_deref()).count() == external.count();
        if let (true, Some(kept)) = (sees_all, self.documents.kept(document, caller.as_deref()).get()) {
            return kept.clone();
        }
        let shared = Arc::clone(self);
        let made = offload(move || {
            let caller = caller.as_deref();
            let make = || shared.make(document, &shared.registry.disclosed_to(caller));
            if sees_all { shared.documents.kept(document, caller).get_or_init(make).clone() } else { make() }
        });
        made.await
    }

    fn make(&self, document: Document, contract: &Contract) -> Tagged {
        Tagged::new(match document {
            Document::OpenApi => http::openapi(contract, &self.info).to_string().into_bytes(),
            Document::OpenRpc => openrpc::openrpc(contract, &self.info).to_string().into_bytes(),
            Document::Contract => serde_json::to_vec(contract).unwrap_or_default(),
        })
    }
}
