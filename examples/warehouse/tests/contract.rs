//! What the declarations promise, tried through the whole path, over a PostgreSQL that the tests start.

mod postgres;

use postgres::Postgres;
use redress::{
    Caller,
    testing::{Canary, Contracts, Harness, assert_failure, assert_ok, assert_registered},
};
use serde_json::{Value, json};
use warehouse::Store;

/// A database of its own, and a clerk who may do everything in it.
async fn clerk() -> (Postgres, Store, Harness) {
    let postgres = Postgres::start();
    let store = Store::open(&postgres.create().await).await.unwrap();
    let registry = warehouse::registry(store.clone()).unwrap();
    let ada = Caller::new("ada").scopes(["stock:read", "stock:write", "orders:write"]);
    (postgres, store, Harness::new(registry).as_caller(ada))
}

async fn sql(store: &Store, statements: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(store.pool()).await.unwrap();
}

fn order(reference: &str, sku: &str, count: i32) -> Value {
    json!({"reference": reference, "lines": [{"sku": sku, "count": count}]})
}

/// Valid, invalid and unauthorised calls of every operation, made from its declaration, and every example.
#[tokio::test]
async fn every_operation_keeps_what_it_declares() {
    let (_postgres, _, harness) = clerk().await;
    Contracts::of(harness).run().await.assert_hold();
}

#[tokio::test]
async fn every_declared_failure_is_produced() {
    let (_postgres, store, harness) = clerk().await;
    assert_ok!(harness.call("stock.receive", json!({"sku": "lamp", "count": 5})).await);

    let problem = assert_failure!(harness.call("stock.get", json!({"sku": "lmap"})).await, ITEM_NOT_FOUND);
    assert_eq!(problem.similar[0].value, "lamp");
    assert_failure!(
        harness.call("stock.correct", json!({"sku": "sofa", "count": 1, "version": 1})).await,
        ITEM_NOT_FOUND
    );
    assert_failure!(
        harness.call("stock.correct", json!({"sku": "lamp", "count": 1, "version": 7})).await,
        ITEM_CHANGED
    );

    assert_failure!(harness.call("orders.place", order("a", "sofa", 1)).await, ITEM_NOT_FOUND);
    assert_failure!(harness.call("orders.place", order("a", "lamp", 6)).await, OUT_OF_STOCK);
    assert_ok!(harness.call("orders.place", order("a", "lamp", 1)).await);
    assert_failure!(harness.call("orders.place", order("a", "lamp", 1)).await, REFERENCE_TAKEN);

    // Somebody else has the article in hand.
    let mut other = store.pool().begin().await.unwrap();
    sqlx::query("SELECT 1 FROM items FOR UPDATE").execute(&mut *other).await.unwrap();
    let problem = assert_failure!(harness.call("orders.place", order("b", "lamp", 1)).await, STOCK_LOCKED);
    assert_eq!(problem.retry_after_ms, Some(200));
    other.rollback().await.unwrap();

    // The database goes away in the middle of the commit.
    sql(
        &store,
        "CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION leave();",
    )
    .await;
    let problem = assert_failure!(harness.call("orders.place", order("b", "lamp", 1)).await, ORDER_UNCONFIRMED);
    sql(&store, "DROP TRIGGER leave ON orders").await;
    // What to do then is a call that this caller can make now; it shows that nothing was kept, so the order is placed again.
    let look = &problem.next_actions[0];
    assert_eq!((look.operation.as_str(), problem.retry.as_str()), ("orders.status", "after_verify"));
    assert_eq!(assert_ok!(harness.call("orders.status", &look.input).await), json!({"placed": false}));
    assert_ok!(harness.call("orders.place", order("b", "lamp", 1)).await);

    // The connection that listens is lost, and comes back: nobody can tell what was said meanwhile.
    let mut watch = harness.watch("stock.watch", json!({})).await;
    assert_eq!(watch.next::<Value>().await["count"], 3);
    sql(&store, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()").await;
    assert_failure!(watch.failed().await, CHANGES_MISSED);

    harness.coverage().assert_all_produced(harness.registry(), &[]);
}

#[tokio::test]
async fn a_change_is_told_to_every_process_that_watches() {
    let (postgres, _, harness) = clerk().await;
    assert_ok!(harness.call("stock.receive", json!({"sku": "desk", "count": 1})).await);
    assert_ok!(harness.call("stock.receive", json!({"sku": "lamp", "count": 5})).await);
    // Another process has a pool of its own; both know each other by the database alone.
    let elsewhere = Store::open(&postgres.url()).await.unwrap();
    let ada = Caller::new("ada").scope("stock:read");
    let elsewhere = Harness::new(warehouse::registry(elsewhere).unwrap()).as_caller(ada);
    let mut watch = elsewhere.watch("stock.watch", json!({"sku": "lamp"})).await;
    assert_eq!(watch.next::<Value>().await, json!({"sku": "lamp", "count": 5, "version": 1}));

    assert_ok!(harness.call("stock.receive", json!({"sku": "desk", "count": 1})).await);
    assert_ok!(harness.call("orders.place", order("a", "lamp", 2)).await);
    // An order that takes nothing changes nothing.
    assert_failure!(harness.call("orders.place", order("b", "lamp", 4)).await, OUT_OF_STOCK);
    assert_ok!(harness.call("stock.correct", json!({"sku": "lamp", "count": 9, "version": 2})).await);
    assert_eq!(watch.next::<Value>().await, json!({"sku": "lamp", "count": 3, "version": 2}));
    assert_eq!(watch.next::<Value>().await, json!({"sku": "lamp", "count": 9, "version": 3}));
}

#[tokio::test]
async fn the_last_one_is_sold_once() {
    let (_postgres, _, harness) = clerk().await;
    assert_ok!(harness.call("stock.receive", json!({"sku": "lamp", "count": 1})).await);
    let (one, other) = tokio::join!(
        harness.call("orders.place", order("one", "lamp", 1)),
        harness.call("orders.place", order("other", "lamp", 1)),
    );
    let mut codes = [one.code(), other.code()];
    codes.sort_unstable();
    assert_eq!(codes, [None, Some("OUT_OF_STOCK")]);
}

/// What the database says stays in the log.
#[tokio::test]
async fn nothing_undeclared_leaves() {
    let (_postgres, store, harness) = clerk().await;
    let canary = Canary::new();
    let secret = canary.plant("the words of the database");
    sql(
        &store,
        &format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{secret}'; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION refuse();"
        ),
    )
    .await;
    let answer = harness.call("stock.receive", json!({"sku": "lamp", "count": 1})).await;
    assert_failure!(answer, INTERNAL);
    canary.check("envelope", answer.bytes());
    canary.assert_clean();
}

#[tokio::test]
async fn no_operation_is_forgotten() {
    let (_postgres, store, _) = clerk().await;
    assert_registered!(warehouse::registry(store).unwrap());
}
