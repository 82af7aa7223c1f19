//! The coverage recorder: which (operation, code) pairs a run produced.

use redress::{
    Kind, Operation, Registry,
    testing::{Coverage, Harness},
};
use serde_json::{Value, json};

use crate::service::{ends, fails, failure, query, registry};

fn operations() -> redress::Builder {
    let outer = Operation::dynamic(query("files.copy").with_call("files.read")).with_handler(|ctx, _| async move {
        let _ = ctx.call_dynamic("files.read", json!({})).await;
        Ok(Value::Null)
    });
    Registry::builder()
        .add(fails(query("files.read").fails(failure("FILE_NOT_FOUND", Kind::NotFound)), "FILE_NOT_FOUND", json!({})))
        .add(ends(query("files.list").with_alias("files.dir"), || Ok(json!([]))))
        .add(outer)
}

fn told(pairs: &[redress::testing::Covered]) -> Vec<String> {
    pairs.iter().map(|pair| serde_json::to_string(pair).unwrap()).collect()
}

#[tokio::test]
async fn a_harness_records_successes_failures_and_the_calls_below_without_any_change_to_the_registry() {
    let harness = Harness::new(registry(operations()));
    for _ in 0..2 {
        let _ = harness.call("files.dir", json!({})).await;
        let _ = harness.call("files.copy", json!({})).await;
    }
    let _ = harness.call("files.nowhere", json!({})).await;
    assert_eq!(
        told(&harness.coverage().pairs()),
        [
            r#"{"operation":"files.copy"}"#,
            r#"{"operation":"files.list"}"#,
            r#"{"operation":"files.read","code":"FILE_NOT_FOUND"}"#,
        ]
    );
    assert!(harness.coverage().has("files.read", "FILE_NOT_FOUND"));
    assert!(!harness.coverage().has("files.list", "FILE_NOT_FOUND"));
}

#[tokio::test]
async fn recorders_share_one_file_and_it_reads_back_sorted_without_repetitions() {
    let folder = std::env::temp_dir().join(format!("redress-coverage-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("coverage.jsonl");
    let runs: Vec<_> = (0..8)
        .map(|_| {
            let coverage = Coverage::to_file(&path).unwrap();
            let registry = registry(operations().observer(coverage));
            tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                runtime.block_on(async {
                    registry.call("files.list", redress::Request::new(b"{}")).await;
                    registry.call("files.read", redress::Request::new(b"{}")).await;
                });
            })
        })
        .collect();
    for run in runs {
        run.await.unwrap();
    }
    let pairs = Coverage::read(&path).unwrap();
    let lines = std::fs::read_to_string(&path).unwrap().lines().count();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(lines, 16);
    let expected = [r#"{"operation":"files.list"}"#, r#"{"operation":"files.read","code":"FILE_NOT_FOUND"}"#];
    assert_eq!(told(&pairs), expected);
}

#[test]
fn a_file_that_is_not_coverage_is_not_read() {
    let path = std::env::temp_dir().join(format!("redress-no-coverage-{}", std::process::id()));
    std::fs::write(&path, "{\"operation\":\"files.read\"}\nnot a line\n").unwrap();
    let read = Coverage::read(&path);
    std::fs::remove_file(&path).unwrap();
    assert!(read.is_err());
}

#[tokio::test]
async fn what_is_declared_and_never_produced_is_listed() {
    let broken = fails(query("disk.write").fails(failure("DISK_FULL", Kind::Unavailable)), "DISK_FULL", json!({}));
    let harness = Harness::new(registry(operations().add(broken)));
    let listed = |harness: &Harness| -> Vec<String> {
        harness.coverage().never_produced(harness.registry()).iter().map(ToString::to_string).collect()
    };
    assert_eq!(listed(&harness), ["disk.write/DISK_FULL", "files.read/FILE_NOT_FOUND"]);
    let _ = harness.call("files.copy", json!({})).await;
    assert_eq!(listed(&harness), ["disk.write/DISK_FULL"]);
    harness.coverage().assert_all_produced(harness.registry(), &["disk.write/DISK_FULL"]);
    let _ = harness.call("disk.write", json!({})).await;
    harness.coverage().assert_all_produced(harness.registry(), &[]);
    let twice = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        harness.coverage().assert_all_produced(harness.registry(), &["disk.write/DISK_FULL"]);
    }));
    assert!(twice.is_err(), "an exception that nothing needs is told");
}
