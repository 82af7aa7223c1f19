//! What is past its time: all of it goes, however much it is and however much there is to write, and nothing is left to
//! be found.

use std::{path::Path, time::Duration};

use redress_state::{StateOptions, StateStore};
use serde_json::json;
use sqlx::Row as _;

use crate::service::{Hands, Runs, call, keyed, open_state, other, service};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn rows(folder: &Path, table: &'static str) -> i64 {
    let count = match table {
        "keys" => "SELECT count(*) FROM keys",
        _ => "SELECT count(*) FROM audit_batches",
    };
    sqlx::query(count).fetch_one(&mut other(folder).await).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_rows_are_removed_while_calls_never_pause() {
    let folder = tempfile::tempdir().unwrap();
    open_state(folder.path()).await.close().await.unwrap();
    let mut somebody = other(folder.path()).await;
    for many in [
        "INSERT INTO keys WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 3500) \
         SELECT 'ada', 'pay.send', n, n, x'00', 0, 'output', '{}' FROM n",
        "INSERT INTO audit_batches WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 3500) \
         SELECT 10000 + n, 0, 0, 0, 0, '[]' FROM n",
        // Kept before those, while the clock on the wall was thousands of years ahead.
        "INSERT INTO audit_batches WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 1500) \
         SELECT n, 0, 0, 99999999999999, 0, '[]' FROM n",
    ] {
        sqlx::query(many).execute(&mut somebody).await.unwrap();
    }
    let hands = Hands::new();
    let options = StateOptions::new(folder.path()).keys_last(Duration::ZERO).retention(DAY).clock(hands.clone());
    let state = StateStore::open(options).await.unwrap();
    let registry = service(&state, &Runs::default());
    let calling = tokio::spawn(async move {
        loop {
            call(&registry, "pay.send", &json!({})).await;
        }
    });
    let all_gone = async {
        while rows(folder.path(), "keys").await > 0 || rows_before_the_state_was_opened(folder.path()).await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all_gone).await.expect("it goes by itself");
    calling.abort();
    let _ = calling.await;
    assert!(rows(folder.path(), "audit_batches").await > 1500, "what is young stays, and what is ahead");
    state.close().await.unwrap();
}

async fn rows_before_the_state_was_opened(folder: &Path) -> i64 {
    let count = "SELECT count(*) FROM audit_batches WHERE age_ms = 0";
    sqlx::query(count).fetch_one(&mut other(folder).await).await.unwrap().get(0)
}

#[tokio::test]
async fn the_output_of_a_key_that_is_over_is_in_no_file_any_more() {
    let (folder, hands) = (tempfile::tempdir().unwrap(), Hands::new());
    let options = StateOptions::new(folder.path()).clock(hands.clone());
    let state = StateStore::open(options).await.unwrap();
    let runs = Runs::default();
    for _ in 0..9_876_540 {
        runs.up();
    }
    keyed(&service(&state, &runs), "pay.send", "k", &json!({})).await;
    let holds = |needle: &str| {
        std::fs::read_dir(folder.path()).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
        })
    };
    assert!(holds("9876541"), "it can be found while it is kept");
    hands.pass(2 * DAY);
    state.upkeep().await.unwrap();
    state.close().await.unwrap();
    assert!(!holds("9876541"));
}
