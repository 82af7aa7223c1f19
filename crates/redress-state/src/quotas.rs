//! Quotas: set aside in memory, and in the file before the handler runs.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redress_core::{
    Exhausted, QuotaHold, QuotaRefused, QuotaShare, QuotaStore, QuotaWindow, StoreError, contract::Allowance,
};
use sqlx::SqliteConnection;

use crate::{
    clock::from_ms,
    command::{CommandReply, WriteWork},
    ledger::Aside,
    shared::{BoxFuture, StateInner},
};

/// For how long the counts of what is over are kept: a clock that is set back finds them again.
const KEPT_S: i64 = 31 * 24 * 60 * 60;
/// How many of them are removed at once, so that no call waits for long.
const PIECE: i64 = 1_000;

/// What the name of those begins with that are told apart by their address.
const ADDRESS: &str = "\0";
/// Behind all of them.
const PAST_ADDRESSES: &str = "\u{1}";
/// Those that are not told apart, since there are too many.
const OTHERS: &str = "\0others";
/// How many counts of addresses there may be: nobody gives an address, so whoever has many could fill the disk with them.
const ADDRESSES: i64 = 100_000;
/// How many there are before those of what is over make room.
const CROWDED: i64 = ADDRESSES / 2;

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CountKey {
    pub(crate) caller: Arc<str>,
    pub(crate) rule: Arc<str>,
    pub(crate) window: QuotaWindow,
    /// When the hour, the day or the month begins and ends, in seconds since 1970.
    pub(crate) starts: u64,
    pub(crate) renews: u64,
}

impl CountKey {
    /// Whether it is of one address.
    fn is_address(&self) -> bool {
        self.caller.starts_with(ADDRESS) && &*self.caller != OTHERS
    }
}

/// One allowance that a call is taken from.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub(crate) key: CountKey,
    pub(crate) policy: Arc<str>,
    pub(crate) limit: u64,
}

impl Count {
    /// What is left of the allowance when so many calls have been taken from it.
    fn left(&self, taken: u64, now_s: u64) -> Allowance {
        Allowance {
            policy: Arc::clone(&self.policy),
            limit: self.limit,
            remaining: self.limit.saturating_sub(taken),
            window_seconds: self.key.renews - self.key.starts,
            renews_seconds: self.key.renews.saturating_sub(now_s),
        }
    }
}

/// Every allowance that one call is taken from.
pub(crate) type Counting = Arc<[Count]>;

/// The quotas of a state.
pub(crate) struct StoredQuotas(pub(crate) Arc<StateInner>);

/// A call that is set aside.
struct Reserved {
    shared: Arc<StateInner>,
    calls: Counting,
    stage: ReservationStage,
}

/// How far it has come.
enum ReservationStage {
    /// Set aside in memory.
    Held,
    /// Given to the writer; see [`WriteWork::Count`].
    Counting(Arc<AtomicBool>),
    /// In the file.
    Counted,
    /// There is nothing to give back any more.
    Over,
}

impl QuotaStore for StoredQuotas {
    fn reserve<'a>(
        &'a self,
        caller: &'a str,
        shares: &'a [QuotaShare],
    ) -> BoxFuture<'a, Result<Box<dyn QuotaHold>, QuotaRefused>> {
        Box::pin(async move {
            let shared = &self.0;
            let broken = |error| QuotaRefused::Broken(error);
            if !shared.queue.is_open() {
                return Err(broken(unwritable()));
            }
            let mut calls = shared.counting(caller, shares);
            loop {
                let aside = shared.ledger().set_aside(&calls);
                match aside {
                    Aside::Held => {
                        let stage = ReservationStage::Held;
                        return Ok(Box::new(Reserved { shared: Arc::clone(shared), calls, stage }) as Box<_>);
                    }
                    Aside::Exhausted(taken) => {
                        return Err(QuotaRefused::Exhausted(Box::new(shared.exhausted(&calls, &taken))));
                    }
                    Aside::Unknown => {
                        let asked = shared.queue.push(WriteWork::Used(Arc::clone(&calls))).map_err(broken)?;
                        if let CommandReply::Used(used) = asked.answer().await.map_err(broken)? {
                            calls = with_others(calls, &used);
                        }
                    }
                }
            }
        })
    }

    fn is_open(&self) -> bool {
        self.0.queue.is_open()
    }
}

/// The same calls, taken from what all addresses share that are not told apart, where this one is not.
fn with_others(calls: Counting, used: &[Option<u64>]) -> Counting {
    if used.iter().all(Option::is_some) {
        return calls;
    }
    let counted = |(count, used): (&Count, &Option<u64>)| {
        let mut count = count.clone();
        if used.is_none() {
            count.key.caller = OTHERS.into();
        }
        count
    };
    calls.iter().zip(used).map(counted).collect()
}

fn unwritable() -> StoreError {
    StoreError::new("the state cannot be written right now")
}

impl StateInner {
    /// The wall, in whole seconds.
    pub(crate) fn wall_s(&self) -> u64 {
        u64::try_from(self.wall_ms()).unwrap_or_default() / 1000
    }

    fn counting(&self, caller: &str, shares: &[QuotaShare]) -> Counting {
        let (now, caller) = (from_ms(self.wall_ms()), Arc::<str>::from(caller));
        let count = |share: &QuotaShare| {
            let span = share.window.around(now);
            let (caller, rule) = (Arc::clone(&caller), Arc::clone(&share.rule));
            let key = CountKey { caller, rule, window: share.window, starts: span.start, renews: span.end };
            Count { key, policy: Arc::clone(&share.policy), limit: share.limit }
        };
        shares.iter().map(count).collect()
    }

    /// What is left of each allowance that is known.
    fn allowances(&self, calls: &Counting) -> Vec<Allowance> {
        let now_s = self.wall_s();
        let ledger = self.ledger();
        calls.iter().filter_map(|count| Some(count.left(ledger.taken(&count.key)?, now_s))).collect()
    }

    /// What is told of the allowances that are used up: of the one that takes longest to be whole again.
    fn exhausted(&self, calls: &Counting, taken: &[u64]) -> Exhausted {
        let now_s = self.wall_s();
        let allowances = calls.iter().zip(taken).map(|(count, taken)| count.left(*taken, now_s)).collect();
        let mut found = Exhausted {
            window: QuotaWindow::Hour,
            limit: 0,
            used: 0,
            renews: 0,
            renews_in: Duration::ZERO,
            allowances,
        };
        for (Count { key, limit, .. }, used) in calls.iter().zip(taken) {
            if used >= limit && key.renews > found.renews {
                (found.window, found.limit, found.used, found.renews) = (key.window, *limit, *used, key.renews);
            }
        }
        let renews_ms = i64::try_from(found.renews).unwrap_or(i64::MAX).saturating_mul(1000);
        let wait_ms = renews_ms.saturating_sub(self.wall_ms());
        found.renews_in = Duration::from_millis(u64::try_from(wait_ms).unwrap_or_default());
        found
    }

    /// Takes note that a call is in the file. Where nobody waited for that any more, it is taken out again.
    pub(crate) fn counted(&self, calls: &Counting, settled: &AtomicBool) {
        self.ledger().counted(calls);
        if settled.swap(true, Ordering::AcqRel) {
            self.uncount(calls);
        }
    }

    /// Takes a call out of the file that did not run.
    fn uncount(&self, calls: &Counting) {
        // A state that is closed has it counted: in doubt, it has run.
        drop(self.queue.push(WriteWork::Uncount(Arc::clone(calls))));
    }
}

impl QuotaHold for Reserved {
    fn count(&mut self) -> BoxFuture<'_, Result<Vec<Allowance>, StoreError>> {
        Box::pin(async move {
            let settled = Arc::new(AtomicBool::new(false));
            let work = WriteWork::Count(Arc::clone(&self.calls), Arc::clone(&settled));
            if !self.shared.queue.is_open() {
                return Err(unwritable());
            }
            let waiting = self.shared.queue.push(work)?;
            self.stage = ReservationStage::Counting(settled);
            match waiting.answer().await {
                Ok(CommandReply::Done | CommandReply::Begin(_) | CommandReply::Used(_) | CommandReply::Ordered(_)) => {
                    self.stage = ReservationStage::Counted
                }
                Err(error) => {
                    // The writer has given it back.
                    self.stage = ReservationStage::Over;
                    return Err(error);
                }
            }
            Ok(self.shared.allowances(&self.calls))
        })
    }

    fn spend(mut self: Box<Self>) {
        self.stage = ReservationStage::Over;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        match mem::replace(&mut self.stage, ReservationStage::Over) {
            ReservationStage::Held => self.shared.ledger().release(&self.calls),
            ReservationStage::Counting(settled) => {
                if settled.swap(true, Ordering::AcqRel) {
                    self.shared.uncount(&self.calls);
                }
            }
            ReservationStage::Counted => self.shared.uncount(&self.calls),
            ReservationStage::Over => {}
        }
    }
}

/// A number as SQLite keeps it.
fn kept(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How many counts of addresses there are in the file, those included that have just been let in. Whoever is let in and
/// not counted yet when they are counted anew is missed, so that the bound is passed by no more than that many.
pub(crate) struct Addresses {
    count: i64,
    /// Whether the last piece of upkeep was not all of it: then they have just been counted.
    goes_on: bool,
}

impl Addresses {
    pub(crate) async fn counted(connection: &mut SqliteConnection) -> Result<Addresses, sqlx::Error> {
        sqlx::query_scalar("SELECT count(*) FROM quotas WHERE caller >= ? AND caller < ?")
            .bind(ADDRESS)
            .bind(PAST_ADDRESSES)
            .fetch_one(connection)
            .await
            .map(|count| Addresses { count, goes_on: false })
    }

    /// Whether one more is told apart.
    fn let_in(&mut self) -> bool {
        let fits = self.count < ADDRESSES;
        self.count += i64::from(fits);
        fits
    }

    /// Counts them anew, removes some of those that are over where there are many, and tells whether there are more. To
    /// count them reads them all, so that is done once for all pieces that follow each other.
    pub(crate) async fn make_room(
        &mut self,
        now_s: i64,
        connection: &mut SqliteConnection,
    ) -> Result<bool, sqlx::Error> {
        if !self.goes_on {
            *self = Addresses::counted(connection).await?;
        }
        self.goes_on = false;
        if self.count <= CROWDED {
            return Ok(false);
        }
        // By `quotas_by_end`, which holds all that is asked for: it reads as many as it removes, and what callers with an
        // id had in the windows that are over.
        let removed = sqlx::query(
            "DELETE FROM quotas WHERE (caller, rule, period, starts) IN ( \
               SELECT caller, rule, period, starts FROM quotas \
               WHERE renews <= ? AND caller >= ? AND caller < ? ORDER BY renews LIMIT ?)",
        )
        .bind(now_s)
        .bind(ADDRESS)
        .bind(PAST_ADDRESSES)
        .bind(PIECE)
        .execute(connection)
        .await?
        .rows_affected();
        self.count -= i64::try_from(removed).unwrap_or(PIECE);
        self.goes_on = removed == PIECE.unsigned_abs();
        Ok(self.goes_on)
    }
}

/// How many calls the file has of each; nothing for an address that is not told apart.
pub(crate) async fn used(
    calls: &Counting,
    addresses: &mut Addresses,
    connection: &mut SqliteConnection,
) -> Result<Vec<Option<u64>>, sqlx::Error> {
    let mut all = Vec::with_capacity(calls.len());
    for Count { key, .. } in calls.iter() {
        let used: Option<i64> =
            sqlx::query_scalar("SELECT used FROM quotas WHERE caller = ? AND rule = ? AND period = ? AND starts = ?")
                .bind(&*key.caller)
                .bind(&*key.rule)
                .bind(key.window.as_str())
                .bind(kept(key.starts))
                .fetch_optional(&mut *connection)
                .await?;
        let is_apart = used.is_some() || !key.is_address() || addresses.let_in();
        all.push(is_apart.then(|| u64::try_from(used.unwrap_or(0)).unwrap_or(0)));
    }
    Ok(all)
}

/// Counts one call more of each.
pub(crate) async fn add(calls: &Counting, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for Count { key, limit, .. } in calls.iter() {
        sqlx::query(
            "INSERT INTO quotas (caller, rule, period, starts, renews, used, allowed) VALUES (?, ?, ?, ?, ?, 1, ?) \
             ON CONFLICT DO UPDATE SET used = used + 1, allowed = excluded.allowed",
        )
        .bind(&*key.caller)
        .bind(&*key.rule)
        .bind(key.window.as_str())
        .bind(kept(key.starts))
        .bind(kept(key.renews))
        .bind(kept(*limit))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Counts one call less of each.
pub(crate) async fn take_back(calls: &Counting, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for Count { key, .. } in calls.iter() {
        sqlx::query(
            "UPDATE quotas SET used = used - 1 WHERE caller = ? AND rule = ? AND period = ? AND starts = ? AND used > 0",
        )
        .bind(&*key.caller)
        .bind(&*key.rule)
        .bind(key.window.as_str())
        .bind(kept(key.starts))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Removes some of the counts that have been over for long enough, and tells whether there are more.
pub(crate) async fn remove_ended(now_s: i64, connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let removed = sqlx::query(
        "DELETE FROM quotas WHERE (caller, rule, period, starts) IN ( \
           SELECT caller, rule, period, starts FROM quotas WHERE renews <= ? ORDER BY renews LIMIT ?)",
    )
    .bind(now_s.saturating_sub(KEPT_S))
    .bind(PIECE)
    .execute(connection)
    .await?;
    Ok(removed.rows_affected() == PIECE.unsigned_abs())
}
