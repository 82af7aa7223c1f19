//! What one record costs: calls of an operation that does nothing, with no audit and with one in SQLite, thirty-two at
//! a time, in CPU time of the whole process. Run by hand: `cargo run --release -p redress-state --example record_cost`.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement that fails has nothing to tell")]

use std::time::{Duration, Instant};

use redress_core::{
    Layers, Operation, Registry, Request,
    contract::{self, Access, Caller},
};
use redress_state::{StateOptions, StateStore, Sync};
use serde_json::json;

const CALLS: u32 = 200_000;

/// The CPU time that this process has taken, all of its threads together.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // A tick is a hundredth of a second on every Linux.
    Duration::from_millis(ticks * 10)
}

async fn measure(name: &str, registry: &Registry, callers: u32) -> Duration {
    let caller = std::sync::Arc::new(Caller::new("ada"));
    let (began, before) = (Instant::now(), cpu());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..callers {
        let (registry, caller) = (registry.clone(), caller.clone());
        tasks.spawn(async move {
            for _ in 0..CALLS / callers {
                let request = Request::new(br#"{"path":"notes/a.md"}"#.as_slice()).with_caller(caller.clone());
                assert!(registry.call("eye.wink", request).await.is_ok());
            }
        });
    }
    tasks.join_all().await;
    let per_call = (cpu() - before) / CALLS;
    let rate = f64::from(CALLS) / began.elapsed().as_secs_f64();
    println!("{name:32} {callers:3} at a time: {per_call:?} of CPU a call, {rate:.0} calls a second");
    per_call
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let wink =
            contract::OperationDeclaration::query("eye.wink").with_summary("Wink once.").with_access(Access::anyone());
        let wink = wink.with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}}));
        let wink = Operation::dynamic(wink).with_handler(|_, _| std::future::ready(Ok(json!("wink"))));
        let plain = Registry::builder().add(wink).check_outputs(false).build().unwrap();
        for callers in [32, 256] {
            let off = measure("no audit", &plain, callers).await;
            for sync in [Sync::Full, Sync::Normal] {
                let folder = tempfile::tempdir().unwrap();
                let state = StateStore::open(StateOptions::new(folder.path()).sync(sync)).await.unwrap();
                let audited = plain.with_layers(Layers::new().audit(state.audit()));
                let on = measure(&format!("audit, sync {sync:?}"), &audited, callers).await;
                println!("{:32} a record costs {:?}", "", on.saturating_sub(off));
                state.close().await.unwrap();
            }
        }
    });
}
