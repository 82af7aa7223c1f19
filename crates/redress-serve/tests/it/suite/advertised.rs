//! The schemas that the faces show of an operation, as they are served, and readers of them.

use std::{
    collections::{BTreeMap, HashMap},
    rc::Rc,
};

use axum::{
    Router,
    body::Body,
    http::{Request, header},
};
use http_body_util::BodyExt as _;
use jsonschema::{Draft, Validator};
use redress_core::contract::Schema;
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use super::{Case, groups::Mode};

/// What is served about all operations.
pub(super) struct Documents {
    contract: BTreeMap<String, Value>,
    openapi: Map<String, Value>,
    openrpc: BTreeMap<String, Value>,
    openrpc_components: Map<String, Value>,
    tools: BTreeMap<String, Value>,
    router: Router,
}

/// A reader of what one face says.
pub(super) struct Judge {
    pub(super) face: &'static str,
    pub(super) validator: Rc<Validator>,
    /// Whether no other input can be sent there.
    pub(super) objects_only: bool,
}

/// A reader of a schema, who takes formats seriously.
pub(super) fn judge(schema: &Value, draft: Draft) -> Validator {
    let options = jsonschema::options().with_draft(draft).should_validate_formats(true).offline();
    options.build(schema).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

/// Readers by what they read: most faces show most schemas alike.
#[derive(Default)]
pub(super) struct Readers(HashMap<(String, bool), Rc<Validator>>);

impl Readers {
    fn of(&mut self, mut schema: Value, draft: Draft) -> Rc<Validator> {
        // The dialect is known, and there is nobody who could refer to the whole by name.
        if let Value::Object(keywords) = &mut schema {
            keywords.remove("$schema");
            keywords.remove("$id");
        }
        let text = schema.to_string();
        let is_later = draft == Draft::Draft202012;
        let read = || Rc::new(judge(&schema, draft));
        Rc::clone(self.0.entry((text, is_later)).or_insert_with(read))
    }
}

fn place(component: &str) -> String {
    format!("#/components/schemas/{component}")
}

/// A schema of a document with the component that it may refer to, which a schema keeps under `$defs`.
fn with_component(schema: Value, name: &str, component: Option<&Value>) -> Value {
    let Some(component) = component else { return schema };
    if schema == json!({"$ref": place(name)}) && !component.to_string().contains("$ref") {
        return component.clone();
    }
    let moved = |value: &Value| -> Value {
        let text = value.to_string().replace(&place(name), &format!("#/$defs/{name}"));
        serde_json::from_str(&text).unwrap()
    };
    let mut schema = moved(&schema);
    if let Value::Object(keywords) = &mut schema {
        keywords.insert("$defs".into(), json!({name: moved(component)}));
    }
    schema
}

/// The dialect in which a schema of an OpenRPC document is read: that of the specification, unless it says
/// otherwise.
fn openrpc_dialect(schema: &Value) -> Draft {
    if schema.get("$schema").is_some() { Draft::Draft202012 } else { Draft::Draft7 }
}

async fn asked(router: &Router, request: Request<Body>) -> Value {
    let answer = router.clone().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body);
    assert!(status.is_success(), "{status} {text}");
    // An MCP answer may come as one event.
    let json = text.lines().find_map(|line| line.strip_prefix("data: ").filter(|data| !data.is_empty()));
    serde_json::from_str(json.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {text}"))
}

async fn tools(router: &Router) -> BTreeMap<String, Value> {
    let mut tools = BTreeMap::new();
    let mut params = json!({});
    loop {
        let request = Request::post("/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-06-18")
            .body(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}).to_string().into());
        let mut page = asked(router, request.unwrap()).await;
        for tool in page["result"]["tools"].as_array_mut().unwrap() {
            tools.insert(tool["name"].as_str().unwrap().to_owned(), tool.take());
        }
        match page["result"].get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return tools,
        }
    }
}

/// The declaration of an operation, from its own path and from the operation that shows it.
async fn declarations(router: &Router, name: &str) -> [Value; 2] {
    let path = Request::get(format!("/ops/{}", name.replace('.', "/")))
        .header(header::HOST, "localhost")
        .header(header::ACCEPT, redress_wire::http::OPERATION_JSON)
        .body(Body::empty());
    let shown = Request::post("/ops/services/schema")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .body(json!({"name": name}).to_string().into());
    [asked(router, path.unwrap()).await, asked(router, shown.unwrap()).await]
}

impl Documents {
    pub(super) async fn of(router: Router) -> Documents {
        let get = async |path: &str| {
            let request = Request::get(path).header(header::HOST, "localhost").body(Body::empty());
            asked(&router, request.unwrap()).await
        };
        let by_name = |operations: &Value| -> BTreeMap<String, Value> {
            let operations = operations.as_array().unwrap().iter();
            operations.map(|it| (it["name"].as_str().unwrap().to_owned(), it.clone())).collect()
        };
        let mut openapi = get("/openapi.json").await;
        let mut openrpc = get("/openrpc.json").await;
        Documents {
            contract: by_name(&get("/contract.json").await["operations"]),
            openapi: object(openapi["components"]["schemas"].take()),
            openrpc: by_name(&openrpc["methods"]),
            openrpc_components: object(openrpc["components"]["schemas"].take()),
            tools: tools(&router).await,
            router,
        }
    }

    /// The contract has plain references only, and every way to one declaration shows the same.
    pub(super) async fn assert_declared_alike(&self, case: &Case) {
        let declared = &self.contract[&case.name]["input"];
        for keywords in Schema::new(declared.clone()).parts() {
            let named = ["$anchor", "$dynamicAnchor", "$dynamicRef"].iter().find(|word| keywords.contains_key(**word));
            assert_eq!(named, None, "{declared}");
            let reference = keywords.get("$ref").and_then(Value::as_str).unwrap_or("#");
            assert!(["#", "https://json-schema.org/"].iter().any(|start| reference.starts_with(start)), "{declared}");
        }
        if case.group.refers() {
            for declaration in declarations(&self.router, &case.name).await {
                assert_eq!(&declaration["input"], declared, "{}", case.group.title());
            }
        }
    }

    /// The readers of everything that is said about the input of an operation.
    pub(super) fn judges(&self, case: &Case, readers: &mut Readers) -> Vec<Judge> {
        let name = &case.name;
        let component = format!("{name}.input");
        let mut judge =
            |face, schema, draft, objects_only| Judge { face, validator: readers.of(schema, draft), objects_only };
        let tool = self.tools[&name.replace('.', "_")]["inputSchema"].clone();
        let method = &self.openrpc[name];
        let openapi = with_component(json!({"$ref": place(&component)}), &component, self.openapi.get(&component));
        let mut judges = vec![
            judge("contract", self.contract[name]["input"].clone(), Draft::Draft202012, false),
            judge("openapi", openapi, Draft::Draft202012, false),
            judge("mcp", tool, Draft::Draft202012, true),
        ];
        let whole = self.openrpc_components.get(&component);
        let (input, draft) = (method["x-redress-input"].clone(), openrpc_dialect(&method["x-redress-input"]));
        judges.push(judge("openrpc", with_component(input, &component, whole), draft, false));
        if case.mode == Mode::Member {
            // One parameter, which a call has to have.
            let params = method["params"].as_array().unwrap();
            assert_eq!((params.len(), &params[0]["name"], &params[0]["required"]), (1, &json!("v"), &json!(true)));
            let (param, draft) = (&params[0]["schema"], openrpc_dialect(&params[0]["schema"]));
            let param =
                json!({"type": "object", "properties": {"v": param}, "required": ["v"], "additionalProperties": false});
            judges.push(judge("openrpc params", with_component(param, &component, whole), draft, false));
        }
        judges
    }

    /// What an operation gives has the schema of what it takes, so it is shown the same.
    pub(super) fn assert_outputs_as_inputs(&self, case: &Case) {
        if !case.gives_the_same() {
            return;
        }
        let name = &case.name;
        let same = |given: &Value, taken: &Value| {
            let given = given.to_string().replace(&format!("{name}.output"), &format!("{name}.input"));
            assert_eq!(given, taken.to_string(), "{}", case.group.title());
        };
        let tool = &self.tools[&name.replace('.', "_")];
        // What a tool takes is said in the dialect of tools.
        same(&redress_wire::mcp::dialect(tool["outputSchema"].clone()), &tool["inputSchema"]);
        same(&self.contract[name]["output"], &self.contract[name]["input"]);
        same(&self.openapi[&format!("{name}.output")], &self.openapi[&format!("{name}.input")]);
        same(&self.openrpc[name]["result"]["schema"], &self.openrpc[name]["x-redress-input"]);
    }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(members) = value { members } else { panic!("{value} is no object") }
}
