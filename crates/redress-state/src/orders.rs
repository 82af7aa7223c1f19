//! Consents that a person orders in the folder, beside the service that runs on it.
//!
//! Only that service writes the consents: what is ordered waits in a table of its own until the service has carried it
//! out, which it notices by SQLite's count of what other connections have changed.

use redress_core::{ConsentScope, HeldConsent};
use sqlx::{Row as _, SqliteConnection};

use crate::clock::{from_ms, to_ms};

/// One change of the consents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Grant(HeldConsent),
    Withdraw { caller: String, scope: ConsentScope },
}

/// How often other connections have changed the file, as far as this one has seen.
pub(crate) async fn changes_of_others(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await
}

/// Places an order, and gives its number.
pub(crate) async fn place(order: &Order, connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let (caller, scope, until_ms, reason) = match order {
        Order::Grant(consent) => {
            (&consent.caller, consent.scope.to_string(), Some(to_ms(consent.until)), consent.reason.as_str())
        }
        Order::Withdraw { caller, scope } => (caller, scope.to_string(), None, ""),
    };
    sqlx::query_scalar("INSERT INTO consent_orders (caller, scope, until_ms, reason) VALUES (?, ?, ?, ?) RETURNING id")
        .bind(caller.as_str())
        .bind(scope)
        .bind(until_ms)
        .bind(reason)
        .fetch_one(connection)
        .await
}

/// Whether an order still waits.
pub(crate) async fn waits(id: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM consent_orders WHERE id = ?)").bind(id).fetch_one(connection).await
}

/// Takes an order back, and says whether it still waited.
pub(crate) async fn cancel(id: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let gone = sqlx::query("DELETE FROM consent_orders WHERE id = ?").bind(id).execute(connection).await?;
    Ok(gone.rows_affected() > 0)
}

/// Takes all orders out of the file, the first one first. Who carries them out does it in the same transaction.
pub(crate) async fn take(connection: &mut SqliteConnection) -> Result<Vec<Order>, sqlx::Error> {
    let rows = sqlx::query("DELETE FROM consent_orders RETURNING id, caller, scope, until_ms, reason")
        .fetch_all(connection)
        .await?;
    let mut orders = Vec::with_capacity(rows.len());
    for row in &rows {
        let (id, caller, scope): (i64, String, String) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let (until_ms, reason): (Option<i64>, String) = (row.try_get(3)?, row.try_get(4)?);
        let scope: ConsentScope = match scope.parse() {
            Ok(scope) => scope,
            // One that cannot be read orders nothing.
            Err(error) => {
                tracing::error!(%error, "an order of a consent in the state cannot be read");
                continue;
            }
        };
        let order = match until_ms {
            Some(until_ms) => Order::Grant(HeldConsent::new(caller, scope, from_ms(until_ms), reason)),
            None => Order::Withdraw { caller, scope },
        };
        orders.push((id, order));
    }
    // In which order rows are returned is not promised.
    orders.sort_by_key(|(id, _)| *id);
    Ok(orders.into_iter().map(|(_, order)| order).collect())
}
