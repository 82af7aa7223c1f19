//! `files.search_stream`.

use std::sync::Arc;

use futures_util::stream;
use redress::{Ctx, Events, Outcome, State, data, operation};
use tokio::sync::mpsc;

use crate::{
    Files,
    sandbox::{blocking, slot},
    search::{Match, Search, SearchFailure, Summary},
    searching::SearchPlan,
};

/// How many matches may be found ahead of the reader.
const AHEAD: usize = 64;

/// A match, or the end of the search.
#[data]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Searched {
    /// A line that matches.
    Match(Match),
    /// Everything has been searched, or the limit was reached. Nothing comes after it.
    Done(Summary),
}

/// Search files for lines that match, and get each as it is found.
///
/// Takes what `files.search` takes. The last event says how much was searched.
#[operation(
    subscription,
    name = "files.search_stream",
    access(scopes = "files:read"),
    tags("files"),
    buffer = 64,
    idle = "60s"
)]
pub(crate) async fn search_stream(
    ctx: &Ctx,
    files: State<Files>,
    input: Search,
) -> Outcome<Events<Searched, SearchFailure>, SearchFailure> {
    let plan = blocking(ctx, &files, move |sandbox, stop| {
        let plan = SearchPlan::new(&input, sandbox)?;
        plan.start(sandbox, stop).map(|_| plan)
    })
    .await?;
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let sandbox = Arc::clone(&files.sandbox);
    let stop = ctx.cancellation().clone();
    // A reader that does not read holds its thread up, so the place is held for as long.
    let slot = slot(ctx, &files).await;
    // It ends when the reader goes: then nothing can be sent any more.
    tokio::task::spawn_blocking(move || {
        let _slot = slot;
        let ended = plan.run(&sandbox, &stop, &mut |found| sender.blocking_send(Ok(Searched::Match(found))).is_ok());
        let _ = sender.blocking_send(ended.map(Searched::Done));
    });
    Ok(Events::new(stream::poll_fn(move |context| receiver.poll_recv(context))))
}
