//! The documents of a service, made when first asked for.

use std::sync::OnceLock;

use bytes::Bytes;
use redress_contract::{Caller, Contract};
use redress_wire::{http, openrpc};

use crate::service::Shared;

/// The documents as a caller sees them who may call everything. Others get theirs made anew:
/// there may be as many of them as there are sets of scopes.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    openapi: OnceLock<Bytes>,
    openrpc: OnceLock<Bytes>,
    contract: OnceLock<Bytes>,
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
