//! Where tickets are kept.

use std::str::FromStr as _;

use sqlx::{
    Error, Row as _,
    sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow},
};

use crate::tickets::Ticket;

/// The tickets, in SQLite.
#[derive(Clone, Debug)]
pub struct Store {
    pool: SqlitePool,
}

impl Store {
    /// Opens the database at `url`, such as `sqlite:helpdesk.db`, and makes what it lacks.
    pub async fn open(url: &str) -> Result<Store, Error> {
        let options = SqliteConnectOptions::from_str(url)?.create_if_missing(true);
        Store::with(SqlitePoolOptions::new().connect_with(options).await?).await
    }

    /// A database of its own, which is gone with the store: for tests.
    pub async fn in_memory() -> Result<Store, Error> {
        // Each connection to memory is a database of its own, so there is one, and it stays.
        let one = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        Store::with(one.connect("sqlite::memory:").await?).await
    }

    async fn with(pool: SqlitePool) -> Result<Store, Error> {
        sqlx::query("CREATE TABLE IF NOT EXISTS tickets (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE) STRICT")
            .execute(&pool)
            .await?;
        Ok(Store { pool })
    }

    /// The pool, for a test that breaks something on purpose.
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Keeps a new ticket; nothing, if there is one of this title.
    pub(crate) async fn insert(&self, title: &str) -> Result<Option<Ticket>, Error> {
        sqlx::query("INSERT INTO tickets (title) VALUES (?) ON CONFLICT DO NOTHING RETURNING id, title")
            .bind(title)
            .try_map(|row| ticket(&row))
            .fetch_optional(&self.pool)
            .await
    }

    pub(crate) async fn find(&self, id: i64) -> Result<Option<Ticket>, Error> {
        sqlx::query("SELECT id, title FROM tickets WHERE id = ?")
            .bind(id)
            .try_map(|row| ticket(&row))
            .fetch_optional(&self.pool)
            .await
    }

    /// The tickets whose title holds `text`, the newest first.
    pub(crate) async fn search(&self, text: &str, limit: u32) -> Result<Vec<Ticket>, Error> {
        sqlx::query("SELECT id, title FROM tickets WHERE instr(lower(title), lower(?)) > 0 ORDER BY id DESC LIMIT ?")
            .bind(text)
            .bind(limit)
            .try_map(|row| ticket(&row))
            .fetch_all(&self.pool)
            .await
    }
}

fn ticket(row: &SqliteRow) -> Result<Ticket, Error> {
    Ok(Ticket { id: row.try_get("id")?, title: row.try_get("title")? })
}
