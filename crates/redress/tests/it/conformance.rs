//! Any set of codes can be declared as data and comes back exactly: the 35 codes of one
//! service and the 44 of its nine extensions.

use std::collections::BTreeMap;

use redress::{
    EngineCode, Extension, Kind, Operation, Recovery, Registry, Verification,
    contract::{
        self, Access, Contract, Deprecation, Effect, Example, ExampleEnding, FailureDeclaration, Overflow, Streaming,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A code as a service that knows nothing of redress writes it down.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Row {
    code: String,
    http: u16,
    retryable: bool,
    hint: String,
}

#[derive(Deserialize)]
struct Codes {
    core: Vec<Row>,
    extensions: BTreeMap<String, Vec<Row>>,
}

fn codes() -> Codes {
    serde_json::from_str(include_str!("../fixtures/codes.json")).unwrap()
}

impl Row {
    fn declared(&self) -> FailureDeclaration {
        FailureDeclaration::new(&self.code, kind(self.http))
            .with_when("It happens in the service that this table comes from.")
            .with_http(self.http)
            .with_retryable(self.retryable)
            .with_recovery(Recovery::ask_user(&self.hint))
    }

    /// The row that a declaration stands for.
    fn of(failure: &FailureDeclaration) -> Row {
        let hint = failure.recovery().map_or("", Recovery::hint).to_owned();
        Row { code: failure.code().to_string(), http: failure.http(), retryable: failure.retryable(), hint }
    }

    /// The row that a document's declaration stands for.
    fn read(failure: &Value) -> Row {
        serde_json::from_value(json!({
            "code": failure["code"],
            "http": failure["http"],
            "retryable": failure["retryable"],
            "hint": failure["recovery"]["hint"],
        }))
        .unwrap()
    }

    fn within(&self, namespace: &str) -> Row {
        Row { code: format!("{namespace}.{}", self.code), ..self.clone() }
    }
}

/// The kind that a client would guess from the status.
fn kind(http: u16) -> Kind {
    match http {
        403 => Kind::Forbidden,
        404 => Kind::NotFound,
        408 => Kind::Timeout,
        409 => Kind::Conflict,
        417 | 422 => Kind::Validation,
        429 => Kind::RateLimited,
        500 => Kind::Internal,
        501 => Kind::Configuration,
        503 => Kind::Unavailable,
        _ => Kind::InvalidParams,
    }
}

fn operation(name: &str) -> Operation {
    bound(contract::OperationDeclaration::query(name))
}

fn bound(declaration: contract::OperationDeclaration) -> Operation {
    Operation::dynamic(declaration).with_handler(async |_, _| Ok(Value::Null))
}

/// A registry of the whole fixture, all of it declared as data.
async fn whole() -> Registry {
    let Codes { core, extensions } = codes();
    let own = core.iter().filter(|row| EngineCode::parse(&row.code).is_none());
    let declaration = contract::OperationDeclaration::query("app.inspect").with_failures(own.map(Row::declared));
    let mut builder = Registry::builder().add(bound(declaration));
    for (namespace, rows) in &extensions {
        let extension =
            Extension::new(namespace, "1.0.0").requires("^0.1").add(operation(&format!("{namespace}.inspect")));
        builder = builder
            .extension(rows.iter().fold(extension, |extension, row| extension.code(row.declared())), Value::Null);
    }
    builder.start().await.unwrap()
}

#[tokio::test]
async fn all_35_codes_of_the_service_come_back_as_they_were_declared() {
    let core = codes().core;
    assert_eq!(core.len(), 35);
    let registry = whole().await;
    for row in &core {
        assert_eq!(Row::of(&registry.failure(&row.code).unwrap()), *row);
    }
    let engine: Vec<&str> =
        core.iter().map(|row| row.code.as_str()).filter(|code| EngineCode::parse(code).is_some()).collect();
    assert_eq!(engine, ["EVAL_BLOCKED_KEYWORD", "EVAL_BLOCKED_CONSTRUCT"]);
    for code in engine {
        let row = core.iter().find(|row| row.code == code).unwrap();
        let again = contract::OperationDeclaration::query("app.inspect").fails(row.declared());
        let error = Registry::builder().add(bound(again)).build().unwrap_err();
        assert_eq!(error.findings()[0].rule(), "engine-code");
    }
}

#[tokio::test]
async fn all_44_codes_of_the_nine_extensions_come_back_with_their_namespaces() {
    let extensions = codes().extensions;
    assert_eq!((extensions.len(), extensions.values().map(Vec::len).sum::<usize>()), (9, 44));
    let registry = whole().await;
    for (namespace, rows) in &extensions {
        for row in rows {
            let row = row.within(namespace);
            assert_eq!(Row::of(&registry.failure(&row.code).unwrap()), row);
        }
    }
    let declared = 33 + 44;
    assert_eq!(registry.codes().len(), EngineCode::ALL.len() + declared);
}

#[tokio::test]
async fn the_document_of_the_contract_holds_the_same_rows() {
    let document = serde_json::to_value(whole().await.contract()).unwrap();
    let failures = document["operations"].as_array().unwrap().iter().flat_map(|operation| {
        let failures = operation["failures"].as_array().unwrap();
        failures.iter().map(Row::read)
    });
    let mut found: Vec<Row> = failures.collect();
    let Codes { core, extensions } = codes();
    let own = core.into_iter().filter(|row| EngineCode::parse(&row.code).is_none());
    let others = extensions.iter().flat_map(|(namespace, rows)| rows.iter().map(|row| row.within(namespace)));
    let mut expected: Vec<Row> = own.chain(others).collect();
    found.sort_by(|a, b| a.code.cmp(&b.code));
    expected.sort_by(|a, b| a.code.cmp(&b.code));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_registry_built_from_the_document_is_the_same_registry() {
    let first = whole().await;
    let document = serde_json::to_string(first.contract()).unwrap();
    let read: Contract = serde_json::from_str(&document).unwrap();
    assert_eq!(read, *first.contract());
    let again = read.operations().iter().cloned().fold(Registry::builder(), |builder, read| builder.add(bound(read)));
    assert_eq!(again.build().unwrap().contract(), first.contract());
}

/// An operation that says something in every place where something can be said.
fn rich() -> contract::OperationDeclaration {
    let deprecation = Deprecation {
        since: "1.2.0".into(),
        replaced_by: Some("files.fetch".into()),
        remove_in: Some("2.0.0".into()),
        reason: Some("one word for one idea".into()),
    };
    let details = json!({"type": "object", "properties": {"wait_ms": {"type": "integer"}, "path": {"type": "string"}}});
    let recoveries = [
        Recovery::fix_input("/path", "Give a path that really exists."),
        Recovery::call("files.list", "List the folder and pick one.").bind("path", "path").why("see what is there"),
        Verification::new("files.check", "/exists", "Look whether the file is there.")
            .is(true)
            .bind("path", "path")
            .into(),
        Recovery::wait("Wait a while, then call again."),
        Recovery::ask_user("Ask the person which file is meant."),
        Recovery::get_access("files:read", "Ask an administrator for this scope."),
        Recovery::stop("There is nothing left to try."),
    ];
    let failures = recoveries.into_iter().enumerate().map(|(place, recovery)| {
        FailureDeclaration::new(&format!("CASE_{place}"), Kind::ALL[place])
            .with_when("It happens every now and then.")
            .with_message("no file at {path}")
            .with_http(418)
            .with_retryable(true)
            .with_effect([Effect::None, Effect::Partial, Effect::Unknown][place % 3])
            .with_retry_after("wait_ms")
            .with_details(details.clone())
            .extending("CASE")
            .extending("ANYTHING")
            .with_since("0.3.0")
            .with_deprecated(deprecation.clone())
            .with_layer("cache")
            .with_recovery(recovery)
    });
    contract::OperationDeclaration::subscription("files.read")
        .with_summary("Read a file.")
        .with_description("Read a file, line by line.")
        .with_eval("source", "lua")
        .internal()
        .with_input(json!({"type": "object", "properties": {"source": {"type": "string"}, "path": {}}}))
        .with_output(json!({"type": "string"}))
        .with_failures(failures)
        .with_access(Access::caller().scope("a").scope("b").any_scope("x").any_scope("y").consent())
        .with_deadline(std::time::Duration::from_millis(1_500))
        .with_max_input(4_096)
        .with_idempotency_key()
        .with_verification(
            Verification::new("files.check", "/size", "Look how large the file is.")
                .is(7)
                .bind("path", "path")
                .why("see what is there"),
        )
        .with_tag("files")
        .with_since("0.1.0")
        .with_deprecated(deprecation)
        .with_alias("files.open")
        .with_example(Example { input: json!({"path": "a"}), ending: ExampleEnding::Output(json!("text")) })
        .with_example(Example { input: json!({"path": null}), ending: ExampleEnding::Failure("CASE_1".into()) })
        .with_call("files.list")
        .with_authority("files:list")
        .with_streaming(Streaming { buffer: 3, overflow: Overflow::Cut, idle_ms: Some(9), resumable: true })
        .with_origin(contract::Origin::Mcp)
}

/// Contracts that differ in what they say and leave unsaid.
fn contracts() -> Vec<Contract> {
    let bare = contract::OperationDeclaration::mutation("files.write")
        .fails(FailureDeclaration::new("WRITE_FAILED", Kind::Unknown));
    let waiting = contract::OperationDeclaration::subscription("files.watch").with_access(Access::anyone());
    vec![
        Contract::default(),
        Contract::new([rich()]),
        Contract::new([rich(), bare, waiting]),
        Contract::new(
            Kind::ALL
                .map(|kind| contract::OperationDeclaration::query("a.b").fails(FailureDeclaration::new("CODE", kind))),
        ),
    ]
}

#[test]
fn a_contract_is_equal_after_it_was_written_and_read() {
    for contract in contracts() {
        let written = serde_json::to_string(&contract).unwrap();
        let read: Contract = serde_json::from_str(&written).unwrap();
        assert_eq!(read, contract);
        assert_eq!(serde_json::to_string(&read).unwrap(), written);
    }
}

#[test]
fn a_rich_operation_leaves_no_member_of_its_document_out() {
    let document = serde_json::to_value(rich()).unwrap();
    let members: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 23, "{members:?}");
    let members: Vec<&String> = document["failures"][0].as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 14, "{members:?}");
}

/// Adds an unknown member to one object of `document` after the other, schemas and examples'
/// values left out, as those may hold anything.
fn strange(document: &Value) -> Vec<Value> {
    let mut made = Vec::new();
    if let Value::Object(members) = document {
        let mut more = members.clone();
        more.insert("unheard_of".into(), json!(1));
        made.push(Value::Object(more));
        let open = ["input", "output", "details"];
        for (name, member) in members.iter().filter(|(name, _)| !open.contains(&name.as_str())) {
            made.extend(strange(member).into_iter().map(|member| {
                let mut changed = members.clone();
                changed.insert(name.clone(), member);
                Value::Object(changed)
            }));
        }
    } else if let Value::Array(items) = document {
        for (place, item) in items.iter().enumerate() {
            made.extend(strange(item).into_iter().map(|item| {
                let mut changed = items.clone();
                changed[place] = item;
                Value::Array(changed)
            }));
        }
    }
    made
}

#[test]
fn a_member_that_nobody_knows_is_refused_wherever_it_stands() {
    let plain = contract::OperationDeclaration::query("files.list");
    let document = serde_json::to_value(Contract::new([rich(), plain])).unwrap();
    let strange = strange(&document);
    assert!(strange.len() > 20, "the walk has found too little");
    for document in strange {
        let read: Result<Contract, _> = serde_json::from_value(document.clone());
        assert!(read.is_err(), "{document:#}");
    }
}

#[test]
fn what_is_not_a_name_or_a_code_is_refused_on_reading() {
    let document = serde_json::to_value(Contract::new([rich()])).unwrap();
    for (place, bad) in [
        ("/operations/0/name", json!("read")),
        ("/operations/0/aliases/0", json!("Files.Open")),
        ("/operations/0/calls/0", json!("list")),
        ("/operations/0/failures/0/code", json!("case")),
        ("/operations/0/failures/0/extends/0", json!("")),
        ("/operations/0/failures/0/kind", json!("odd")),
        ("/operations/0/failures/0/http", json!(-1)),
        ("/operations/0/failures/0/recovery/verb", json!("pray")),
        ("/operations/0/shape", json!("question")),
        ("/operations/0/content/class", json!("maybe")),
    ] {
        let mut document = document.clone();
        *document.pointer_mut(place).unwrap() = bad;
        assert!(serde_json::from_value::<Contract>(document).is_err(), "{place}");
    }
}
