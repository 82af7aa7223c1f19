//! An agent that does whatever a failure advises: each next action, each recovery, each near name.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Map, Value, json};

/// How long a chain of advice may be. The build proves that none goes in a circle.
const MAX_LENGTH: usize = 12;

/// Whether an operation or a tool is for persons.
fn is_for_persons(name: &str) -> bool {
    name.starts_with("consent.") || name.starts_with("consent_") || name.starts_with("consent/")
}

/// What an agent has met on its way.
#[derive(Default)]
pub(crate) struct Walk {
    made: BTreeSet<String>,
    /// The codes that it met.
    pub(crate) codes: BTreeSet<String>,
    /// How many calls were advised.
    pub(crate) advised: usize,
}

impl Walk {
    /// Makes a call, and all that follows from what it is told. `call` gives the envelope of a failure, or nothing.
    pub(crate) fn make(&mut self, operation: &str, input: &Value, call: &mut dyn FnMut(&str, &Value) -> Option<Value>) {
        self.follow(operation, input, call, 0);
    }

    fn follow(
        &mut self,
        operation: &str,
        input: &Value,
        call: &mut dyn FnMut(&str, &Value) -> Option<Value>,
        depth: usize,
    ) {
        assert!(depth < MAX_LENGTH, "the advice does not end: {operation} {input}");
        if !self.made.insert(format!("{operation} {input}")) {
            return;
        }
        let Some(envelope) = call(operation, input) else { return };
        let code = envelope["code"].as_str().unwrap_or_else(|| panic!("{operation} {input}: {envelope}"));
        self.codes.insert(code.to_owned());
        if code == "CONSENT_REQUIRED" {
            assert_eq!(envelope["recovery"], json!({"verb": "ask_user"}), "{envelope}");
            assert_eq!(envelope.get("next_actions"), None, "{envelope}");
        }
        for (operation, input) in advice(&envelope) {
            assert!(!is_for_persons(&operation), "{code} leads to {operation}: {envelope}");
            self.advised += 1;
            self.follow(&operation, &input, call, depth + 1);
        }
        let scope = envelope["recovery"]["scope"].as_str().unwrap_or_default();
        assert!(!scope.contains("consent:grant"), "{code} is to get the scope of a person: {envelope}");
    }
}

/// Every call that an envelope advises: its next actions, the operation of its recovery, and what is near to an unknown one.
fn advice(envelope: &Value) -> Vec<(String, Value)> {
    let list = |member: &str| envelope[member].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut advice = Vec::new();
    for action in list("next_actions") {
        let operation = text(&action["operation"]).or_else(|| text(&action["tool"]));
        let input = action.get("input").or_else(|| action.get("arguments")).cloned().unwrap_or_else(|| json!({}));
        advice.extend(operation.map(|operation| (operation, input)));
    }
    let recovery = &envelope["recovery"];
    let target = text(&recovery["operation"]).or_else(|| text(&recovery["tool"]));
    if advice.is_empty() {
        advice.extend(target.map(|operation| (operation, json!({}))));
    }
    if envelope["code"] == "NOT_FOUND" {
        advice.extend(list("similar").iter().filter_map(|near| Some((text(&near["value"])?, json!({})))));
    }
    advice
}

/// Inputs for a schema: nothing, something unknown, and what is needed with each of these words.
pub(crate) fn inputs(schema: &Value, words: &[&str]) -> Vec<Value> {
    let mut inputs = vec![json!({}), json!({"nonsense": true})];
    inputs.extend(words.iter().map(|word| needed(schema, schema, word, 0)));
    inputs
}

/// The least that fits a schema, with `word` for every text.
fn needed(schema: &Value, root: &Value, word: &str, depth: usize) -> Value {
    if depth > 8 {
        return Value::Null;
    }
    let next = |schema: &Value| needed(schema, root, word, depth + 1);
    if let Some(place) = schema["$ref"].as_str().and_then(|place| place.strip_prefix('#')) {
        return root.pointer(place).map(next).unwrap_or_default();
    }
    if let Some(value) = schema.get("const").or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    for several in ["oneOf", "anyOf", "allOf"] {
        if let Some(first) = schema[several].get(0).filter(|_| schema.get("type").is_none()) {
            return next(first);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("object");
    match kind {
        "string" => word.into(),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => true.into(),
        "array" => json!([next(&schema["items"])]),
        "object" => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let members = required.iter().filter_map(Value::as_str);
            Value::Object(
                members.map(|name| (name.to_owned(), next(&schema["properties"][name]))).collect::<Map<_, _>>(),
            )
        }
        _ => Value::Null,
    }
}

/// A program that serves MCP on its standard input and output.
pub(crate) struct Tools {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    sent: u64,
}

impl Tools {
    pub(crate) fn start(command: &mut Command) -> Tools {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let input = child.stdin.take().expect("it has an input");
        let lines = BufReader::new(child.stdout.take().expect("it has an output")).lines();
        Tools { child, input, lines, sent: 0 }
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.sent += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params});
        writeln!(self.input, "{message}").expect("it reads");
        loop {
            let line = self.lines.next().expect("it answers").expect("it writes text");
            let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            if answer["id"] == self.sent {
                return answer;
            }
        }
    }

    /// The tools, each with its input's schema. What they are said to fail with leads to no person's operation either.
    pub(crate) fn list(&mut self) -> Vec<(String, Value)> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        for tool in tools {
            let name = tool["name"].as_str().unwrap_or_default();
            assert!(!is_for_persons(name), "{name} is a tool");
            for failure in tool["_meta"]["dev.redress/failures"].as_array().into_iter().flatten() {
                let recovery = &failure["recovery"];
                let target = ["operation", "tool", "scope"].map(|member| recovery[member].as_str().unwrap_or_default());
                let led = target.iter().any(|target| is_for_persons(target) || target.contains("consent:grant"));
                assert!(!led, "{name}: {failure}");
            }
        }
        tools
            .iter()
            .map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool["inputSchema"].clone()))
            .collect()
    }

    /// Calls a tool; the envelope where it fails.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) -> Option<Value> {
        let answer = self.ask("tools/call", json!({"name": tool.replace('.', "_"), "arguments": input}));
        let result = &answer["result"];
        if result["isError"] == true {
            return Some(result["_meta"]["dev.redress/error"].clone());
        }
        answer.get("error").map(|error| error["data"].clone()).filter(|data| data["code"].is_string())
    }

    /// Calls every tool in every way, and follows what it is told; then tries what is for persons.
    pub(crate) fn walk(&mut self, words: &[&str], skipped: &[&str]) -> Walk {
        let mut walk = Walk::default();
        for (tool, schema) in self.list() {
            if skipped.contains(&tool.as_str()) {
                continue;
            }
            for input in inputs(&schema, words) {
                walk.make(&tool, &input, &mut |tool, input| self.call(tool, input));
            }
        }
        for tool in ["consent_grant", "consent.grant", "consent_list", "consent_revoke", "redress_call"] {
            let refused = self.call(tool, &json!({"operation": "files.remove", "tool": "consent.grant"}));
            let refused = refused.unwrap_or_else(|| panic!("{tool} is a tool"));
            assert_eq!(refused["code"], "NOT_FOUND", "{tool}: {refused}");
        }
        walk
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
