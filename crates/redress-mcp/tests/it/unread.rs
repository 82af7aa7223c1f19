//! Hosts that write requests and do not read answers.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redress_core::{Operation, Registry, contract};
use redress_mcp::{Mcp, McpOptions, RequestContext};
use serde_json::json;
use tokio::{sync::Semaphore, time::timeout};

/// So many that even their refusals are more than may wait.
const REQUESTS: usize = 20_000;
const LARGE: usize = 256 * 1024;

/// Requests for something large, one for each time that somebody reads.
struct Requests {
    taken: Arc<AtomicUsize>,
}

impl Read for Requests {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let id = self.taken.load(Ordering::SeqCst);
        if id == REQUESTS {
            return Ok(0);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "big_give"}});
        let line = format!("{request}\n");
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        self.taken.fetch_add(1, Ordering::SeqCst);
        Ok(line.len())
    }
}

/// What the host does with answers: nothing, until it begins to read.
#[derive(Clone, Default)]
struct Host(Arc<(Mutex<Seen>, Condvar)>);

#[derive(Default)]
struct Seen {
    reads: bool,
    begun: Vec<u8>,
    answers: HashMap<u64, usize>,
}

impl Host {
    fn read(&self) {
        self.0.0.lock().unwrap().reads = true;
        self.0.1.notify_all();
    }
}

impl Write for Host {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut seen = self.0.1.wait_while(self.0.0.lock().unwrap(), |seen| !seen.reads).unwrap();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            seen.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut seen.begun);
                let text = std::str::from_utf8(&line).unwrap();
                let id = text.split(r#""id":"#).nth(1).and_then(|rest| rest.split([',', '}']).next());
                *seen.answers.entry(id.unwrap().parse().unwrap()).or_default() += 1;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_host_that_never_reads_is_not_read_from_and_gets_every_answer_once_it_does() {
    let begun = Arc::new(Semaphore::new(0));
    let counted = Arc::clone(&begun);
    let give = contract::OperationDeclaration::query("big.give").with_summary("Give much.");
    let give = Operation::dynamic(give.with_access(contract::Access::anyone())).with_handler(move |_, _| {
        counted.add_permits(1);
        async { Ok(json!("x".repeat(LARGE))) }
    });
    let registry = Registry::builder().add(give).build().unwrap();
    let mut options = McpOptions::default();
    options.in_flight = 16;
    let mcp = Mcp::new(registry, options).unwrap();
    let (taken, host) = (Arc::new(AtomicUsize::new(0)), Host::default());
    let requests = Requests { taken: Arc::clone(&taken) };
    let output = host.clone();
    let running = tokio::spawn(async move { mcp.stdio(requests, output, RequestContext::default()).await });

    let many = timeout(Duration::from_secs(5), begun.acquire_many(200)).await;
    assert!(many.is_err(), "{} calls ran for a host that reads nothing", begun.available_permits());
    assert!(taken.load(Ordering::SeqCst) < REQUESTS);

    host.read();
    timeout(Duration::from_secs(60), running).await.unwrap().unwrap().unwrap();
    let seen = host.0.0.lock().unwrap();
    assert_eq!((seen.answers.len(), taken.load(Ordering::SeqCst)), (REQUESTS, REQUESTS));
    assert!(seen.answers.values().all(|count| *count == 1));
}
