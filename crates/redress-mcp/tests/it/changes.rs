//! What changes while the server runs: what disappears, and who is told.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use redress_core::{Operation, Registry, contract};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt as _, ErrorData, RoleClient,
    model::{CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction},
    service::{NotificationContext, RequestContext},
    transport::StreamableHttpClientTransport,
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::{
    lines::Talk,
    service::{LEGACY, MODERN, message},
    talk,
};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn what_is_hidden_is_unknown_and_in_no_list() {
    let running = talk::running(|_| {}).await;
    for version in [LEGACY, MODERN] {
        let listed = running.ask(version, "tools/list", json!({})).await;
        assert_eq!(listed.text.contains("talk_beta"), version == LEGACY, "the first round hides it");
        running.call(version, "talk_change", json!({})).await.result();
        assert!(!running.ask(version, "tools/list", json!({})).await.text.contains("talk_beta"));
        assert!(!running.ask(version, "prompts/list", json!({})).await.text.contains("talk_review"));
        assert_eq!(running.call(version, "talk_beta", json!({})).await.error().0, -32602);
        let prompt = json!({"name": "talk_review", "arguments": {"path": "a"}});
        assert_eq!(running.ask(version, "prompts/get", prompt).await.error().0, -32602);
    }
}

#[tokio::test]
async fn a_stream_of_changes_tells_what_was_asked_for_and_nothing_else() {
    let running = talk::running(|_| {}).await;
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["talk://readme", "talk://nowhere"]});
    let (body, headers) = message(MODERN, "subscriptions/listen", json!({"notifications": wanted}));
    let request = running.client.post(running.url()).body(body).header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let mut stream = request.send().await.unwrap().bytes_stream();
    let (mut seen, mut messages) = (String::new(), Vec::<Value>::new());
    let mut changed = false;
    while messages.len() < 3 {
        let bytes = timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
        seen.push_str(std::str::from_utf8(&bytes).unwrap());
        let lines = seen.lines().filter_map(|line| line.strip_prefix("data:"));
        messages = lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect();
        if !messages.is_empty() && !changed {
            changed = true;
            running.call(MODERN, "talk_change", json!({})).await.result();
        }
    }
    let methods: Vec<&str> = messages.iter().map(|message| message["method"].as_str().unwrap()).collect();
    let expected = [
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
    ];
    assert_eq!(methods, expected, "the prompt that went was not asked for");
    for message in &messages {
        assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    }
}

#[tokio::test]
async fn changes_are_told_over_lines_in_both_eras() {
    let mut talk = Talk::start(talk::registry());
    talk.hello(json!({})).await;
    talk.send(json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "talk://readme"}}));
    assert_eq!(talk.next().await["result"], json!({}));
    talk.send(json!({"id": 2, "method": "resources/subscribe", "params": {"uri": "talk://nowhere"}}));
    assert_eq!(talk.next().await["error"]["code"], -32002);
    talk.registry.changes().resource("talk://readme");
    assert_eq!(talk.next().await["params"], json!({"uri": "talk://readme"}));
    talk.send(json!({"id": 3, "method": "resources/unsubscribe", "params": {"uri": "talk://readme"}}));
    talk.next().await;
    talk.registry.changes().resource("talk://readme");
    talk.registry.changes().hide("talk.beta");
    assert_eq!(talk.next().await["method"], "notifications/tools/list_changed");

    let mut talk = Talk::start(talk::registry());
    let wanted = json!({"notifications": {"promptsListChanged": true}});
    talk.modern(7, "subscriptions/listen", wanted, json!({}));
    let acknowledged = talk.next().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"promptsListChanged": true}));
    talk.registry.changes().hide("talk.beta");
    talk.registry.changes().hide("talk.review");
    let told = talk.next().await;
    assert_eq!(told["method"], "notifications/prompts/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
    talk.send(json!({"method": "notifications/cancelled", "params": {"requestId": 7}}));
    talk.modern(8, "tools/call", json!({"name": "talk_note"}), json!({}));
    assert_eq!(talk.next().await["id"], 8);
}

/// Documents of which only one's own may be read.
fn vault() -> Registry {
    let input = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let read = contract::OperationDeclaration::query("vault.read")
        .with_summary("Read a document.")
        .with_access(contract::Access::anyone())
        .with_input(input)
        .with_output(json!({"type": "string"}))
        .resource("vault://{name}");
    let read = Operation::dynamic(read)
        .with_handler(|_, _| async { Ok(json!("text")) })
        .with_check(&[], |_, input: Value| async move { Ok(input["name"] == "mine") });
    Registry::builder().add(read).build().unwrap()
}

#[tokio::test]
async fn that_a_document_changes_is_told_to_who_may_read_it_alone() {
    let mut talk = Talk::start(vault());
    talk.hello(json!({})).await;
    talk.send(json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "vault://mine"}}));
    assert_eq!(talk.next().await["result"], json!({}));
    talk.send(json!({"id": 2, "method": "resources/subscribe", "params": {"uri": "vault://theirs"}}));
    assert_eq!(talk.next().await["error"]["code"], -32002);
    talk.registry.changes().resource("vault://theirs");
    talk.registry.changes().resource("vault://mine");
    assert_eq!(talk.next().await["params"], json!({"uri": "vault://mine"}));

    let mut talk = Talk::start(vault());
    let wanted = json!({"notifications": {"resourceSubscriptions": ["vault://mine", "vault://theirs"]}});
    talk.modern(7, "subscriptions/listen", wanted, json!({}));
    let acknowledged = talk.next().await;
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(["vault://mine"]));
}

/// A client of the protocol's own library that answers for Ada.
#[derive(Clone, Default)]
struct Ada {
    changed: Arc<Notify>,
}

impl ClientHandler for Ada {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.capabilities = serde_json::from_value(json!({"elicitation": {}})).unwrap();
        info
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"})))
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

#[tokio::test]
async fn the_client_of_the_protocols_library_is_asked_and_told_in_its_session() {
    let running = talk::running(|_| {}).await;
    let ada = Ada::default();
    let transport = StreamableHttpClientTransport::from_uri(running.url());
    let client = ada.clone().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await.unwrap();
    let greeted = client.call_tool(CallToolRequestParams::new("talk_greet")).await.unwrap();
    assert_eq!(greeted.structured_content, Some(json!({"greeted": "Ada"})));
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "talk_beta"));
    client.call_tool(CallToolRequestParams::new("talk_change")).await.unwrap();
    timeout(PATIENCE, ada.changed.notified()).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert!(!tools.iter().any(|tool| tool.name == "talk_beta"));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn the_client_of_the_protocols_library_goes_through_rounds_by_itself() {
    let running = talk::running(|_| {}).await;
    let preferred_versions = vec![rmcp::model::ProtocolVersion::V_2026_07_28];
    let transport = StreamableHttpClientTransport::from_uri(running.url());
    let mode = ClientLifecycleMode::Discover { preferred_versions };
    let client = Ada::default().serve_with_lifecycle(transport, mode).await.unwrap();
    let greeted = client.call_tool(CallToolRequestParams::new("talk_greet")).await.unwrap();
    assert_eq!(greeted.structured_content, Some(json!({"greeted": "Ada"})));
    client.cancel().await.unwrap();
}

/// Admits so many calls.
struct AtMost(std::sync::atomic::AtomicUsize);

impl redress_core::Limit for AtMost {
    fn admit(&self, _: &redress_core::LimitedCall<'_>) -> Result<Option<redress_core::Permit>, redress_core::Limited> {
        use std::sync::atomic::Ordering::SeqCst;
        match self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => Ok(None),
            Err(_) => Err(redress_core::Limited::rate(5)),
        }
    }
}

#[tokio::test]
async fn one_message_about_many_documents_takes_one_call_from_the_limits() {
    let limit = AtMost(1.into());
    let mut talk = Talk::start(vault().with_layers(redress_core::Layers::new().limit(limit)));
    let many: Vec<String> = (0..500).map(|number| format!("vault://{number}")).chain(["vault://mine".into()]).collect();
    let wanted = json!({"notifications": {"resourceSubscriptions": many}});
    talk.modern(7, "subscriptions/listen", wanted.clone(), json!({}));
    let acknowledged = talk.next().await;
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(["vault://mine"]));
    // Nothing is left: who asks for documents is told why it does not listen for them, and not that it listens for none.
    talk.modern(8, "subscriptions/listen", wanted, json!({}));
    let refused = talk.next().await;
    assert_eq!((&refused["id"], &refused["error"]["data"]["code"]), (&json!(8), &json!("RATE_LIMITED")), "{refused}");
    assert_eq!(refused["error"]["data"]["retry_after_ms"], 5, "{refused}");

    let limit = AtMost(0.into());
    let mut talk = Talk::start(vault().with_layers(redress_core::Layers::new().limit(limit)));
    talk.hello(json!({})).await;
    talk.send(json!({"id": 1, "method": "resources/subscribe", "params": {"uri": "vault://mine"}}));
    assert_eq!(talk.next().await["error"]["data"]["code"], "RATE_LIMITED");
}
