//! The face over lines, inside this process: what is sent, and what comes back.

use std::{
    io::{BufRead as _, BufReader, Lines, PipeReader, PipeWriter, Write as _},
    time::Duration,
};

use redress_core::{Registry, contract::Caller};
use redress_mcp::{Mcp, McpOptions, RequestContext};
use serde_json::{Value, json};

use crate::service::{LEGACY, MODERN};

pub(crate) struct Talk {
    input: PipeWriter,
    lines: Option<Lines<BufReader<PipeReader>>>,
    pub(crate) registry: Registry,
}

impl Talk {
    /// Serves the registry to somebody who may do everything.
    pub(crate) fn start(registry: Registry) -> Talk {
        Talk::with(registry, McpOptions::default(), Caller::local())
    }

    /// Serves the registry to this caller.
    pub(crate) fn with(registry: Registry, options: McpOptions, caller: Caller) -> Talk {
        let (theirs, input) = std::io::pipe().unwrap();
        let (output, ours) = std::io::pipe().unwrap();
        let face = Mcp::new(registry.clone(), options).unwrap();
        let asking = RequestContext { caller: Some(caller.into()), ..RequestContext::default() };
        tokio::spawn(async move { face.stdio(theirs, ours, asking).await });
        Talk { input, lines: Some(BufReader::new(output).lines()), registry }
    }

    /// Says hello as a client of the legacy era that can be asked this.
    pub(crate) async fn hello(&mut self, can: Value) -> Value {
        let hello =
            json!({"protocolVersion": LEGACY, "capabilities": can, "clientInfo": {"name": "t", "version": "1"}});
        self.send(json!({"id": 0, "method": "initialize", "params": hello}));
        let answer = self.next().await;
        self.send(json!({"method": "notifications/initialized"}));
        answer["result"].clone()
    }

    pub(crate) fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    pub(crate) fn call(&mut self, id: u32, tool: &str) {
        self.send(json!({"id": id, "method": "tools/call", "params": {"name": tool}}));
    }

    /// The same in the modern era, with more in `_meta`.
    pub(crate) fn modern(&mut self, id: u32, method: &str, mut params: Value, more: Value) {
        let mut meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params["_meta"] = meta;
        self.send(json!({"id": id, "method": method, "params": params}));
    }

    pub(crate) async fn next(&mut self) -> Value {
        let mut lines = self.lines.take().unwrap();
        let read = tokio::task::spawn_blocking(move || (lines.next(), lines));
        let (line, lines) = tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
        self.lines = Some(lines);
        serde_json::from_str(&line.unwrap().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_client_is_asked_while_its_call_waits_and_others_run() {
    let mut talk = Talk::start(crate::talk::registry());
    let hello = talk.hello(json!({"elicitation": {}})).await;
    assert_eq!(hello["capabilities"]["logging"], json!({}));
    talk.call(1, "talk_greet");
    let asked = talk.next().await;
    assert_eq!((&asked["method"], &asked["params"]["message"]), (&json!("elicitation/create"), &json!("Who are you?")));
    talk.call(2, "talk_beta");
    assert_eq!(talk.next().await["id"], 2, "another call is not held back");
    talk.send(json!({"id": asked["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}));
    let answer = talk.next().await;
    assert_eq!((&answer["id"], &answer["result"]["structuredContent"]), (&json!(1), &json!({"greeted": "Ada"})));

    // What it cannot be asked is told as a failure, and a refusal is a no.
    talk.call(3, "talk_sample");
    assert_eq!(talk.next().await["result"]["_meta"]["dev.redress/error"]["code"], "INVALID_OPERATION_TYPE");
    talk.call(4, "talk_wipe");
    let consent = talk.next().await;
    talk.send(json!({"id": consent["id"], "error": {"code": -1, "message": "no"}}));
    let declined = talk.next().await;
    let envelope = crate::service::failure(&declined["result"]);
    assert_eq!((&envelope["code"], envelope.get("next_actions")), (&json!("CONSENT_REQUIRED"), None));
    // A yes is for the call that it was asked for: the next one is asked for too.
    for id in [5, 6] {
        talk.call(id, "talk_wipe");
        let asked = talk.next().await;
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        talk.send(json!({"id": asked["id"], "result": {"action": "accept", "content": {"agree": true}}}));
        assert_eq!(talk.next().await["result"]["structuredContent"], json!({"wiped": true}));
    }
}

#[tokio::test]
async fn a_question_is_taken_back_when_its_call_is_called_off() {
    let mut talk = Talk::start(crate::talk::registry());
    talk.hello(json!({"elicitation": {}})).await;
    talk.call(1, "talk_greet");
    let asked = talk.next().await;
    talk.send(json!({"method": "notifications/cancelled", "params": {"requestId": 1}}));
    let taken_back = talk.next().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
}

#[tokio::test]
async fn rounds_are_the_same_over_lines() {
    let mut talk = Talk::start(crate::talk::registry());
    let can = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    talk.modern(1, "tools/call", json!({"name": "talk_greet"}), can.clone());
    let asked = talk.next().await["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let answer = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let again = json!({"name": "talk_greet", "requestState": asked["requestState"], "inputResponses": answer});
    talk.modern(2, "tools/call", again, can);
    assert_eq!(talk.next().await["result"]["structuredContent"], json!({"greeted": "Ada"}));
    talk.modern(3, "tools/call", json!({"name": "talk_greet"}), json!({}));
    assert_eq!(talk.next().await["error"]["code"], -32021);
}
