//! One code of several operations: its page shows what each of them declares, wherever it is read.

use redress_cli::Program;
use redress_core::{
    DynamicFailure, Operation, Outcome, Registry,
    contract::{self, Access, Effect, FailureDeclaration, Kind, Recovery},
};
use redress_serve::{Faces, discovery};
use serde_json::{Value, json};

const HOLD: &str = "Hold the last one while you ask.";
const FIX: &str = "Ask for fewer, or for another one.";

fn of(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// The code as `shop.buy` declares it, but for what its others may say in another way.
fn out_of_stock() -> FailureDeclaration {
    FailureDeclaration::new("OUT_OF_STOCK", Kind::Conflict)
        .with_when("There are too few in the store.")
        .with_message("only {left} are left")
        .with_effect(Effect::None)
        .with_details(of(json!({"left": {"type": "integer"}})))
        .with_recovery(Recovery::fix_input("/number", FIX))
}

fn operation(name: &str, failure: FailureDeclaration) -> contract::OperationDeclaration {
    contract::OperationDeclaration::mutation(name)
        .with_summary("Take something from the store.")
        .with_access(Access::anyone())
        .with_input(of(json!({"number": {"type": "integer"}})))
        .fails(failure)
}

fn registry() -> Registry {
    let moved = FailureDeclaration::new("OUT_OF_STOCK", Kind::Conflict)
        .with_when("There are too few in the store.")
        .with_message("the shelf `{shelf}` is empty")
        .with_effect(Effect::Unknown)
        .with_details(of(json!({"shelf": {"type": "string"}})))
        .with_recovery(Recovery::ask_user(HOLD));
    let declared = [
        operation("shop.buy", out_of_stock()),
        operation("shop.move", moved),
        operation("shop.gift", out_of_stock()),
        operation("shop.inner", out_of_stock()).internal(),
    ];
    let handler = |_, _| async { Outcome::<Value, DynamicFailure>::Ok(Value::Null) };
    let operations = declared.map(|declaration| Operation::dynamic(declaration).with_handler(handler));
    let all = operations.into_iter().chain(discovery());
    all.fold(Registry::builder(), |builder, operation| builder.add(operation)).build().unwrap()
}

/// Asserts that a page says of each operation what that operation declares, and of all what all declare.
#[track_caller]
fn assert_apart(page: &Value, operations: &[&str]) {
    for (member, value) in
        [("kind", json!("conflict")), ("http", json!(409)), ("when", json!("There are too few in the store."))]
    {
        assert_eq!(page[member], value, "{page}");
    }
    for member in ["message", "details", "effect", "recovery"] {
        assert_eq!(page.get(member), None, "{member} is not the same in all: {page}");
    }
    let rows = page["operations"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), operations);
    for row in rows {
        let moved = row["name"] == "shop.move";
        let (message, effect) =
            if moved { ("the shelf `{shelf}` is empty", "unknown") } else { ("only {left} are left", "none") };
        assert_eq!((&row["message"], &row["effect"]), (&json!(message), &json!(effect)), "{row}");
        assert_eq!(row["details"]["properties"].get("shelf").is_some(), moved, "{row}");
        let (verb, hint) = if moved { ("ask_user", HOLD) } else { ("fix_input", FIX) };
        assert_eq!((&row["recovery"]["verb"], &row["recovery"]["hint"]), (&json!(verb), &json!(hint)), "{row}");
        assert_eq!(row.get("when"), None, "it is the same in all: {row}");
    }
}

fn run(words: &[&str]) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let words = ["shop"].iter().chain(words);
    assert_eq!(Program::of(registry()).named("shop").run(words, &mut out, &mut err), 0);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_command_explains_a_code_by_operation() {
    let page: Value = serde_json::from_str(&run(&["explain", "OUT_OF_STOCK", "--json"])).unwrap();
    // Whoever has the program has all of its operations.
    assert_apart(&page, &["shop.buy", "shop.move", "shop.gift", "shop.inner"]);
    insta::assert_snapshot!(run(&["explain", "out_of_stock"]));
}

#[tokio::test]
async fn the_page_the_operation_and_the_resource_explain_a_code_by_operation() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(Faces::new(registry()).serve(listener, std::future::pending()));
    let client = reqwest::Client::new();
    let served = ["shop.buy", "shop.move", "shop.gift"];

    let page = client.get(format!("{url}/errors/OUT_OF_STOCK")).header("accept", "application/json").send();
    assert_apart(&serde_json::from_str(&page.await.unwrap().text().await.unwrap()).unwrap(), &served);

    let page = client.get(format!("{url}/errors/OUT_OF_STOCK")).header("accept", "text/html").send();
    let page = page.await.unwrap().text().await.unwrap();
    for part in
        ["only {left} are left", "the shelf `{shelf}` is empty", HOLD, FIX, "&quot;shelf&quot;", "&quot;left&quot;"]
    {
        assert!(page.contains(part), "{part} is in {page}");
    }
    let (_, by_operation) = page.split_once("<h2>By operation</h2>").unwrap();
    let (_, moved) = by_operation.split_once("<h3><code>shop.move</code></h3>").unwrap();
    let (moved, _) = moved.split_once("<h3>").unwrap();
    assert!(moved.contains(HOLD) && !moved.contains(FIX) && moved.contains("unknown"), "{moved}");
    assert!(!page.contains("shop.inner"), "{page}");

    let post = |path: &str, body: Value| {
        let request = client.post(format!("{url}{path}")).header("content-type", "application/json");
        request.header("accept", "application/json, text/event-stream").body(body.to_string()).send()
    };
    let answer = post("/ops/errors/explain", json!({"code": "OUT_OF_STOCK"})).await.unwrap().text().await.unwrap();
    assert_apart(&serde_json::from_str(&answer).unwrap(), &served);

    let params = json!({"uri": "redress://errors/OUT_OF_STOCK"});
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let answer: Value = serde_json::from_str(&post("/mcp", read).await.unwrap().text().await.unwrap()).unwrap();
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_apart(&serde_json::from_str(text).unwrap(), &served);
}

#[test]
fn a_code_that_all_declare_alike_is_told_once() {
    let declaration = operation("shop.buy", out_of_stock());
    let same = operation("shop.gift", out_of_stock());
    let contract = contract::Contract::new([declaration, same]);
    let page = redress_wire::pages::code_json(&contract, None, "OUT_OF_STOCK").unwrap();
    assert_eq!(page["operations"], json!([{"name": "shop.buy"}, {"name": "shop.gift"}]));
    assert_eq!((&page["message"], &page["effect"]), (&json!("only {left} are left"), &json!("none")));
    assert_eq!((&page["recovery"]["hint"], &page["details"]["type"]), (&json!(FIX), &json!("object")));
    let html = redress_wire::pages::code_html(&contract, None, "OUT_OF_STOCK").unwrap();
    assert!(!html.contains("By operation") && html.matches(FIX).count() == 1, "{html}");
}
