//! The state of a service: opened once, shared by its stores, closed at its end.

use std::sync::Arc;

use redress_core::{Audit, ConsentStore, HeldConsent, IdempotencyStore, QuotaStore, StoreError};
use sqlx::{Row as _, SqliteConnection, migrate::MigrateError};
use tokio::{
    sync::Mutex,
    task::{AbortHandle, JoinHandle},
};

use crate::{
    StateOptions,
    audit::AuditLog,
    clock::{from_ms, to_ms},
    command::WriteWork,
    connect, consent_orders,
    consents::{ConsentTable, Consents},
    file_identity::{self, StateFiles},
    folder::{self, NotLocked},
    keys::StoredKeys,
    quotas::StoredQuotas,
    retention,
    shared::StateInner,
    transaction::Transaction,
    writer::{Broken, StateWriter},
};

/// Why a state cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStateError {
    /// The folder cannot be made, or not be made private.
    #[error("the state folder cannot be used")]
    Folder(#[source] std::io::Error),
    /// Another service runs on the same folder.
    #[error("another service uses this state folder: stop it first, or give this one a folder of its own")]
    Taken,
    /// A service runs on the folder, and its file is gone or another one.
    #[error(
        "a service runs on this state folder, and the file that it has open is not there: put that file back, or stop the \
         service, restore a back-up if there is one, and start it again"
    )]
    Lost,
    /// The file is of a newer version, or was changed by somebody else.
    #[error("the state file cannot be brought into today's shape")]
    Shape(#[source] MigrateError),
    /// The file cannot be read or written.
    #[error("the state file cannot be used")]
    File(#[from] sqlx::Error),
}

/// Why a state did not close as it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// The last records could not be kept.
    #[error("{records} records could not be kept")]
    Unkept {
        /// How many.
        records: i64,
        /// Why.
        #[source]
        cause: sqlx::Error,
    },
    /// The file was gone or replaced, so that what was written since is nowhere.
    #[error("the state file was not in its folder at the end")]
    Lost,
    /// Everything is kept, but in the log of the file, which could not be moved into it.
    #[error("the state file could not be closed")]
    File(#[source] sqlx::Error),
    /// The task that writes has gone.
    #[error("the state was not written to its end")]
    Writer(#[from] tokio::task::JoinError),
}

/// How the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Whether new calls can be kept.
    pub is_open: bool,
    /// How many bytes of records wait to be kept.
    pub queued_bytes: usize,
    /// How many calls were answered before their records were kept.
    pub late: u64,
}

/// The state of a service: consents, idempotency keys, quotas and the audit, in one file.
///
/// Everything is written by one task, many calls at a time. What it says is kept outlives the process.
pub struct StateStore {
    shared: Arc<StateInner>,
    writer: Mutex<Option<JoinHandle<Result<(), Broken>>>>,
    /// What looks whether the files are still there.
    watch: AbortHandle,
}

impl StateStore {
    /// Opens the state, and makes it if need be. It needs a runtime, whose task goes on until [`close`](StateStore::close).
    pub async fn open(options: StateOptions) -> Result<StateStore, OpenStateError> {
        let folder = folder::take(&options.folder).map_err(|error| match error {
            NotLocked::Io(error) => OpenStateError::Folder(error),
            NotLocked::Taken => OpenStateError::Taken,
        })?;
        let mut connection = connect::writing(&options.folder, options.sync).await?;
        connect::migrate(&mut connection).await.map_err(OpenStateError::Shape)?;
        // Whoever held these has gone, and nobody knows how far it had come.
        sqlx::query("UPDATE keys SET stage = 'lost' WHERE stage = 'running'").execute(&mut connection).await?;
        let salt = connect::salt(&mut connection).await?;
        consent_orders::catch_up(&mut connection).await?;
        let consents = Consents::of(held(&mut connection).await?);
        let ran_before = retention::ran_before(&mut connection).await?;
        let (wall_ms, running) = (to_ms(options.clock.wall()), options.clock.running());
        let upkeep = retention::RetentionClock::kept(wall_ms, running, &mut connection).await?;
        let files = StateFiles::in_folder(&options.folder).map_err(OpenStateError::Folder)?;
        folder.note(files.all()).map_err(OpenStateError::Folder)?;
        let shared = Arc::new(StateInner::new(options, salt, consents, ran_before));
        let watch = tokio::spawn(file_identity::watch(Arc::downgrade(&shared), files)).abort_handle();
        let transaction = Transaction::open(connection, upkeep, folder).await?;
        let writer = Mutex::new(Some(tokio::spawn(StateWriter::new(Arc::clone(&shared), transaction).run())));
        Ok(StateStore { shared, writer, watch })
    }

    /// The consents.
    pub fn consents(&self) -> Arc<dyn ConsentStore> {
        Arc::new(ConsentTable(Arc::clone(&self.shared)))
    }

    /// The idempotency keys.
    pub fn keys(&self) -> Arc<dyn IdempotencyStore> {
        Arc::new(StoredKeys(Arc::clone(&self.shared)))
    }

    /// The audit.
    pub fn audit(&self) -> Arc<dyn Audit> {
        Arc::new(AuditLog(Arc::clone(&self.shared)))
    }

    /// The calls that are counted against a quota.
    pub fn quotas(&self) -> Arc<dyn QuotaStore> {
        Arc::new(StoredQuotas(Arc::clone(&self.shared)))
    }

    /// Whether new calls can be kept.
    pub fn is_open(&self) -> bool {
        self.shared.queue.is_open()
    }

    /// How the state is.
    pub fn health(&self) -> Health {
        let queue = &self.shared.queue;
        Health { is_open: queue.is_open(), queued_bytes: queue.bytes(), late: queue.late() }
    }

    /// Removes a piece of what is past its time. That happens every minute by itself, piece by piece until all is gone.
    pub async fn upkeep(&self) -> Result<(), StoreError> {
        self.shared.queue.push(WriteWork::Upkeep)?.answer().await.map(|_| ())
    }

    /// Takes nothing more, keeps what waits, and lets go of the folder. A disk that cannot be written is tried for ten
    /// more seconds. Closing twice does nothing.
    pub async fn close(&self) -> Result<(), CloseError> {
        self.shared.queue.close();
        let Some(writer) = self.writer.lock().await.take() else { return Ok(()) };
        writer.await?.map_err(|broken| match broken {
            Broken::Unkept { records, cause } => CloseError::Unkept { records, cause },
            Broken::Unclosed(cause) => CloseError::File(cause),
            Broken::Lost => CloseError::Lost,
        })
    }
}

/// A state that nobody closes keeps what it has been given, if its runtime lets it.
impl Drop for StateStore {
    fn drop(&mut self) {
        self.shared.queue.close();
        self.watch.abort();
    }
}

impl std::fmt::Debug for StateStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateStore").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

pub(crate) async fn held(connection: &mut SqliteConnection) -> Result<Vec<HeldConsent>, sqlx::Error> {
    let rows = sqlx::query("SELECT caller, scope, until_ms, reason FROM consents").fetch_all(connection).await?;
    let mut held = Vec::with_capacity(rows.len());
    for row in rows {
        let (caller, scope, until_ms, reason): (String, String, i64, String) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        match scope.parse() {
            Ok(scope) => held.push(HeldConsent::new(caller, scope, from_ms(until_ms), reason)),
            // One that cannot be read gives no consent.
            Err(error) => tracing::error!(%error, "a consent in the state cannot be read"),
        }
    }
    Ok(held)
}
