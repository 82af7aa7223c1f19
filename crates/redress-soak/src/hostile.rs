//! Requests that the limits let in and that are made to keep a server busy, one of each kind for each face.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// How many calls a batch may have.
const BATCH: usize = 50;
/// How many messages come in one go.
const AT_ONCE: usize = 300;
/// The sizes of inputs that are as large as they can be where something is still done on the workers: to read them, and
/// to explain them. Fifty of the last fit into a message that is still read there.
const READ_IN_PLACE: usize = 64_000;
const EXPLAINED_IN_PLACE: usize = 4_000;
const MANY_IN_PLACE: usize = 1_100;

/// One request, by what is in it and by the way that it goes.
pub(crate) struct Hostile {
    pub(crate) name: String,
    pub(crate) way: HostileWay,
}

/// What is sent.
pub(crate) enum HostileWay {
    Get(&'static str),
    Post {
        target: String,
        body: String,
        key: Option<String>,
    },
    /// The same request so many times, none of them waiting for an answer.
    Pipelined {
        target: String,
        body: String,
        times: usize,
    },
    /// Messages on a WebSocket, in one go.
    Frames(Vec<String>),
}

fn post(target: &str, body: String) -> HostileWay {
    HostileWay::Post { target: target.to_owned(), body, key: None }
}

fn batch(operation: &str, input: &str) -> HostileWay {
    let one = format!(r#"{{"operation":"{operation}","input":{input}}}"#);
    post("/batch", format!("[{}]", vec![one; BATCH].join(",")))
}

fn path(operation: &str) -> String {
    format!("/ops/{}", operation.replace('.', "/"))
}

fn requested(operation: &str, input: &str) -> String {
    format!(r#"{{"type":"call.requested","id":"a","payload":{{"operation":"{operation}","input":{input}}}}}"#)
}

/// Every request. `seed` makes the keys its own.
pub(crate) fn all(seed: u64) -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: String, way| all.push(Hostile { name, way });
    for kind in KINDS {
        let (operation, input) = (kind.operation, (kind.input)(kind.max));
        let named = |face: &str| format!("{}, {face}", kind.name);
        let tool = operation.replace('.', "_");
        add(named("/ops"), post(&path(operation), input.clone()));
        add(named("/call"), post("/call", format!(r#"{{"operation":"{operation}","input":{input}}}"#)));
        add(named("/rpc"), post("/rpc", rpc(operation, &input)));
        add(named("/mcp"), post("/mcp", rpc("tools/call", &format!(r#"{{"name":"{tool}","arguments":{input}}}"#))));
        add(named("/ws"), HostileWay::Frames(vec![requested(operation, &input)]));
        for size in [READ_IN_PLACE, EXPLAINED_IN_PLACE] {
            let Some(input) = kind.of(size) else { continue };
            add(named(&format!("{size} bytes, /ops")), post(&path(operation), input.clone()));
            add(named(&format!("{size} bytes, /ws")), HostileWay::Frames(vec![requested(operation, &input)]));
        }
        let Some(input) = kind.of(MANY_IN_PLACE) else { continue };
        add(named(&format!("/batch of {BATCH}")), batch(operation, &input));
        add(
            named(&format!("{BATCH} pipelined")),
            HostileWay::Pipelined { target: path(operation), body: input, times: BATCH },
        );
    }
    for (name, operation, input) in small() {
        add(format!("{name}, /batch of {BATCH}"), batch(operation, &input));
    }
    let calls = vec![requested("soak.union", r#"{"tree":{"left":{"left":{"left":"no number"}}}}"#); AT_ONCE];
    add(format!("{AT_ONCE} refusals in one go, /ws"), HostileWay::Frames(calls));
    let calls = (0..AT_ONCE).map(|id| requested("soak.read", r#"{"n":1}"#).replace(r#""a""#, &format!(r#""{id}""#)));
    add(format!("{AT_ONCE} calls in one go, /ws"), HostileWay::Frames(calls.collect()));
    for target in ["/openapi.json", "/openrpc.json", "/contract.json", "/ops", "/metrics"] {
        add(format!("GET {target}"), HostileWay::Get(target));
    }
    add("tools/list, /mcp".to_owned(), post("/mcp", rpc("tools/list", "{}")));
    let told = r#"{"name":"soak_large","arguments":{"bytes":4000000},"_meta":{"progressToken":1}}"#;
    add("a large output with progress, /mcp".to_owned(), post("/mcp", rpc("tools/call", told)));
    // The second of them is a repetition, which gets what was kept.
    for round in ["first", "again"] {
        let (body, key) = (r#"{"bytes":4000000}"#.to_owned(), Some(format!("stall-{seed}")));
        let way = HostileWay::Post { target: path("soak.keep"), body, key };
        add(format!("a large outcome under a key, {round}"), way);
    }
    all
}

fn rpc(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

/// A kind of input, made of so many parts.
struct Kind {
    name: &'static str,
    operation: &'static str,
    /// How many parts the largest has.
    max: usize,
    input: fn(usize) -> String,
}

impl Kind {
    /// An input of at most so many bytes; nothing where the largest is no larger.
    fn of(&self, bytes: usize) -> Option<String> {
        let (largest, min) = ((self.input)(self.max).len(), (self.input)(0).len());
        let parts = self.max * bytes.checked_sub(min)? / (largest - min).max(1);
        (largest > bytes).then(|| (1..=parts).rev().map(self.input).find(|input| input.len() <= bytes))?
    }
}

/// Inputs of nearly the largest size.
const KINDS: &[Kind] = &[
    Kind {
        name: "40,000 unknown members",
        operation: "soak.read",
        max: 40_000,
        input: |parts| members(parts, |n| format!(r#""m{n}":{n}"#)),
    },
    Kind {
        name: "40,000 near names",
        operation: "soak.take",
        max: 40_000,
        input: |parts| members(parts, |n| format!(r#""tex{n}":{n}"#)),
    },
    Kind {
        name: "a member 60,000 times",
        operation: "soak.read",
        max: 60_000,
        input: |parts| members(parts, |_| r#""n":1"#.to_owned()),
    },
    Kind {
        name: "propertyNames under anyOf",
        operation: "soak.union",
        max: 5_000,
        input: |parts| format!(r#"{{"named":{}}}"#, members(parts, |n| format!(r#""M{n}":1"#))),
    },
    Kind {
        name: "oneOf of 20 tagged objects",
        operation: "soak.union",
        max: 20_000,
        input: |parts| format!(r#"{{"tagged":{}}}"#, tagged(parts)),
    },
    Kind {
        name: "a deep recursive union",
        operation: "soak.union",
        max: 60,
        input: |parts| format!(r#"{{"tree":{}}}"#, tree(parts)),
    },
    Kind {
        name: "a wide recursive union",
        operation: "soak.union",
        max: 2_000,
        input: |parts| format!(r#"{{"trees":[{}]}}"#, vec![tree(8); parts].join(",")),
    },
    Kind {
        name: "the deepest JSON",
        operation: "soak.union",
        max: 100,
        input: |parts| format!(r#"{{"any":{}{}}}"#, "[".repeat(parts), "]".repeat(parts)),
    },
    Kind {
        name: "the widest JSON",
        operation: "soak.union",
        max: 60_000,
        input: |parts| format!(r#"{{"any":[{}]}}"#, vec!["0"; parts].join(",")),
    },
    Kind {
        name: "wrong items",
        operation: "soak.take",
        max: 60_000,
        input: |parts| format!(r#"{{"text":"","list":[{}]}}"#, vec![r#""x""#; parts].join(",")),
    },
    Kind {
        name: "a large valid list",
        operation: "soak.take",
        max: 60_000,
        input: |parts| format!(r#"{{"text":"","list":[{}]}}"#, vec!["1234567"; parts].join(",")),
    },
    Kind {
        name: "a large valid text",
        operation: "soak.take",
        max: 250_000,
        input: |parts| json!({"text": "é".repeat(parts), "list": []}).to_string(),
    },
    Kind {
        name: "a text of escapes",
        operation: "soak.take",
        max: 80_000,
        input: |parts| format!(r#"{{"text":"{}","list":[]}}"#, "\\u00e9".repeat(parts)),
    },
    Kind {
        name: "a large output",
        operation: "soak.large",
        max: 4_000_000,
        input: |bytes| format!(r#"{{"bytes":{bytes}}}"#),
    },
    Kind {
        name: "not JSON at its end",
        operation: "soak.take",
        max: 500_000,
        input: |parts| format!(r#"{{"text":"{}","list":["#, "x".repeat(parts)),
    },
];

/// Inputs of which many fit into one message.
fn small() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("800 unknown members", "soak.read", members(800, |n| format!(r#""m{n}":{n}"#))),
        ("400 members of none of 20 tagged objects", "soak.union", format!(r#"{{"tagged":{}}}"#, tagged(400))),
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
