//! `redress mcp`, and what its tools cost.

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{process::Place, serve::Served};

/// Sends `lines` to a command, and gives the messages that it wrote and its error stream.
fn spoken(mut command: Command, lines: &[Value]) -> (Vec<Value>, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let messages = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
    (messages.collect(), String::from_utf8(output.stderr).unwrap())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(messages: &[Value], id: u64) -> &Value {
    messages.iter().find(|message| message["id"] == id).unwrap()
}

#[test]
fn files_are_read_over_stdio_and_the_output_holds_messages_only_at_the_loudest() {
    let place = Place::new();
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        request(1, "initialize", hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({"name": "files_read", "arguments": {"path": "notes.md"}})),
        request(4, "tools/call", json!({"name": "files_read", "arguments": {"path": "nots.md"}})),
    ];
    let (messages, log) = spoken(place.command(&["mcp", "--log-level", "trace"]), &lines);
    assert_eq!(messages.len(), 4);
    assert_eq!(answer(&messages, 1)["result"]["serverInfo"]["name"], "redress");
    let tools = answer(&messages, 2)["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "files_read"));
    assert!(tools.iter().all(|tool| tool["name"] != "files_write"), "only --write offers what changes files");
    let read = answer(&messages, 3)["result"]["content"][0]["text"].as_str().unwrap();
    assert!(read.contains("Say how it fails."));
    let missing = &answer(&messages, 4)["result"]["_meta"]["dev.redress/error"];
    assert_eq!((&missing["code"], &missing["similar"][0]["value"]), (&json!("FILE_NOT_FOUND"), &json!("notes.md")));
    assert!(!log.contains(r#""jsonrpc""#), "{log}");
}

#[test]
fn a_profile_chooses_the_tools_and_a_wrong_one_is_told_on_the_error_stream() {
    let place = Place::new().with("redress.toml", "[mcp.profiles]\nreading = [\"files.read\", \"services.*\"]\n");
    let lines = [request(1, "tools/list", json!({}))];
    let (messages, _) = spoken(place.command(&["mcp", "redress.toml", "--profile", "reading"]), &lines);
    let tools = answer(&messages, 1)["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["files_read", "services_list", "services_schema"]);
    let typed = ["mcp", "--profiles", "one=files.read;two=files.list", "--profile", "two"];
    let (messages, _) = spoken(place.command(&typed), &lines);
    assert_eq!(answer(&messages, 1)["result"]["tools"].as_array().map(Vec::len), Some(1));
    for (words, says) in [
        (
            ["--profile", "writing", "--json", "redress.toml"].as_slice(),
            "there is no profile `writing`; known: reading",
        ),
        (
            ["--profile", "x", "--profiles", "x=files.nothing"].as_slice(),
            "names `files.nothing`, which no operation is called",
        ),
    ] {
        let ran = place.run(&[&["mcp"], words].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn a_host_is_served_while_another_process_has_the_state() {
    let text = "[serve]\nlisten = \"127.0.0.1:0\"\n[state]\nsync = \"normal\"\n";
    let place = Place::new().with("redress.toml", text);
    let served = Served::start(&mut place.command(&["serve", "redress.toml", "--json"]));
    let lines = [request(1, "tools/call", json!({"name": "files_read", "arguments": {"path": "notes.md"}}))];
    let (messages, said) = spoken(place.command(&["mcp", "redress.toml"]), &lines);
    assert!(answer(&messages, 1)["result"]["content"][0]["text"].as_str().unwrap().contains("Say how it fails."));
    assert!(said.contains("this one keeps its own in memory, without audit"), "{said}");
    let place = place.with("audited.toml", &format!("{text}[audit]\nenabled = true\n"));
    let refused = place.run(&["mcp", "audited.toml"]);
    assert!(refused.code == 2 && refused.err.contains("STATE_UNUSABLE"), "{}", refused.seen());
    served.stop();
    let (_, said) = spoken(place.command(&["mcp", "audited.toml"]), &lines);
    assert_eq!(said, "");
}

/// The lists whose cost is kept: a name, and what is typed.
const VARIANTS: [(&str, &[&str]); 4] = [
    ("read-only", &[]),
    ("write", &["--write"]),
    ("profile", &["--write", "--profiles", "few=files.read,files.list,files.edit", "--profile", "few"]),
    ("discovery", &["--write", "--discovery-above", "0"]),
];

/// What the tools cost, with why it was let grow. `REDRESS_BLESS=1` writes it anew.
#[test]
fn the_tools_cost_no_more_than_was_agreed() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-cost.json");
    let agreed: Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let blesses = std::env::var_os("REDRESS_BLESS").is_some();
    let mut made = json!({
        "made_by": "REDRESS_BLESS=1 REDRESS_WHY='what it grew for' cargo test -p redress-bin",
        "counts": "name, description and inputSchema of each tool as JSON, which is what hosts show a model",
    });
    for (variant, typed) in VARIANTS {
        let cost = Place::new().run(&[&["ops", "--cost", "--json"], typed].concat()).json();
        let was = &agreed["variants"][variant];
        let reasons = was["agreed"].as_array().cloned().unwrap_or_default();
        let is = cost["total"]["bytes"].as_u64().unwrap();
        // The last reason names the bytes that it was given for, so that many small steps do not pass for none.
        let last = reasons.last().and_then(|reason| reason["bytes"].as_u64());
        let grew = last.is_none_or(|last| is * 100 > last * 103);
        if blesses {
            let mut reasons = reasons;
            if grew {
                let why = std::env::var("REDRESS_WHY").expect("REDRESS_WHY says why the list of tools was let grow");
                reasons.push(json!({"bytes": is, "why": why}));
            }
            made["variants"][variant] = json!({"agreed": reasons, "tools": cost["tools"], "total": cost["total"]});
            continue;
        }
        let words = |reason: &Value| reason["why"].as_str().unwrap().split_whitespace().count();
        assert!(reasons.iter().all(|reason| words(reason) >= 5), "a reason says what the bytes are for: {reasons:?}");
        let names = |cost: &Value| -> BTreeSet<String> {
            cost["tools"].as_array().unwrap().iter().map(|tool| tool["tool"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(was), names(&cost), "{variant}: the tools are others; look at what they cost and keep that");
        assert!(!grew, "{variant}: the list of tools grew from {last:?} to {is} bytes, more than 3 %");
    }
    if blesses {
        fs::write(kept, format!("{made:#}\n")).unwrap();
    }
}

#[test]
fn the_cost_is_that_of_what_hosts_show() {
    let place = Place::new();
    let (messages, _) = spoken(place.command(&["mcp", "--write"]), &[request(1, "tools/list", json!({}))]);
    let tools = answer(&messages, 1)["result"]["tools"].as_array().unwrap();
    let shown = |tool: &Value| {
        let names = ["name", "description", "inputSchema"].map(|name| (name.to_owned(), tool[name].clone()));
        Value::Object(names.into_iter().collect()).to_string().len() as u64
    };
    let cost = place.run(&["ops", "--cost", "--write", "--json"]).json();
    assert_eq!(cost["total"]["bytes"].as_u64(), Some(tools.iter().map(shown).sum()));
    assert_eq!(cost["tools"].as_array().map(Vec::len), Some(tools.len()));
}

/// The most tokens, at a quarter of the characters, that half of all failures may cost whoever reads them.
/// `scripts/mcp-tokens` counts the tokens of the same failures with a model's own tokenizer.
const MEDIAN: usize = 80;

#[test]
fn what_a_model_reads_of_a_failure_is_short() {
    let document: Value = serde_json::from_str(include_str!("../../../../scripts/mcp-tokens.d/failures.json")).unwrap();
    let place = Place::new();
    for (path, text) in document["files"].as_object().unwrap() {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().unwrap()).unwrap();
    }
    let calls = document["calls"].as_array().unwrap();
    let ask =
        |(id, call): (usize, &Value)| request(id as u64, "tools/call", json!({"name": call[0], "arguments": call[1]}));
    let lines: Vec<Value> = calls.iter().enumerate().map(ask).collect();
    let (messages, _) = spoken(place.command(&["mcp", "--write"]), &lines);
    let cost = |(id, call): (usize, &Value)| {
        let result = &answer(&messages, id as u64)["result"];
        assert_eq!(result["isError"], true, "{call}: {result}");
        result["content"][0]["text"].as_str().unwrap().chars().count().div_ceil(4)
    };
    let mut tokens: Vec<usize> = calls.iter().enumerate().map(cost).collect();
    tokens.sort_unstable();
    assert!(tokens[tokens.len() / 2] <= MEDIAN, "{tokens:?}");
}
