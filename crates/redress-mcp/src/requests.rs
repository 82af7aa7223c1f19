//! The requests of one client that run, by their ids.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redress_wire::{jsonrpc::Id, mcp::read_params};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{refusal::Unfit, request_checks};

/// The requests of one client that run, by their ids as they were written. A clone is of the same client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(Arc<Mutex<HashMap<Box<str>, CancellationToken>>>);

impl Requests {
    fn running(&self) -> MutexGuard<'_, HashMap<Box<str>, CancellationToken>> {
        // No change of it can be half made, so poison says nothing here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a request that starts, and gives what tells it that it was called off.
    pub(crate) fn admit(&self, id: Id<'_>) -> Result<CancellationToken, Unfit> {
        if !request_checks::is_id(id) {
            return Err(Unfit::Id);
        }
        let mut running = self.running();
        if running.contains_key(id.as_json()) {
            return Err(Unfit::IdRuns);
        }
        let token = CancellationToken::new();
        running.insert(id.as_json().into(), token.clone());
        Ok(token)
    }

    /// Calls off the request that the parameters of `notifications/cancelled` name, if it runs.
    pub(crate) fn cancel(&self, params: &[u8]) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if let Some(Cancelled { request_id }) = read_params(params)
            && let Some(token) = self.running().get(request_id.get())
        {
            token.cancel();
        }
    }

    /// Takes note that a request has ended.
    pub(crate) fn ended(&self, id: &str) {
        self.running().remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.running().len()
    }
}
