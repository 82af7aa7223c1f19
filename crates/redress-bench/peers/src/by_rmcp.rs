//! rmcp at its best: a `ServerHandler` written by hand and cloned for each request, JSON answers,
//! no session; over stdio its pipe transport.

use std::sync::Arc;

use axum::{Router, serve::ListenerExt as _};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::{
        io::stdio_pipes,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::{Value, json};

use crate::order::{Greet, Missing, Orders};

#[derive(Clone)]
struct Handler {
    tools: Arc<[Tool]>,
}

impl Handler {
    /// The three tools, and fillers up to this number.
    fn new(count: usize) -> Handler {
        let schema = |value: Value| value.as_object().cloned().unwrap_or_default();
        let greet = schema(json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "times": {"type": "integer", "minimum": 0}},
            "required": ["name", "times"]
        }));
        let orders =
            schema(json!({"type": "object", "properties": {"orders": {"type": "array"}}, "required": ["orders"]}));
        let filler = schema(json!({"type": "object"}));
        let mut tools = vec![
            Tool::new("bench_greet", "Greet a person.", greet.clone()),
            Tool::new("bench_find", "Find a person who is never there.", greet),
            Tool::new("bench_total", "Add up what orders cost.", orders),
        ];
        tools.extend(
            (3..count).map(|number| Tool::new(format!("filler_operation_{number}"), "Filler.", filler.clone())),
        );
        Handler { tools: tools.into() }
    }
}

fn read<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, ErrorData> {
    serde_json::from_value(arguments).map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match &*request.name {
            "bench_greet" => CallToolResult::structured(json!(read::<Greet>(arguments)?.greeting())),
            "bench_find" => {
                let name = read::<Greet>(arguments)?.name;
                let message = format!("nobody is called {name}");
                let details = Missing { name };
                CallToolResult::structured_error(
                    json!({"code": "PERSON_NOT_FOUND", "message": message, "details": details}),
                )
            }
            "bench_total" => CallToolResult::structured(json!(read::<Orders>(arguments)?.total())),
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        Ok(result.into())
    }
}

pub(crate) async fn serve(tools: usize) {
    let handler = Handler::new(tools);
    let config = StreamableHttpServerConfig::default().with_json_response(true).with_legacy_session_mode(false);
    let service =
        StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(LocalSessionManager::default()), config);
    let app = Router::new().route_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    crate::listening(listener.local_addr().expect("a bound socket has an address"));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await.expect("the server runs");
}

pub(crate) async fn stdio() {
    let running = Handler::new(3).serve(stdio_pipes()).await.expect("the client says hello");
    running.waiting().await.expect("the server runs");
}
