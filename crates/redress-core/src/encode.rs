//! An output written as JSON, within what it may have and into room that was reserved for it.

use redress_contract::{EncodeError, Output};
use serde::Serialize;

use crate::{
    Ctx,
    budget::AnswerRoom,
    fail::{Cause, Ending},
    handler::Ended,
};

/// Writes the output of a call.
pub(crate) async fn encode<T: Serialize + Send>(ctx: &Ctx, output: T) -> Ended {
    let free = free(ctx);
    // Most outputs are small, and need neither a room nor its account.
    match Output::encode_within(&output, max_output(ctx), free, |bytes| {
        ctx.room().is_some_and(|room| room.try_reserve(bytes))
    }) {
        Ok(written) => {
            if let Some(entry) = &ctx.entry {
                entry.note_output(written.json().len());
            }
            Ok(match ctx.room.get() {
                Some(room) => held(room, free, written),
                None => written,
            })
        }
        Err(EncodeError::NoRoom { bytes }) => match ctx.room() {
            Some(room) => Box::pin(encode_later(ctx, room, output, bytes)).await,
            None => Err(unwritten(EncodeError::NoRoom { bytes })),
        },
        Err(error) => Err(unwritten(error)),
    }
}

/// Writes one item of a stream, which has room of its own.
pub(crate) async fn encode_item<T: Serialize + Send>(ctx: &Ctx, item: T) -> Ended {
    let (free, mut room) = (free(ctx), None);
    let written = Output::encode_within(&item, max_output(ctx), free, |bytes| {
        let Some(account) = &ctx.account else { return false };
        room.get_or_insert_with(|| ctx.new_room(account)).try_reserve(bytes)
    });
    match (written, room) {
        (Ok(written), Some(room)) => Ok(held(&room, free, written)),
        (Ok(written), None) => Ok(written),
        (Err(EncodeError::NoRoom { bytes }), Some(room)) => Box::pin(encode_later(ctx, &room, item, bytes)).await,
        (Err(error), _) => Err(unwritten(error)),
    }
}

impl Ctx {
    /// An output that is in memory already, charged like one that was written now.
    pub(crate) async fn charged(&self, output: Output) -> Output {
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

/// Waits for the room of an output that was measured, and writes it then. What an author writes by code of his own may
/// have another size each time.
async fn encode_later<T: Serialize + Send>(ctx: &Ctx, room: &AnswerRoom, output: T, mut bytes: usize) -> Ended {
    loop {
        // The operation is known for what it answers before its answer can be written, so that no more of it starts.
        if let Some(entry) = &ctx.entry {
            entry.note_output(bytes);
        }
        room.reserve(bytes).await;
        let written = Output::encode_within(&output, max_output(ctx), room.reserved(), |bytes| room.try_reserve(bytes));
        match written {
            Ok(written) => return Ok(held(room, free(ctx), written)),
            Err(EncodeError::NoRoom { bytes: more }) => bytes = more.max(bytes),
            Err(error) => return Err(unwritten(error)),
        }
    }
}

/// The output with what it holds of the room. A small one holds nothing.
fn held(room: &AnswerRoom, free: usize, output: Output) -> Output {
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
    let declared = ctx.entry.as_ref().and_then(|entry| entry.declaration.max_output());
    declared.unwrap_or(ctx.registry.0.settings.max_output)
}

fn unwritten(error: EncodeError) -> Box<Ending> {
    Ending::new(Cause::Foreign(Box::new(OutputUnwritten(error))))
}

/// The handler's result could not be written as JSON: its own fault, or more than it may have.
#[derive(Debug, thiserror::Error)]
#[error("the output cannot be written")]
pub(crate) struct OutputUnwritten(#[source] pub(crate) EncodeError);
