//! An output written as JSON, within what it may have and into room that was reserved for it.

use std::sync::Arc;

use redress_contract::{EncodeError, OutputJson};
use serde::Serialize;

use crate::{
    Ctx,
    author::{
        fail::{ErasedFail, FailCause},
        handler::HandlerResult,
    },
    call::{
        budget::AnswerRoom,
        measure::{Measured, measure},
    },
    offload::{LARGE, offload},
};

/// What has to be charged for an output that is not even begun on a worker: what reads a file reserves what the worst
/// text would take, and is mostly far below it.
const EXPECTED_LARGE: usize = 8 * LARGE;

/// Writes the output of a call.
pub(crate) async fn encode<T: Serialize + Send + 'static>(ctx: &Ctx, output: T) -> HandlerResult {
    let (free, max) = (free(ctx), max_output(ctx));
    // A long text is looked through whole before any of it is written.
    if ctx.room.get().is_some_and(|room| room.charged() > EXPECTED_LARGE) {
        return Box::pin(encode_later(ctx, ctx.room().cloned(), output)).await;
    }
    // Most outputs are small, and need neither a room nor its account.
    let written = OutputJson::encode_within(&output, max.min(LARGE), free, |bytes| {
        ctx.room().is_some_and(|room| room.try_reserve(bytes))
    });
    match written {
        Ok(written) => {
            note_output(ctx, written.json().len());
            Ok(match ctx.room.get() {
                Some(room) => held(room, free, written),
                None => written,
            })
        }
        Err(error) if is_for_later(&error, max) => Box::pin(encode_later(ctx, ctx.room().cloned(), output)).await,
        Err(error) => Err(unwritten(measured(error, &output))),
    }
}

/// Writes one item of a stream, which has room of its own.
pub(crate) async fn encode_item<T: Serialize + Send + 'static>(ctx: &Ctx, item: T) -> HandlerResult {
    let (free, max, mut room) = (free(ctx), max_output(ctx), None);
    let new_room = |account| Arc::new(ctx.new_room(account));
    let written = OutputJson::encode_within(&item, max.min(LARGE), free, |bytes| {
        let Some(account) = &ctx.account else { return false };
        room.get_or_insert_with(|| new_room(account)).try_reserve(bytes)
    });
    match (written, room) {
        (Ok(written), Some(room)) => Ok(held(&room, free, written)),
        (Ok(written), None) => Ok(written),
        (Err(error), room) if is_for_later(&error, max) => {
            let room = room.or_else(|| ctx.account.as_ref().map(new_room));
            Box::pin(encode_later(ctx, room, item)).await
        }
        (Err(error), _) => Err(unwritten(measured(error, &item))),
    }
}

/// Whether an output was not written only because it is more than a worker writes by the way, or has no room yet.
fn is_for_later(error: &EncodeError, max: usize) -> bool {
    matches!(error, EncodeError::NoRoom { .. }) || max > LARGE && matches!(error, EncodeError::TooLarge { .. })
}

impl Ctx {
    /// An output that is in memory already, charged like one that was written now.
    pub(crate) async fn charged(&self, output: OutputJson) -> OutputJson {
        let (bytes, free) = (output.capacity(), free(self));
        match self.room() {
            Some(room) if bytes > free => {
                room.reserve(bytes).await;
                held(room, free, output)
            }
            Some(_) | None => output,
        }
    }
}

/// Writes an output off the workers, once there is room for it. What an author writes by code of his own may have
/// another size each time.
async fn encode_later<T: Serialize + Send + 'static>(
    ctx: &Ctx,
    room: Option<Arc<AnswerRoom>>,
    mut output: T,
) -> HandlerResult {
    let max = max_output(ctx);
    loop {
        let into = room.clone();
        let written = offload(move || {
            // Nobody counts where there is no account.
            let reserved = into.as_ref().map_or(usize::MAX, |room| room.reserved());
            let grow = |bytes| into.as_ref().is_none_or(|room| room.try_reserve(bytes));
            match OutputJson::encode_within(&output, max, reserved, grow) {
                Err(error) => Err((measured(error, &output), output)),
                // What was large is let go of where it was read.
                Ok(written) => Ok(written.counted()),
            }
        })
        .await;
        match (written, &room) {
            (Ok(written), room) => {
                note_output(ctx, written.json().len());
                return Ok(match room {
                    Some(room) => held(room, free(ctx), written),
                    None => written,
                });
            }
            (Err((OutputUnwritten { error: EncodeError::NoRoom { bytes }, .. }, again)), Some(room)) => {
                // The operation is known for what it answers before its answer can be written, so that no more of it
                // starts.
                note_output(ctx, bytes);
                room.reserve(bytes).await;
                output = again;
            }
            (Err((error, _)), _) => return Err(unwritten(error)),
        }
    }
}

fn note_output(ctx: &Ctx, bytes: usize) {
    if let Some(entry) = &ctx.entry {
        entry.note_output(bytes);
    }
}

/// The output with what it holds of the room. A small one holds nothing.
fn held(room: &AnswerRoom, free: usize, output: OutputJson) -> OutputJson {
    let bytes = output.capacity();
    if bytes <= free {
        room.give_back();
        return output;
    }
    match room.hold(bytes) {
        Some(reservation) => output.with_reservation(reservation),
        None => output,
    }
}

/// Up to how many bytes an output needs no room.
fn free(ctx: &Ctx) -> usize {
    ctx.account.as_ref().map_or(usize::MAX, |account| account.free())
}

/// How many bytes the output may have.
pub(crate) fn max_output(ctx: &Ctx) -> usize {
    let declaration = ctx.entry.as_ref().map(|entry| &entry.declaration);
    let max =
        declaration.and_then(|declaration| declaration.max_output()).unwrap_or(ctx.registry.0.settings.max_output);
    let for_agents = declaration.and_then(|declaration| declaration.max_output_for_agents());
    for_agents.filter(|_| ctx.face.is_for_agents()).map_or(max, |min| min.min(max))
}

/// Why the output was not written; of one that is too large also what makes it so.
fn measured<T: Serialize>(error: EncodeError, output: &T) -> OutputUnwritten {
    let measured = if let EncodeError::TooLarge { max } = error { Some(measure(output, max)) } else { None };
    OutputUnwritten { error, measured }
}

fn unwritten(error: OutputUnwritten) -> Box<ErasedFail> {
    ErasedFail::new(FailCause::Foreign(Box::new(error)))
}

/// The handler's result could not be written as JSON: its own fault, or more than it may have.
#[derive(Debug, thiserror::Error)]
#[error("the output cannot be written")]
pub(crate) struct OutputUnwritten {
    #[source]
    pub(crate) error: EncodeError,
    /// What is known of the size of one that is too large.
    pub(crate) measured: Option<Measured>,
}
