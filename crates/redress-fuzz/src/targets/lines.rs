//! The MCP face over an input and an output: a message a line.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Write},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::Duration,
};

use redress::{
    Caller,
    mcp::{Mcp, McpOptions, RequestContext},
};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::{operations, oracle};

static MCP: LazyLock<Mcp> = LazyLock::new(|| {
    Mcp::new(operations::registry(false), McpOptions::default()).expect("without a profile nothing can be at fault")
});

thread_local! {
    // Lines are read and written by threads of their own, which know nothing of a clock that leaps.
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_all().build().expect("a runtime of one thread needs nothing");
}

/// What was written, for whoever reads it afterwards.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn target(data: &[u8]) {
    let written = Written::default();
    // A deadline for every call, so that one which never ends by itself takes no real time.
    let asking = RequestContext {
        caller: Some(Arc::new(Caller::local())),
        deadline: Some(Duration::from_millis(1)),
        ..RequestContext::default()
    };
    let (input, output) = (Cursor::new(data.to_vec()), written.clone());
    let ended = RUNTIME.with(|runtime| runtime.block_on(MCP.stdio(input, output, asking)));
    assert!(ended.is_ok(), "{ended:?}");
    let out = std::mem::take(&mut *written.0.lock().unwrap_or_else(PoisonError::into_inner));
    oracle::bounded_by_line(&out, data);
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let value = oracle::json(line);
        super::mcp::message(&value, None);
        if value.get("method").is_none() {
            *answers.entry(value["id"].to_string()).or_default() += 1;
        }
    }
    // What is called off need not be answered.
    let called_off = String::from_utf8_lossy(data).contains("notifications/cancelled");
    for line in data.split(|byte| *byte == b'\n') {
        let Ok(Value::Object(asked)) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(id) = asked.get("id").filter(|id| id.is_i64() || id.is_string()) else { continue };
        let request = asked.get("jsonrpc").is_some_and(|version| version == "2.0")
            && asked.get("method").is_some_and(Value::is_string);
        // A number that is written in another way is the same id to us and not to the server.
        if request && id.to_string().len() < 500 {
            let answered = answers.contains_key(&id.to_string()) || answers.contains_key("null");
            assert!(answered || called_off || listens(&asked), "{id} has no answer: {}", String::from_utf8_lossy(&out));
        }
    }
}

/// A request that is answered by a stream of notifications, which ends with the input.
fn listens(asked: &serde_json::Map<String, Value>) -> bool {
    asked.get("method").is_some_and(|method| method == "subscriptions/listen")
}
