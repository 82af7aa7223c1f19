//! The documents of a contract: valid, complete, and the same every time.

use std::{collections::BTreeMap, env, fs, path::Path};

use redress_contract::{Access, Contract, EngineCode, FailureDeclaration, Kind, OperationDeclaration, Recovery};
use redress_wire::{
    http::{Info, openapi},
    mcp::{Era, OutputForm, Tool},
    openrpc::openrpc,
    pages,
};
use serde_json::{Map, Value, json};

use crate::service::contract;

fn info() -> Info {
    Info { title: "files".into(), version: "1.2.3".into(), bearer: true, ..Info::default() }
}

/// Compares the kept file with what the code makes today; `REDRESS_BLESS=1` rewrites it.
#[track_caller]
fn assert_kept(name: &str, made: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept").join(name);
    let made = format!("{}\n", serde_json::to_string_pretty(made).unwrap());
    if env::var_os("REDRESS_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, made).expect("the folder of kept files is part of the repository");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{name} is stale; run `REDRESS_BLESS=1 cargo test`");
}

#[test]
fn the_openapi_document_is_the_one_that_is_kept() {
    assert_kept("openapi.json", &openapi(&contract(), &info()));
}

#[test]
fn the_openrpc_document_is_the_one_that_is_kept() {
    assert_kept("openrpc.json", &openrpc(&contract(), &info()));
}

#[test]
fn every_reference_in_the_openapi_document_leads_somewhere() {
    fn walk(value: &Value, root: &Value, count: &mut usize) {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    *count += 1;
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(root.pointer(pointer).is_some(), "{reference}");
                }
                members.values().for_each(|value| walk(value, root, count));
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, root, count)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = openapi(&contract(), &info());
    let mut count = 0;
    walk(&document, &document, &mut count);
    assert!(count > 100, "{count}");
}

/// What stands at a place of the document, or where that refers to.
fn referred<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    match value.get("$ref").and_then(Value::as_str) {
        Some(to) => document.pointer(to.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

/// A plain query, as most are.
fn plain(number: usize) -> OperationDeclaration {
    let member = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    OperationDeclaration::query(&format!("notes.read_{number}"))
        .with_summary("Read a note.")
        .with_access(Access::caller().scope("notes:read"))
        .with_input(member("path"))
        .with_output(member("text"))
        .fails(
            FailureDeclaration::new("NOTE_NOT_FOUND", Kind::NotFound)
                .with_when("There is no such note.")
                .with_recovery(Recovery::fix_input("/path", "Give the path of a note that exists.")),
        )
}

#[test]
fn an_operation_costs_a_document_little_beyond_its_own_schemas_and_failures() {
    let size = |count: usize| {
        let operations = (0..count).map(|number| plain(number).without_failures());
        openapi(&Contract::new(operations), &info()).to_string().len()
    };
    let own = plain(0).input().as_value().to_string().len() + plain(0).output().as_value().to_string().len();
    let each = (size(40) - size(20)) / 20 - own;
    assert!(each <= 3_000, "{each} bytes for each operation");
    assert!(size(0) <= 40_000, "{} bytes for none", size(0));
}

#[test]
fn no_document_and_no_page_lists_what_the_service_can_never_answer() {
    let never =
        ["EVAL_BLOCKED_KEYWORD", "HANDLER_NOT_BOUND", "UPSTREAM_UNDECLARED", "STREAM_OVERFLOW", "CONSENT_REQUIRED"];
    let contract = Contract::new([plain(0)]);
    let shown = [
        openapi(&contract, &info()).to_string(),
        pages::index_json(&contract, &[]).to_string(),
        pages::index_html(&contract, &[]),
    ];
    for text in &shown {
        for code in never {
            assert!(!text.contains(code), "{code}");
        }
        assert!(text.contains("INVALID_INPUT") && text.contains("UPSTREAM_UNREACHABLE") && text.contains("FORBIDDEN"));
    }
    // Whoever has met one all the same finds its page.
    assert!(pages::code_json(&contract, None, "HANDLER_NOT_BOUND").is_some());
}

#[test]
fn every_example_of_a_failure_fits_its_own_schema() {
    let document = openapi(&contract(), &info());
    let (mut count, mut unsafe_ones) = (0, 0);
    for item in document["paths"].as_object().unwrap().values() {
        let responses = item.pointer("/post/responses").and_then(Value::as_object);
        for response in responses.into_iter().flatten().map(|(_, response)| referred(response, &document)) {
            let Some(media) = response.pointer("/content/application~1problem+json") else { continue };
            let mut schema = media["schema"].clone();
            schema["components"] = document["components"].clone();
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            for (code, example) in media["examples"].as_object().into_iter().flatten() {
                let problem = &referred(example, &document)["value"];
                let errors: Vec<String> = validator.iter_errors(problem).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{code}: {errors:?}");
                count += 1;
                if problem["retry"] == "unsafe" {
                    // Nothing beside it leads to a repetition, as in an answer.
                    assert_eq!(problem["recovery"]["verb"], "ask_user", "{problem}");
                    assert_eq!(problem.get("retry_after_ms"), None, "{problem}");
                    unsafe_ones += 1;
                }
            }
        }
    }
    assert!(count > 50 && unsafe_ones > 1, "{count} {unsafe_ones}");
}

/// The contract, read back from the document.
fn read_back(document: &Value) -> Contract {
    let schemas = &document["components"]["schemas"];
    // A schema that has moved into the components refers to itself through them.
    let back = |name: &str| -> Value {
        let text = schemas[name].to_string().replace(&format!("#/components/schemas/{name}"), "#");
        serde_json::from_str(&text).unwrap()
    };
    let mut by_name: BTreeMap<String, OperationDeclaration> = BTreeMap::new();
    for item in document["paths"].as_object().unwrap().values() {
        let Some(post) = item.get("post").filter(|post| post.get("x-redress-name").is_some()) else { continue };
        let name = post["x-redress-name"].as_str().unwrap().to_owned();
        let mut declaration = Map::new();
        for (word, value) in post.as_object().unwrap() {
            if let Some(member) = word.strip_prefix("x-redress-").filter(|member| *member != "engine-codes") {
                declaration.insert(member.replace('-', "_"), value.clone());
            }
        }
        for failure in declaration["failures"].as_array_mut().unwrap() {
            let reference = failure["details"]["$ref"].as_str().unwrap().to_owned();
            failure["details"] = back(reference.rsplit('/').next().unwrap());
        }
        declaration.insert("input".into(), back(&format!("{name}.input")));
        declaration.insert("output".into(), back(&format!("{name}.output")));
        declaration.insert("visibility".into(), json!("external"));
        for member in ["summary", "description"] {
            if let Some(text) = post.get(member) {
                declaration.insert(member.into(), text.clone());
            }
        }
        by_name.insert(name, serde_json::from_value(Value::Object(declaration)).unwrap());
    }
    let order = document["x-redress-order"].as_array().unwrap();
    Contract::new(order.iter().map(|name| by_name[name.as_str().unwrap()].clone()))
}

#[test]
fn nothing_of_a_contract_is_lost_in_its_openapi_document() {
    let external = Contract::new(contract().operations().iter().filter(|operation| operation.is_external()).cloned());
    let back = read_back(&openapi(&contract(), &info()));
    assert_eq!(back.operations().len(), external.operations().len());
    for (back, declared) in back.operations().iter().zip(external.operations()) {
        assert_eq!(back, declared, "{}", declared.name());
    }
}

#[test]
fn that_a_consent_is_needed_stands_in_every_document() {
    let (openapi, openrpc) = (openapi(&contract(), &info()), openrpc(&contract(), &info()));
    let mut needing = 0;
    for operation in contract().operations().iter().filter(|operation| operation.is_external()) {
        let needs = operation.access().needs_consent();
        needing += usize::from(needs);
        let path = redress_wire::http::path(operation.name());
        let refused = referred(&openapi["paths"][&path]["post"]["responses"]["403"], &openapi);
        let examples = &refused["content"]["application/problem+json"]["examples"];
        let example = examples.get("CONSENT_REQUIRED").map(|example| referred(example, &openapi)["summary"].clone());
        let says = json!("The operation needs a person's consent, and it has not been given.");
        assert_eq!(example, needs.then_some(says), "{}", operation.name());
        let method =
            openrpc["methods"].as_array().unwrap().iter().find(|method| method["name"] == operation.name().as_str());
        let errors = method.map(|method| method["errors"].to_string()).unwrap_or_default();
        assert_eq!(errors.contains("CONSENT_REQUIRED"), needs, "{}", operation.name());
        let shown = redress_wire::consent::shown(operation);
        assert_eq!(shown.failure("CONSENT_REQUIRED").is_some(), needs, "{}", operation.name());
        assert_eq!(shown.description().contains("It needs a person's consent"), needs, "{}", operation.name());
    }
    assert!(needing > 0);
}

#[test]
fn an_internal_operation_is_in_no_document() {
    let documents = [openapi(&contract(), &info()), openrpc(&contract(), &info())];
    assert!(documents.iter().all(|document| !document.to_string().contains("secret")));
}

#[test]
fn a_page_is_there_for_every_code_and_shows_markup_instead_of_obeying_it() {
    let contract = contract();
    for code in EngineCode::ALL.map(EngineCode::as_str).into_iter().chain(["FILE_NOT_FOUND", "STORE_BUSY"]) {
        let page = pages::code_html(&contract, None, code).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.contains(code), "{code}");
        assert!(!page.contains("<script"), "{code}");
        assert_eq!(pages::code_json(&contract, None, code).unwrap()["code"], code);
    }
    assert!(pages::code_html(&contract, None, "NO_SUCH_CODE").is_none());
    let page = pages::code_html(&contract, None, "FILE_NOT_FOUND").unwrap();
    assert!(page.contains("The file &lt;does&gt; not exist.") && page.contains("files.list"));
    let index = pages::index_html(&contract, &[]);
    assert!(index.contains("errors/FILE_NOT_FOUND") && index.contains("errors/TIMEOUT"));
    let listed = pages::index_json(&contract, &[])["codes"].as_array().unwrap().len();
    assert!(listed > 20 && listed < EngineCode::ALL.len() + 3, "{listed}");
}

#[test]
fn every_document_says_how_a_change_is_verified() {
    let contract = contract();
    let done = json!({"pointer": "/name", "is": "<new>"});
    let openapi = openapi(&contract, &info());
    let write = &openapi["paths"]["/ops/files/write"]["post"];
    assert_eq!(
        (&write["x-redress-verify"]["operation"], &write["x-redress-verify"]["done"]),
        (&json!("files.list"), &done)
    );
    let failures = write["x-redress-failures"].as_array().unwrap();
    let recovery = &failures.iter().find(|failure| failure["code"] == "WRITE_UNSURE").unwrap()["recovery"];
    assert_eq!((&recovery["verb"], &recovery["done"]), (&json!("verify"), &done));
    let answer = referred(&write["responses"]["503"], &openapi);
    let examples = &answer["content"]["application/problem+json"]["examples"];
    let example = &referred(&examples["WRITE_UNSURE"], &openapi)["value"];
    assert_eq!(example["recovery"], json!({"verb": "verify", "operation": "files.list", "done": done}));
    assert_eq!((&example["retry"], &example["retryable"]), (&json!("after_verify"), &json!(false)));
    let openrpc = openrpc(&contract, &info());
    let methods = openrpc["methods"].as_array().unwrap();
    let write = methods.iter().find(|method| method["name"] == "files.write").unwrap();
    assert_eq!(write["x-redress-verify"]["done"], done);
    let page = pages::code_html(&contract, None, "WRITE_UNSURE").unwrap();
    let told = "<code>verify</code> <code>files.list</code>, done where <code>/name is &quot;&lt;new&gt;&quot;</code>";
    assert!(page.contains(told), "{page}");
    let told = pages::code_json(&contract, None, "WRITE_UNSURE").unwrap();
    assert_eq!((&told["recovery"]["verb"], &told["recovery"]["done"]), (&json!("verify"), &done));
}

/// A contract that nobody has registered: its schemas are as they are written.
fn named_parts() -> Contract {
    let schema = json!({
        "$id": "https://x.test/order.json",
        "type": "object",
        "properties": {
            "kids": {"type": "array", "items": {"$ref": "#"}},
            "size": {"$ref": "#size", "maximum": 9},
            "item": {"$ref": "item.json#/$defs/a%20b"},
        },
        "required": ["size"],
        "additionalProperties": false,
        "$defs": {
            "size": {"$anchor": "size", "type": "integer"},
            "item": {"$id": "item.json", "$defs": {"a b": {"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}, "type": "array"}}},
        },
    });
    let failure = FailureDeclaration::new("NOT_THERE", Kind::NotFound).with_details(schema.clone());
    Contract::new([OperationDeclaration::query("orders.find")
        .with_input(schema.clone())
        .with_output(schema)
        .fails(failure)])
}

const FITS: &str = r#"{"kids": [{"size": 2, "item": [[], []]}], "size": 9}"#;
const BREAKS: [&str; 4] = [
    r#"{"kids": [{"size": 10}], "size": 9}"#,
    r#"{"kids": [{"kids": [5], "size": 1}], "size": 9}"#,
    r#"{"size": 9, "item": [[5]]}"#,
    r#"{"size": 9, "other": 1}"#,
];

#[track_caller]
fn assert_means_the_same(schema: &Value, document: &Value) {
    let mut schema = schema.clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{error}: {schema}"));
    assert!(validator.is_valid(&serde_json::from_str(FITS).unwrap()), "{schema}");
    for broken in BREAKS {
        assert!(!validator.is_valid(&serde_json::from_str(broken).unwrap()), "{broken} {schema}");
    }
}

#[test]
fn a_schema_whose_parts_have_names_means_the_same_in_every_document() {
    let contract = named_parts();
    let document = openapi(&contract, &info());
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    for name in ["orders.find.input", "orders.find.output", "failure.NOT_THERE.details"] {
        assert_means_the_same(&of(name), &document);
    }
    let document = openrpc(&contract, &info());
    let method = &document["methods"][0];
    for schema in [&method["x-redress-input"], &method["result"]["schema"], &method["errors"][0]["data"]["details"]] {
        assert_means_the_same(schema, &document);
    }
    let params = method["params"].as_array().unwrap();
    let members: Map<String, Value> =
        params.iter().map(|param| (param["name"].as_str().unwrap().to_owned(), param["schema"].clone())).collect();
    assert_eq!((params[0]["name"].as_str(), &params[0]["required"]), (Some("size"), &json!(true)));
    let whole = json!({"properties": members, "required": ["size"], "additionalProperties": false});
    assert_means_the_same(&whole, &document);
    let tool = Tool::of(&contract.operations()[0], OutputForm::default());
    let tool: Value = serde_json::from_slice(tool.text(Era::Modern).json()).unwrap();
    assert_means_the_same(&tool["inputSchema"], &Value::Null);
    assert_means_the_same(&tool["outputSchema"], &Value::Null);
}

#[test]
fn a_method_whose_input_is_a_reference_has_the_parameters_behind_it() {
    let input = json!({
        "$ref": "#/$defs/Order",
        "$defs": {"Order": {"type": "object", "properties": {"id": {"type": "string"}, "next": {"$ref": "#"}}, "required": ["id"]}},
    });
    let contract = Contract::new([OperationDeclaration::query("orders.find").with_input(input)]);
    let params = openrpc(&contract, &info())["methods"][0]["params"].take();
    assert_eq!(
        params,
        json!([
            {"name": "id", "required": true, "schema": {"type": "string"}},
            {"name": "next", "required": false, "schema": {"$ref": "#/components/schemas/orders.find.input"}},
        ])
    );
}

#[test]
fn a_schema_says_its_dialect_where_open_rpc_would_read_it_in_another() {
    for (schema, is_later) in [
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), false),
        (json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}), false),
        (json!({"properties": {"a": {"$ref": "#/$defs/a", "minLength": 1}}, "$defs": {"a": {"type": "string"}}}), true),
        (json!({"properties": {"a": {"prefixItems": [true]}}}), true),
        (json!({"properties": {"prefixItems": {"type": "string"}}}), false),
        (json!({"properties": {"a": {"format": "uuid"}}}), true),
        (json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}), true),
    ] {
        let contract = Contract::new([OperationDeclaration::query("orders.find").with_input(schema.clone())]);
        let input = openrpc(&contract, &info())["methods"][0]["x-redress-input"].take();
        assert_eq!(input.get("$schema").is_some(), is_later, "{schema} {input}");
    }
}

#[test]
fn a_schema_that_cannot_be_bundled_is_shown_as_it_is() {
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "https://x.test/elsewhere"}}, "$comment": "kept"});
    let operation = OperationDeclaration::query("orders.find").with_input(schema.clone());
    let tool: Value =
        serde_json::from_slice(Tool::of(&operation, OutputForm::default()).text(Era::Legacy).json()).unwrap();
    assert_eq!(tool["inputSchema"], schema);
    let document = openapi(&Contract::new([operation]), &info());
    assert_eq!(document["components"]["schemas"]["orders.find.input"], schema);
}
