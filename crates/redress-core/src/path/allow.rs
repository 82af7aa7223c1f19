//! Whether a call would be let in, without making it: for what tells of a thing without giving it.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt as _;

use super::{Asked, Bad, Call};
use crate::{
    Registry, Request,
    handler::{Bound, Reads},
};

impl Registry {
    /// Whether the caller may have what this call asks for: access and the operation's check, and nothing of the
    /// handler. It is for what tells of a thing without giving it, such as that a document has changed. Where anything
    /// refuses or cannot tell, the answer is no.
    pub async fn allows(&self, name: &str, request: Request<'_>) -> bool {
        let (mut call, asked) = self.begin(name, request);
        let allowed = AssertUnwindSafe(call.allowed(&asked)).catch_unwind().await;
        // Nothing has been called, so there is nothing to tell the observers of.
        call.ended = true;
        matches!(allowed, Ok(Ok(())))
    }
}

impl Call {
    async fn allowed(&mut self, asked: &Asked<'_>) -> Result<(), Box<Bad>> {
        let entry = self.look(asked).await?;
        if entry.check.is_none() {
            return Ok(());
        }
        let this = &*self;
        this.size(&entry, asked)?;
        let reader: Arc<dyn Reads> = match &entry.bound {
            Bound::Once(handler) => Arc::clone(handler) as _,
            Bound::Stream(handler) => Arc::clone(handler) as _,
            Bound::Nothing => return Err(this.refuse(redress_contract::EngineCode::HandlerNotBound)),
        };
        this.read_checked(&entry, reader, asked).await.map(drop)
    }
}
