//! Consents that a person orders in the folder, beside the service that runs on it.
//!
//! Only that service writes the consents: what is ordered waits in a table of its own until the service has carried it
//! out, which it notices by SQLite's count of what other connections have changed. Where no service runs, an order is
//! carried out at once and stays in the table: the next service carries it out again, which changes nothing, and tells of
//! it in its log.

use redress_core::{ConsentScope, HeldConsent, rfc3339};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteRow};

use crate::clock::{from_ms, to_ms};

/// One change of the consents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConsentOrder {
    Grant(HeldConsent),
    Withdraw { caller: String, scope: ConsentScope },
}

/// What has become of an order that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderStage {
    Waits,
    CarriedOut,
    /// The service cannot read it.
    Refused,
}

/// What a writer knows of the changes of others.
#[derive(Debug, Default)]
pub(crate) struct ForeignChanges {
    /// What they had changed when that was last looked at; nothing before the first look.
    changed: Option<i64>,
    /// Whether the last look failed.
    is_unseen: bool,
}

impl ForeignChanges {
    /// Whether others may have placed orders since the last look. A look that fails finds nothing, and is told once.
    pub(crate) fn have_changed(&mut self, found: Result<i64, sqlx::Error>) -> bool {
        let was_unseen = std::mem::replace(&mut self.is_unseen, found.is_err());
        match found {
            Ok(now) => self.changed.replace(now) != Some(now),
            Err(cause) => {
                if !was_unseen {
                    tracing::error!(%cause, "the state cannot be looked at for consents that are ordered in its folder");
                }
                false
            }
        }
    }
}

/// How often other connections have changed the file, as far as this one has seen.
pub(crate) async fn changes_of_others(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await
}

/// Places an order, and gives its number.
pub(crate) async fn place(order: &ConsentOrder, connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let (caller, scope, until_ms, reason) = match order {
        ConsentOrder::Grant(consent) => {
            (&consent.caller, consent.scope.to_string(), Some(to_ms(consent.until)), consent.reason.as_str())
        }
        ConsentOrder::Withdraw { caller, scope } => (caller, scope.to_string(), None, ""),
    };
    sqlx::query_scalar("INSERT INTO consent_orders (caller, scope, until_ms, reason) VALUES (?, ?, ?, ?) RETURNING id")
        .bind(caller.as_str())
        .bind(scope)
        .bind(until_ms)
        .bind(reason)
        .fetch_one(connection)
        .await
}

/// What has become of the order of this number.
pub(crate) async fn stage(id: i64, connection: &mut SqliteConnection) -> Result<OrderStage, sqlx::Error> {
    let refused: Option<bool> = sqlx::query_scalar("SELECT refused FROM consent_orders WHERE id = ?")
        .bind(id)
        .fetch_optional(connection)
        .await?;
    Ok(match refused {
        None => OrderStage::CarriedOut,
        Some(false) => OrderStage::Waits,
        Some(true) => OrderStage::Refused,
    })
}

/// Takes an order back, and says whether it was still there.
pub(crate) async fn cancel(id: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let gone = sqlx::query("DELETE FROM consent_orders WHERE id = ?").bind(id).execute(connection).await?;
    Ok(gone.rows_affected() > 0)
}

/// Takes all orders out of the file, the first one first, and marks those that cannot be read. Who carries them out does
/// it in the same transaction.
pub(crate) async fn take(connection: &mut SqliteConnection) -> Result<Vec<ConsentOrder>, sqlx::Error> {
    let all = "SELECT id, caller, scope, until_ms, reason FROM consent_orders WHERE refused = 0 ORDER BY id";
    let rows = sqlx::query(all).fetch_all(&mut *connection).await?;
    let mut orders = Vec::with_capacity(rows.len());
    for row in &rows {
        let id: i64 = row.try_get(0)?;
        match read(row) {
            Ok(order) => {
                cancel(id, connection).await?;
                orders.push(order);
            }
            Err(error) => {
                tracing::error!(%error, "an order of a consent in the state cannot be read");
                let mark = sqlx::query("UPDATE consent_orders SET refused = 1 WHERE id = ?").bind(id);
                mark.execute(&mut *connection).await?;
            }
        }
    }
    Ok(orders)
}

fn read(row: &SqliteRow) -> Result<ConsentOrder, Box<dyn std::error::Error + Send + Sync>> {
    let (caller, scope, until_ms, reason): (String, String, Option<i64>, String) =
        (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
    let scope: ConsentScope = scope.parse()?;
    Ok(match until_ms {
        Some(until_ms) => ConsentOrder::Grant(HeldConsent::new(caller, scope, from_ms(until_ms), reason)),
        None => ConsentOrder::Withdraw { caller, scope },
    })
}

/// Carries out what was ordered while no service ran, before anybody can order anything else.
pub(crate) async fn catch_up(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let mut change = connection.begin_with("BEGIN IMMEDIATE").await?;
    let orders = take(&mut change).await?;
    for order in &orders {
        carry_out(order, &mut change).await?;
    }
    change.commit().await?;
    tell(&orders);
    Ok(())
}

/// Changes the consents as an order says.
pub(crate) async fn carry_out(order: &ConsentOrder, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    match order {
        ConsentOrder::Grant(consent) => grant(consent, connection).await,
        ConsentOrder::Withdraw { caller, scope } => withdraw(caller, &scope.to_string(), connection).await,
    }
}

/// Keeps a consent.
pub(crate) async fn grant(consent: &HeldConsent, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT OR REPLACE INTO consents (caller, scope, until_ms, reason) VALUES (?, ?, ?, ?)")
        .bind(consent.caller.as_str())
        .bind(consent.scope.to_string())
        .bind(to_ms(consent.until))
        .bind(consent.reason.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets a consent.
pub(crate) async fn withdraw(caller: &str, scope: &str, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM consents WHERE caller = ? AND scope = ?")
        .bind(caller.to_owned())
        .bind(scope.to_owned())
        .execute(connection)
        .await?;
    Ok(())
}

/// Says in the log what was ordered in the folder: no call did it, so that nothing else tells of it.
pub(crate) fn tell(orders: &[ConsentOrder]) {
    for order in orders {
        match order {
            ConsentOrder::Grant(consent) => {
                let until = rfc3339(consent.until);
                tracing::info!(caller = consent.caller, scope = %consent.scope, until, "a consent was granted in the state folder");
            }
            ConsentOrder::Withdraw { caller, scope } => {
                tracing::info!(caller, %scope, "a consent was taken back in the state folder");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use tracing::{Event, Metadata, Subscriber, span};

    use super::*;

    /// Counts what is logged.
    struct Log(Arc<AtomicUsize>);

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
            span::Id::from_u64(1)
        }

        fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn enter(&self, _: &span::Id) {}

        fn exit(&self, _: &span::Id) {}
    }

    #[test]
    fn a_look_that_fails_finds_nothing_and_is_told_once_until_one_works_again() {
        let (mut others, told) = (ForeignChanges::default(), Arc::new(AtomicUsize::new(0)));
        tracing::subscriber::with_default(Log(Arc::clone(&told)), || {
            assert!(others.have_changed(Ok(1)), "the first look may find what was there before");
            assert!(!others.have_changed(Ok(1)));
            for _ in 0..3 {
                assert!(!others.have_changed(Err(sqlx::Error::WorkerCrashed)));
            }
            assert_eq!(told.load(Ordering::SeqCst), 1);
            assert!(others.have_changed(Ok(2)), "what was changed meanwhile is found by the next look");
            assert!(!others.have_changed(Err(sqlx::Error::WorkerCrashed)));
            assert_eq!(told.load(Ordering::SeqCst), 2);
        });
    }
}
