//! Requests that the limits let in and that are made to keep a server busy, one of each kind for each face.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// How many calls a batch may have.
const BATCH: usize = 50;

/// One request, by what is in it and by the way that it goes.
pub(crate) struct Hostile {
    pub(crate) name: String,
    pub(crate) way: HostileWay,
}

/// What is sent.
pub(crate) enum HostileWay {
    Get(&'static str),
    Post { target: String, body: String, key: Option<String> },
    Frame(String),
}

/// Every request. `seed` makes the keys its own.
pub(crate) fn all(seed: u64) -> Vec<Hostile> {
    let mut all = Vec::new();
    for (name, operation, input) in inputs() {
        let path = format!("/ops/{}", operation.replace('.', "/"));
        let tool = operation.replace('.', "_");
        let mut add = |face: &str, way| all.push(Hostile { name: format!("{name}, {face}"), way });
        let post = |target: &str, body: String| HostileWay::Post { target: target.to_owned(), body, key: None };
        add("/ops", post(&path, input.clone()));
        add("/call", post("/call", format!(r#"{{"operation":"{operation}","input":{input}}}"#)));
        add("/rpc", post("/rpc", rpc(operation, &input)));
        add("/mcp", post("/mcp", rpc("tools/call", &format!(r#"{{"name":"{tool}","arguments":{input}}}"#))));
        add(
            "/ws",
            HostileWay::Frame(format!(
                r#"{{"type":"call.requested","id":"a","payload":{{"operation":"{operation}","input":{input}}}}}"#
            )),
        );
    }
    for (name, operation, input) in small() {
        let one = format!(r#"{{"operation":"{operation}","input":{input}}}"#);
        let body = format!("[{}]", vec![one; BATCH].join(","));
        let way = HostileWay::Post { target: "/batch".to_owned(), body, key: None };
        all.push(Hostile { name: format!("{name}, /batch of {BATCH}"), way });
    }
    for target in ["/openapi.json", "/openrpc.json", "/contract.json", "/ops", "/metrics"] {
        all.push(Hostile { name: format!("GET {target}"), way: HostileWay::Get(target) });
    }
    let way = HostileWay::Post { target: "/mcp".to_owned(), body: rpc("tools/list", "{}"), key: None };
    all.push(Hostile { name: "tools/list, /mcp".to_owned(), way });
    let told = r#"{"name":"soak_large","arguments":{"bytes":4000000},"_meta":{"progressToken":1}}"#;
    let way = HostileWay::Post { target: "/mcp".to_owned(), body: rpc("tools/call", told), key: None };
    all.push(Hostile { name: "a large output with progress, /mcp".to_owned(), way });
    // The second of them is a repetition, which gets what was kept.
    for round in ["first", "again"] {
        let (body, key) = (r#"{"bytes":4000000}"#.to_owned(), Some(format!("stall-{seed}")));
        let way = HostileWay::Post { target: "/ops/soak/keep".to_owned(), body, key };
        all.push(Hostile { name: format!("a large outcome under a key, {round}"), way });
    }
    all
}

fn rpc(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// Inputs of nearly the largest size: what they are, the operation, and the JSON.
fn inputs() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("40,000 unknown members", "soak.read", members(40_000, |n| format!(r#""m{n}":{n}"#))),
        ("40,000 near names", "soak.take", members(40_000, |n| format!(r#""tex{n}":{n}"#))),
        ("a member 60,000 times", "soak.read", members(60_000, |_| r#""n":1"#.to_owned())),
        (
            "propertyNames under anyOf",
            "soak.union",
            format!(r#"{{"named":{}}}"#, members(5_000, |n| format!(r#""M{n}":1"#))),
        ),
        ("oneOf of 20 tagged objects", "soak.union", format!(r#"{{"tagged":{}}}"#, tagged(20_000))),
        ("a deep recursive union", "soak.union", format!(r#"{{"tree":{}}}"#, tree(60))),
        ("a wide recursive union", "soak.union", format!(r#"{{"trees":[{}]}}"#, vec![tree(8); 2_000].join(","))),
        ("the deepest JSON", "soak.union", format!(r#"{{"any":{}{}}}"#, "[".repeat(100), "]".repeat(100))),
        ("the widest JSON", "soak.union", format!(r#"{{"any":[{}]}}"#, vec!["0"; 60_000].join(","))),
        ("wrong items", "soak.take", format!(r#"{{"text":"","list":[{}]}}"#, vec![r#""x""#; 60_000].join(","))),
        ("a large valid list", "soak.take", format!(r#"{{"text":"","list":[{}]}}"#, vec!["1234567"; 60_000].join(","))),
        ("a large valid text", "soak.take", json!({"text": "é".repeat(250_000), "list": []}).to_string()),
        ("a text of escapes", "soak.take", format!(r#"{{"text":"{}","list":[]}}"#, "\\u00e9".repeat(80_000))),
        ("a large output", "soak.large", r#"{"bytes":4000000}"#.to_owned()),
        ("not JSON at its end", "soak.take", format!(r#"{{"text":"{}","list":["#, "x".repeat(500_000))),
    ]
}

/// Inputs of which many fit into one message.
fn small() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("800 unknown members", "soak.read", members(800, |n| format!(r#""m{n}":{n}"#))),
        ("oneOf of 20 tagged objects", "soak.union", format!(r#"{{"tagged":{}}}"#, tagged(400))),
        ("a deep recursive union", "soak.union", format!(r#"{{"tree":{}}}"#, tree(50))),
        ("valid lists", "soak.take", format!(r#"{{"text":"","list":[{}]}}"#, vec!["1234567"; 1_000].join(","))),
        ("large outputs", "soak.large", r#"{"bytes":200000}"#.to_owned()),
    ]
}

fn members(count: usize, one: impl Fn(usize) -> String) -> String {
    let members: Vec<String> = (0..count).map(one).collect();
    format!("{{{}}}", members.join(","))
}

/// A tagged object that is none of the twenty: with the tag of the last and members of no one.
fn tagged(count: usize) -> String {
    let mut text = r#"{"kind":"k19""#.to_owned();
    for n in 0..count {
        // Writing to a string cannot fail.
        let _ = write!(text, r#","x{n}":0"#);
    }
    text + "}"
}

/// A tree that no branch of the union takes, found out at its end alone.
fn tree(depth: usize) -> String {
    format!(r#"{}"no number"{}"#, r#"{"left":"#.repeat(depth), "}".repeat(depth))
}

/// The schema of `soak.union`.
pub(crate) fn union_schema() -> Value {
    let tagged: Vec<Value> = (0..20)
        .map(|n| {
            json!({
                "type": "object",
                "properties": {"kind": {"const": format!("k{n}")}, "a": {"type": "string"}, "b": {"type": "integer"}},
                "required": ["kind", "a"],
                "additionalProperties": false,
            })
        })
        .collect();
    let node = json!({"$ref": "#/$defs/node"});
    json!({
        "type": "object",
        "properties": {
            "named": {"anyOf": [
                {"type": "object", "propertyNames": {"pattern": "^[a-z]{1,8}$"}},
                {"type": "object", "propertyNames": {"maxLength": 1}},
                {"type": "string"},
            ]},
            "tagged": {"oneOf": tagged},
            "tree": node,
            "trees": {"type": "array", "items": node},
            "any": {},
        },
        "additionalProperties": false,
        "$defs": {"node": {"oneOf": [
            {"type": "object", "properties": {"left": node}, "required": ["left"], "additionalProperties": false},
            {
                "type": "object",
                "properties": {"left": node, "right": node},
                "required": ["left", "right"],
                "additionalProperties": false,
            },
            {"type": "integer"},
        ]}},
    })
}
