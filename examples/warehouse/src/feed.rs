//! Changes of the stock, from the database to whoever watches: one connection listens, many readers share it.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use futures_util::{Stream, stream};
use redress::Outcome;
use sqlx::{
    Error, PgPool,
    postgres::{PgListener, PgNotification},
};
use tokio::sync::broadcast::{Receiver, Sender, error::RecvError};

use crate::stock::{Item, WatchFailure};

/// How many changes a reader may be behind before it is told that it missed some.
pub(crate) const BEHIND: usize = 256;

/// What one listens for.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The article is like this now.
    Item(Item),
    /// The database was away, and nobody can tell what changed meanwhile.
    Missed,
}

/// Tells every reader what the database notifies, until the pool is closed or the runtime ends.
pub(crate) async fn listen(pool: PgPool, mut listener: PgListener, changes: Sender<Change>) {
    loop {
        match listener.try_recv().await {
            // Nobody listening is nobody to tell.
            Ok(Some(told)) => drop(changes.send(read(&told))),
            // The connection was lost, and is there again.
            Ok(None) => drop(changes.send(Change::Missed)),
            Err(Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(%error, "the changes of the stock cannot be read");
                drop(changes.send(Change::Missed));
                listener = reopened(&pool).await;
                tracing::info!("the changes of the stock are read again");
                // Who began to watch meanwhile has looked, and may have missed what came after that.
                drop(changes.send(Change::Missed));
            }
        }
    }
}

/// A new connection, as soon as there is one.
async fn reopened(pool: &PgPool) -> PgListener {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Ok(listener) = open(pool).await {
            return listener;
        }
    }
}

/// A connection that is told of changes.
pub(crate) async fn open(pool: &PgPool) -> Result<PgListener, Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen("stock").await?;
    Ok(listener)
}

fn read(told: &PgNotification) -> Change {
    serde_json::from_str(told.payload()).map_or(Change::Missed, Change::Item)
}

/// What there is, then what changes.
pub(crate) fn from(
    items: Vec<Item>,
    changes: Receiver<Change>,
    only: Option<String>,
) -> impl Stream<Item = Outcome<Item, WatchFailure>> {
    let seen: HashMap<String, i64> = items.iter().map(|item| (item.sku.clone(), item.version)).collect();
    stream::unfold((VecDeque::from(items), changes, seen), move |(mut items, mut changes, mut seen)| {
        let only = only.clone();
        async move {
            if let Some(item) = items.pop_front() {
                return Some((Ok(item), (items, changes, seen)));
            }
            loop {
                match changes.recv().await {
                    Ok(Change::Item(item)) if only.as_ref().is_some_and(|only| *only != item.sku) => {}
                    // It was there at the first look already.
                    Ok(Change::Item(item)) if seen.get(&item.sku).is_some_and(|seen| *seen >= item.version) => {}
                    Ok(Change::Item(item)) => {
                        seen.insert(item.sku.clone(), item.version);
                        return Some((Ok(item), (items, changes, seen)));
                    }
                    Ok(Change::Missed) | Err(RecvError::Lagged(_)) => {
                        return Some((Err(WatchFailure::ChangesMissed.into()), (items, changes, seen)));
                    }
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    })
}
