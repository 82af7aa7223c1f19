//! Contracts as tools, and outcomes as results.

use redress_contract::{OperationDeclaration, Origin, Shape};
use redress_wire::mcp::{
    CacheScope, Caching, Capabilities, EnvelopeUse, Era, ListKind, ListPages, OutputForm, OutputSchema, ServerInfo,
    Tool, cost, discover_result, initialize_result, instructions,
};
use serde_json::{Value, json};

use crate::service::contract;

const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];
const SCHEMAS: [OutputSchema; 3] = [OutputSchema::Success, OutputSchema::Union, OutputSchema::None];

fn each_tool(check: impl Fn(&OperationDeclaration, OutputForm, Era, &Value)) {
    for operation in contract().operations() {
        for output_schema in SCHEMAS {
            for envelope in [EnvelopeUse::Failures, EnvelopeUse::Always] {
                let form = OutputForm { output_schema, envelope, ..OutputForm::default() };
                let tool = Tool::of(operation, form);
                for era in ERAS {
                    check(operation, form, era, &serde_json::from_slice(tool.text(era).json()).unwrap());
                }
            }
        }
    }
}

#[test]
fn a_tool_is_named_and_described_as_its_operation_is() {
    each_tool(|operation, _, _, tool| {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(name, operation.tool_name());
        assert!(name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
        assert_eq!(tool["annotations"]["readOnlyHint"], operation.shape() != Shape::Mutation);
        let description = tool["description"].as_str().unwrap();
        for failure in operation.failures() {
            assert!(description.contains(failure.code().as_str()), "{description}");
        }
        let consent = operation.access().needs_consent();
        assert_eq!(description.contains("CONSENT_REQUIRED (ask the user)"), consent, "{description}");
        let runs_source = matches!(operation.content(), redress_contract::Content::Eval { .. });
        for code in ["EVAL_BLOCKED_KEYWORD", "EVAL_BLOCKED_CONSTRUCT", "EVAL_UNPARSABLE"] {
            assert_eq!(description.contains(code), runs_source, "{description}");
        }
        let fails = consent || runs_source || !operation.failures().is_empty();
        assert_eq!(description.contains("\nFails with: "), fails);
        let told = tool["_meta"]["dev.redress/failures"].as_array().map_or(0, Vec::len);
        assert_eq!(told, operation.failures().len() + usize::from(consent));
    });
}

#[test]
fn the_hints_of_a_tool_come_from_its_shape_and_where_it_runs() {
    let hints = |operation: OperationDeclaration| -> Value {
        let tool = Tool::of(&operation, OutputForm::default());
        serde_json::from_slice::<Value>(tool.text(Era::Modern).json()).unwrap()["annotations"].take()
    };
    let query = || OperationDeclaration::query("orders.find").with_summary("Find.");
    assert_eq!(hints(query()), json!({"readOnlyHint": true, "idempotentHint": true}));
    let mutation = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false});
    assert_eq!(hints(OperationDeclaration::mutation("orders.place").with_summary("Place.")), mutation);
    for (origin, elsewhere) in
        [(Origin::Local, false), (Origin::Extension, false), (Origin::Openapi, true), (Origin::Mcp, true)]
    {
        let told = hints(query().with_origin(origin));
        assert_eq!(told.get("openWorldHint"), elsewhere.then_some(&json!(true)), "{told}");
    }
}

#[test]
fn a_tool_says_what_to_verify_a_call_with_that_was_cut_off() {
    each_tool(|operation, _, _, tool| {
        let description = tool["description"].as_str().unwrap();
        let is_verified = operation.verification().is_some();
        // A failure of it names the same tool, and that says it once.
        assert!(!description.contains("Cut off"), "{description}");
        let cut_off = operation.clone().without_failures();
        let alone: Value = serde_json::from_str(Tool::of(&cut_off, OutputForm::default()).shown()).unwrap();
        let alone = alone["description"].as_str().unwrap();
        assert_eq!(alone.ends_with("\nCut off: verify with files_list."), is_verified, "{alone}");
        assert_eq!(
            description.contains("WRITE_UNSURE (verify with files_list, retryable)"),
            is_verified,
            "{description}"
        );
        let told = &tool["_meta"]["dev.redress/verify"];
        assert_eq!(told, &serde_json::to_value(operation.verification()).unwrap());
    });
}

#[test]
fn every_schema_of_a_tool_is_sound_and_its_root_an_object_where_it_has_to_be() {
    each_tool(|operation, form, era, tool| {
        let input = &tool["inputSchema"];
        assert_eq!(input["type"], "object", "{}", operation.name());
        jsonschema::draft202012::new(input).unwrap();
        let Some(output) = tool.get("outputSchema") else { return };
        assert_ne!(form.output_schema, OutputSchema::None);
        jsonschema::draft202012::new(output).unwrap();
        assert!(era == Era::Modern || output["type"] == "object", "{output}");
        let text = tool.to_string();
        assert!(!text.contains(r#""x-"#) && !text.contains(r#""$schema""#), "{text}");
    });
}

#[test]
fn the_same_contract_gives_the_same_bytes_and_the_cost_is_theirs() {
    for operation in contract().operations() {
        let (one, other) = (Tool::of(operation, OutputForm::default()), Tool::of(operation, OutputForm::default()));
        for era in ERAS {
            assert_eq!(one.text(era).json(), other.text(era).json());
        }
        let cost = cost(&one);
        let whole: Value = serde_json::from_slice(one.text(Era::Legacy).json()).unwrap();
        let shown: Value = serde_json::from_str(one.shown()).unwrap();
        assert_eq!(cost.bytes, one.shown().len());
        for member in ["name", "description", "inputSchema"] {
            assert_eq!(shown[member], whole[member], "what is counted is what is listed");
        }
        assert!(cost.tokens <= cost.bytes.div_ceil(4) && cost.tokens > 0);
    }
}

#[test]
fn a_cursor_leads_through_its_own_list_only() {
    let tools: Vec<Vec<u8>> = (0..7).map(|n| format!(r#"{{"name":"t{n}"}}"#).into_bytes()).collect();
    let texts: Vec<&[u8]> = tools.iter().map(Vec::as_slice).collect();
    let caching = Caching { ttl_ms: 5, scope: CacheScope::Private };
    let list = ListPages::new(ListKind::Tools, &texts, 3, Era::Modern, caching);
    let other = ListPages::new(ListKind::Tools, texts.get(..6).unwrap(), 3, Era::Modern, caching);
    let (mut cursor, mut seen) = (None, 0);
    for _ in 0..list.pages() {
        let page: Value = serde_json::from_slice(list.page(cursor.as_deref()).unwrap()).unwrap();
        seen += page["tools"].as_array().unwrap().len();
        assert_eq!((page["ttlMs"].as_u64(), page["cacheScope"].as_str()), (Some(5), Some("private")));
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        assert!(cursor.as_deref().is_none_or(|cursor| other.page(Some(cursor)).is_none()));
    }
    assert_eq!((seen, cursor), (7, None));
    let empty = ListPages::new(ListKind::Tools, &[], 3, Era::Legacy, caching);
    assert_eq!(empty.page(None), Some(br#"{"tools":[]}"#.as_slice()));
}

#[test]
fn the_server_says_once_what_every_tool_can_answer() {
    let info = ServerInfo {
        name: "demo".to_owned(),
        title: Some("Demonstration".to_owned()),
        version: "1.0.0".to_owned(),
        description: Some("Keeps notes.".to_owned()),
    };
    let shared = redress_wire::mcp::SharedFailures::default();
    let told = instructions(&info, &shared, &|_| true, &|_| redress_wire::mcp::Spoken::Other);
    insta::assert_snapshot!(told);
    let can = Capabilities { tools: true, ..Capabilities::default() };
    let caching = Caching { ttl_ms: 5, scope: CacheScope::Public };
    let initialize: Value = serde_json::from_slice(&initialize_result("2025-11-25", &info, can, &told)).unwrap();
    let discover: Value = serde_json::from_slice(&discover_result(&info, can, caching, &told)).unwrap();
    assert_eq!(
        (initialize["serverInfo"]["title"].as_str(), &initialize["instructions"]),
        (Some("Demonstration"), &told.into())
    );
    assert_eq!(initialize["capabilities"], discover["capabilities"]);
    assert_eq!(initialize["serverInfo"], discover["_meta"]["io.modelcontextprotocol/serverInfo"]);
    assert_eq!((discover["ttlMs"].as_u64(), discover["cacheScope"].as_str()), (Some(5), Some("public")));
}
