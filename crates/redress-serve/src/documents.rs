//! The documents of a service, made when first asked for.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use bytes::Bytes;
use redress_contract::{Caller, Contract, EngineCode};
use redress_core::Refusal;
use redress_wire::{http, openrpc};

use serde_json::json;
use tokio::time::timeout;

use crate::{
    answer,
    service::{Exchange, Shared},
};

/// The documents as a caller sees them who may call everything. Others get theirs made anew:
/// there may be as many of them as there are sets of scopes.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    openapi: OnceLock<Bytes>,
    openrpc: OnceLock<Bytes>,
    contract: OnceLock<Bytes>,
    /// How many bytes the largest that was made had.
    largest: AtomicUsize,
}

impl Exchange {
    /// What `make` makes for the caller, once there is room for it: it is an answer like that of a call.
    pub(crate) async fn made(&self, caller: Option<&Caller>, make: impl Fn() -> Bytes) -> Result<Bytes, Refusal> {
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
            let made = make();
            if made.len() <= expected || account.is_none() {
                return Ok(answer::held(made, reservation));
            }
            // The next ones wait for as much before they are made, and so does this one.
            shared.documents.largest.fetch_max(made.len(), Relaxed);
        }
    }
}

fn no_room() -> Refusal {
    Refusal::new(EngineCode::Overloaded)
        .with_details(&json!({"limit": "answer_bytes", "per": "connection"}))
        .with_retry_after_ms(1000)
}

impl Shared {
    pub(crate) fn openapi(&self, caller: Option<&Caller>) -> Bytes {
        self.document(caller, &self.documents.openapi, |contract| {
            Bytes::from(http::openapi(contract, &self.info).to_string())
        })
    }

    pub(crate) fn openrpc(&self, caller: Option<&Caller>) -> Bytes {
        self.document(caller, &self.documents.openrpc, |contract| {
            Bytes::from(openrpc::openrpc(contract, &self.info).to_string())
        })
    }

    pub(crate) fn contract(&self, caller: Option<&Caller>) -> Bytes {
        self.document(caller, &self.documents.contract, |contract| {
            Bytes::from(serde_json::to_vec(contract).unwrap_or_default())
        })
    }

    fn document(&self, caller: Option<&Caller>, kept: &OnceLock<Bytes>, make: impl Fn(&Contract) -> Bytes) -> Bytes {
        let external = self.registry.contract().operations().iter().filter(|operation| operation.is_external());
        let open = || Contract::new(self.registry.open_to(caller).cloned());
        if self.registry.open_to(caller).count() == external.count() {
            kept.get_or_init(|| make(&open())).clone()
        } else {
            make(&open())
        }
    }
}
