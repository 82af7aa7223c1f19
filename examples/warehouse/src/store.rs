//! Where the stock and the orders are kept.

use std::time::Duration;

use redress::{Fail, Outcome};
use sqlx::{
    Error, PgConnection, PgPool, Row as _,
    postgres::{PgPoolOptions, PgRow},
};
use tokio::sync::broadcast;

use crate::{
    feed::{self, Change},
    orders::{Line, PlaceFailure},
    stock::{Item, ItemFailure},
};

/// What the database has to have. It can be run again and again.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS items (
        sku text PRIMARY KEY, count integer NOT NULL CHECK (count >= 0), version bigint NOT NULL DEFAULT 1);
    CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, reference text NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS lines (
        order_id bigint NOT NULL REFERENCES orders, sku text NOT NULL REFERENCES items, count integer NOT NULL);
    CREATE OR REPLACE FUNCTION tell_stock() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_notify('stock', row_to_json(NEW)::text); RETURN NEW; END $$;
    CREATE OR REPLACE TRIGGER tell_stock AFTER INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION tell_stock();
";

/// How long an order waits for an article that another order is taking.
const PATIENCE_MS: u64 = 200;

/// The stock and the orders, in PostgreSQL.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
    changes: broadcast::Sender<Change>,
}

impl Store {
    /// Opens the database at `url`, such as `postgres://localhost/warehouse`, makes what it lacks, and listens to it.
    pub async fn open(url: &str) -> Result<Store, Error> {
        // A caller waits no longer for a connection than an operation may take.
        let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(4)).connect(url).await?;
        // Two that start at once would both make the tables; the lock is the transaction's.
        let mut making = pool.begin().await?;
        sqlx::query("SELECT pg_advisory_xact_lock(7717)").execute(&mut *making).await?;
        sqlx::raw_sql(TABLES).execute(&mut *making).await?;
        making.commit().await?;
        let (changes, _) = broadcast::channel(feed::BEHIND);
        let listener = feed::open(&pool).await?;
        tokio::spawn(feed::listen(pool.clone(), listener, changes.clone()));
        Ok(Store { pool, changes })
    }

    /// The pool, for a test that breaks something on purpose.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// What changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    pub(crate) async fn receive(&self, sku: &str, count: i32) -> Result<Item, Error> {
        sqlx::query(
            "INSERT INTO items (sku, count) VALUES ($1, $2) ON CONFLICT (sku) DO UPDATE
             SET count = items.count + EXCLUDED.count, version = items.version + 1 RETURNING sku, count, version",
        )
        .bind(sku)
        .bind(count)
        .try_map(item)
        .fetch_one(&self.pool)
        .await
    }

    /// The articles by name, or the one.
    pub(crate) async fn items(&self, only: Option<&str>, limit: i32) -> Result<Vec<Item>, Error> {
        sqlx::query("SELECT sku, count, version FROM items WHERE $1 IS NULL OR sku = $1 ORDER BY sku LIMIT $2")
            .bind(only)
            .bind(i64::from(limit))
            .try_map(item)
            .fetch_all(&self.pool)
            .await
    }

    /// The article, or that there is none, with the names that are near.
    pub(crate) async fn item(&self, sku: &str) -> Outcome<Item, ItemFailure> {
        item_by(&mut *self.pool.acquire().await?, sku).await
    }

    /// Sets what was counted; nothing, if the article is not there or not at this version.
    pub(crate) async fn correct(&self, sku: &str, count: i32, version: i64) -> Result<Option<Item>, Error> {
        sqlx::query(
            "UPDATE items SET count = $2, version = version + 1 WHERE sku = $1 AND version = $3
             RETURNING sku, count, version",
        )
        .bind(sku)
        .bind(count)
        .bind(version)
        .try_map(item)
        .fetch_optional(&self.pool)
        .await
    }

    pub(crate) async fn order(&self, reference: &str) -> Result<Option<i64>, Error> {
        sqlx::query_scalar("SELECT id FROM orders WHERE reference = $1")
            .bind(reference)
            .fetch_optional(&self.pool)
            .await
    }

    /// Places an order in one transaction, and gives its number. Whatever ends this early takes nothing.
    pub(crate) async fn place(&self, reference: &str, mut lines: Vec<Line>) -> Outcome<i64, PlaceFailure> {
        // Every order takes its articles in the same sequence, so that no two wait for each other.
        lines.sort_by(|one, other| one.sku.cmp(&other.sku));
        let mut work = self.pool.begin().await?;
        sqlx::query("SELECT set_config('lock_timeout', $1, true)")
            .bind(format!("{PATIENCE_MS}ms"))
            .execute(&mut *work)
            .await?;
        let id: Option<i64> =
            sqlx::query_scalar("INSERT INTO orders (reference) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id")
                .bind(reference)
                .fetch_optional(&mut *work)
                .await
                .map_err(locked)?;
        let Some(id) = id else {
            return Err(PlaceFailure::ReferenceTaken { reference: reference.to_owned() }.into());
        };
        for line in &lines {
            take(&mut work, id, line).await?;
        }
        // Up to here nothing was kept. Whether a commit that broke off was, only a look can tell.
        work.commit()
            .await
            .map_err(|cause| PlaceFailure::OrderUnconfirmed { reference: reference.to_owned(), cause }.into())
            .map(|()| id)
    }
}

/// Takes one line of the order, in its transaction.
async fn take(work: &mut PgConnection, id: i64, line: &Line) -> Outcome<(), PlaceFailure> {
    let taken =
        sqlx::query("UPDATE items SET count = count - $2, version = version + 1 WHERE sku = $1 AND count >= $2")
            .bind(&line.sku)
            .bind(line.count)
            .execute(&mut *work)
            .await
            .map_err(locked)?;
    if taken.rows_affected() == 0 {
        let item = item_by(work, &line.sku).await.map_err(Fail::widen)?;
        return Err(PlaceFailure::OutOfStock { sku: item.sku, left: item.count }.into());
    }
    sqlx::query("INSERT INTO lines (order_id, sku, count) VALUES ($1, $2, $3)")
        .bind(id)
        .bind(&line.sku)
        .bind(line.count)
        .execute(work)
        .await?;
    Ok(())
}

async fn item_by(connection: &mut PgConnection, sku: &str) -> Outcome<Item, ItemFailure> {
    let found = sqlx::query("SELECT sku, count, version FROM items WHERE sku = $1").bind(sku).try_map(item);
    if let Some(item) = found.fetch_optional(&mut *connection).await? {
        return Ok(item);
    }
    let names: Vec<String> = sqlx::query_scalar("SELECT sku FROM items LIMIT 1000").fetch_all(connection).await?;
    Err(Fail::from(ItemFailure::ItemNotFound { sku: sku.to_owned() }).with_similar(sku, names))
}

/// A lock that was not to be had in time is declared; any other error of the database is contained.
fn locked(error: Error) -> Fail<PlaceFailure> {
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        Some("55P03") => PlaceFailure::StockLocked { wait_ms: PATIENCE_MS }.into(),
        _ => error.into(),
    }
}

fn item(row: PgRow) -> Result<Item, Error> {
    Ok(Item { sku: row.try_get("sku")?, count: row.try_get("count")?, version: row.try_get("version")? })
}
