//! What is internal stays internal: in every document, list, page and answer, for all but callers with the scope.

use std::{future::Future, pin::Pin, sync::Arc};

use redress_core::{
    DynamicFailure, IdentityError, IdentityProvider, Operation, Registry, Secret,
    contract::{self, Access, Caller, Deprecation, Effect, FailureDeclaration, Kind, Recovery},
    testing::Canary,
};
use redress_mcp::Profile;
use serde_json::{Value, json};

use crate::service::{LEGACY, MODERN, Running, message};

/// All that is internal here has this in its name: operations and scopes.
const INTERNAL: &str = "vault";

struct Tokens;

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            match token.expose() {
                "ada" => Ok(Caller::new("ada").scopes(["orders:write", "metrics:write"])),
                "eve" => Ok(Caller::new("eve").scopes(["orders:write", "internals:read"])),
                _ => Err(IdentityError::Invalid),
            }
        })
    }
}

fn text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": false})
}

fn refused() -> FailureDeclaration {
    FailureDeclaration::new("REFUND_REFUSED", Kind::Conflict)
        .with_when("The order cannot be refunded.")
        .with_effect(Effect::None)
        .with_recovery(Recovery::call("orders.list", "Look at the orders and pick one."))
}

/// Operations that are open to everyone, and call and name internal ones.
fn registry() -> Registry {
    let open = |operation: contract::OperationDeclaration| {
        operation.with_summary("About orders.").with_access(Access::anyone())
    };
    let list = Operation::dynamic(open(contract::OperationDeclaration::query("orders.list")))
        .with_handler(|_, _| async { Ok(json!([])) });
    let refund = open(contract::OperationDeclaration::mutation("orders.refund"))
        .with_call("vault.book_entry")
        .with_authority("vault:write_all")
        .with_deprecated(Deprecation {
            since: "2.0.0".to_owned(),
            replaced_by: Some("vault.successor".to_owned()),
            ..Deprecation::default()
        })
        .fails(refused());
    let refund = Operation::dynamic(refund).with_handler(|ctx, _| async move {
        ctx.call_dynamic("vault.book_entry", json!({})).await?;
        Ok(json!("refunded"))
    });
    let deny = Operation::dynamic(open(contract::OperationDeclaration::query("orders.deny").fails(refused())))
        .with_handler(|_, _| async {
            let failure = redress_core::Fail::from(DynamicFailure::new("REFUND_REFUSED", json!({})));
            Err(failure.with_next_action("vault.book_entry", &json!({}), "it may help"))
        });
    let letter =
        open(contract::OperationDeclaration::query("orders.letter")).prompt().with_messages().with_input(text("order"));
    let letter = letter.fails(refused());
    let letter = Operation::dynamic(letter.with_completion("order", "vault.offer"))
        .with_handler(|_, _| async { Ok(json!({"messages": []})) });
    let page = open(contract::OperationDeclaration::query("orders.page"))
        .resource("orders://{order}")
        .with_input(text("order"));
    let page = page.fails(refused());
    let page = Operation::dynamic(page.with_completion("order", "vault.offer").with_output(json!({"type": "string"})))
        .with_handler(|_, _| async { Ok(json!("a page")) });
    let internal = |name: &str| contract::OperationDeclaration::query(name).with_summary("About the vault.").internal();
    let closed = FailureDeclaration::new("BOOK_CLOSED", Kind::Conflict)
        .with_when("The vault is closed.")
        .with_message("the vault is closed")
        .with_effect(Effect::None)
        .with_recovery(Recovery::call("vault.successor", "Open the vault with the other one."));
    let book = internal("vault.book_entry").with_access(Access::caller().scope("vault:write_all")).fails(closed);
    let book = Operation::dynamic(book.with_access(Access::caller().scope("vault:write_all")))
        .with_handler(|_, _| async { Err(DynamicFailure::new("BOOK_CLOSED", json!({})))? });
    let successor = internal("vault.successor").with_access(Access::caller().scope("vault:write_all"));
    let successor = Operation::dynamic(successor).with_handler(|_, _| async { Ok(json!(1)) });
    let members = json!({"argument": {"type": "string"}, "value": {"type": "string"}, "given": {"type": "object"}});
    let offer = internal("vault.offer").with_access(Access::caller().scope("vault:read_all"));
    let offer = offer
        .with_input(json!({"type": "object", "properties": members}))
        .with_output(json!({"type": "array", "items": {"type": "string"}}));
    let offer = Operation::dynamic(offer).with_handler(|_, _| async { Ok(json!(["o-1"])) });
    let all = [list, refund, deny, letter, page, book, successor, offer];
    let all = all.into_iter().chain(redress_serve::discovery());
    all.fold(Registry::builder(), |builder, one| builder.add(one)).identity(Tokens).build().unwrap()
}

async fn running() -> Running {
    Running::of(registry(), Canary::new(), Arc::default(), |_| {}, |http| http.anonymous = true).await
}

/// Every document and page over HTTP.
const PAGES: [&str; 12] = [
    "/ops",
    "/ops/orders/refund",
    "/ops/orders/letter",
    "/ops/orders/page",
    "/contract.json",
    "/openapi.json",
    "/openrpc.json",
    "/errors",
    "/errors/REFUND_REFUSED",
    "/errors/BOOK_CLOSED",
    "/healthz",
    "/readyz",
];

/// Calls whose answers tell of operations, or fail.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("services.list", json!({})),
        ("services.schema", json!({"name": "orders.refund"})),
        ("services.schema", json!({"name": "orders.letter"})),
        ("services.schema", json!({"name": "valt.book_entry"})),
        ("errors.explain", json!({"code": "REFUND_REFUSED"})),
        ("errors.explain", json!({"code": "BOK_CLOSED"})),
        ("orders.refund", json!({})),
        ("orders.deny", json!({})),
        ("valt.book_entry", json!({})),
    ]
}

/// Requests of MCP that tell of operations, or fail.
fn requests() -> Vec<(&'static str, Value)> {
    let complete = |reference: Value| {
        ("completion/complete", json!({"ref": reference, "argument": {"name": "order", "value": ""}}))
    };
    let mut requests = vec![
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        complete(json!({"type": "ref/prompt", "name": "orders_letter"})),
        complete(json!({"type": "ref/resource", "uri": "orders://{order}"})),
        complete(json!({"type": "ref/resource", "uri": "redress://operations/{name}"})),
        complete(json!({"type": "ref/resource", "uri": "redress://errors/{code}"})),
    ];
    let read =
        ["errors", "errors/REFUND_REFUSED", "operations", "operations/orders.refund", "operations/orders.letter"];
    requests.extend(read.map(|about| ("resources/read", json!({"uri": format!("redress://{about}")}))));
    let tool =
        |(name, input): (&str, Value)| ("tools/call", json!({"name": name.replace('.', "_"), "arguments": input}));
    requests.extend(calls().into_iter().map(tool));
    requests
}

/// Every text that the service gives to who has this token, with where it is from.
async fn all_of(running: &Running, token: Option<&str>) -> Vec<(String, String)> {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut texts = Vec::new();
    let base = format!("http://{}", running.address);
    let send = async |about: String, request: reqwest::RequestBuilder| {
        let request = bearer.iter().fold(request, |request, bearer| request.header("authorization", bearer));
        let response = request.header("content-type", "application/json").send().await.unwrap();
        (about, response.text().await.unwrap())
    };
    for (page, accept) in PAGES.iter().flat_map(|page| {
        ["application/json", "text/html", "application/vnd.redress.operation+json"].map(|accept| (page, accept))
    }) {
        let request = running.client.get(format!("{base}{page}")).header("accept", accept);
        texts.push(send(format!("{page} as {accept}"), request).await);
    }
    for (name, input) in calls() {
        let call = json!({"operation": name, "input": input});
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": name, "params": input});
        for (path, body) in [
            ("/call".to_owned(), call.clone()),
            ("/batch".to_owned(), json!([call])),
            ("/rpc".to_owned(), rpc),
            (format!("/ops/{}", name.replace('.', "/")), input.clone()),
        ] {
            let request = running.client.post(format!("{base}{path}")).body(body.to_string());
            texts.push(send(format!("{name} by {path}"), request).await);
        }
    }
    for (version, (method, params)) in
        [LEGACY, MODERN].into_iter().flat_map(|version| requests().into_iter().map(move |request| (version, request)))
    {
        let about = format!("{method} {params} of {version}");
        let (body, headers) = message(version, method, params);
        let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
        let headers: Vec<(&str, &str)> =
            headers.chain(bearer.iter().map(|token| ("authorization", token.as_str()))).collect();
        texts.push((about, running.send(body, &headers).await.text));
    }
    texts
}

#[tokio::test]
async fn what_is_internal_is_in_no_answer_of_any_face() {
    let running = running().await;
    for token in [None, Some("ada")] {
        for (about, text) in all_of(&running, token).await {
            assert!(!text.is_empty(), "{about}");
            assert!(!text.to_lowercase().contains(INTERNAL), "{about} of {token:?}: {text}");
            assert!(!text.contains("\"calls\"") && !text.contains("x-redress-calls"), "{about} of {token:?}: {text}");
        }
    }
}

#[tokio::test]
async fn callers_with_the_scope_are_told_what_operations_are_made_of() {
    let running = running().await;
    let texts = all_of(&running, Some("eve")).await;
    let told: Vec<&str> = texts
        .iter()
        .filter(|(_, text)| text.contains("vault.book_entry") && text.contains("vault:write_all"))
        .map(|(about, _)| about.as_str())
        .collect();
    for about in ["/contract.json as application/json", "/openapi.json as application/json"] {
        assert!(told.contains(&about), "{told:?}");
    }
    for about in [
        "/ops/orders/refund as",
        "services.schema by /call",
        "services.schema by /rpc",
        "redress://operations/orders.refund",
    ] {
        assert!(told.iter().any(|told| told.contains(about)), "{about}: {told:?}");
    }
    // What is kept of the documents for callers with the scope is not for the next one.
    for (about, text) in all_of(&running, None).await {
        assert!(!text.to_lowercase().contains(INTERNAL), "{about}: {text}");
    }
    let (_, explained) = texts.iter().find(|(about, _)| about.starts_with("/errors/BOOK_CLOSED")).unwrap();
    assert!(explained.contains("NOT_FOUND"), "the codes of internal operations are nobody's: {explained}");
}

#[tokio::test]
async fn what_is_outside_the_profile_is_named_nowhere_on_the_face() {
    let options = |options: &mut redress_mcp::McpOptions| {
        options.profile = Some(Profile::new("some", ["orders.deny", "orders.letter", "services.*", "errors.*"]));
    };
    let running = Running::of(registry(), Canary::new(), Arc::default(), options, |http| http.anonymous = true).await;
    for version in [LEGACY, MODERN] {
        for (method, params) in requests() {
            // What was asked for comes back, and is the asker's own word.
            if params.to_string().contains("orders.refund") || params.to_string().contains("orders_refund") {
                continue;
            }
            let text = running.ask(version, method, params.clone()).await.text;
            for outside in ["orders.list", "orders_list", "orders.refund", "orders_refund", "orders.page"] {
                assert!(!text.contains(outside), "{method} {params}: {text}");
            }
        }
        let denied = running.call(version, "orders_deny", json!({})).await.result();
        let envelope = crate::service::failure(&denied);
        assert_eq!((&envelope["recovery"], envelope.get("next_actions")), (&json!({"verb": "ask_user"}), None));
    }
}

#[tokio::test]
async fn an_argument_that_cannot_be_completed_tells_nothing_of_what_completes_it() {
    let running = running().await;
    let reference = json!({"type": "ref/prompt", "name": "orders_letter"});
    let params = json!({"ref": reference, "argument": {"name": "order", "value": ""}});
    let answer = running.ask(LEGACY, "completion/complete", params).await.json();
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]["code"]), (&json!(-32603), &json!("INTERNAL")));
    assert!(answer["error"]["data"].get("details").is_none(), "{answer}");
}

#[tokio::test]
async fn what_is_hidden_is_named_in_no_answer_of_any_face() {
    let registry = registry();
    let running =
        Running::of(registry.clone(), Canary::new(), Arc::default(), |_| {}, |http| http.anonymous = true).await;
    let named = |texts: Vec<(String, String)>| {
        let named = texts.into_iter().filter(|(_, text)| text.contains("orders.list") || text.contains("orders_list"));
        named.map(|(about, _)| about).collect::<Vec<_>>()
    };
    assert!(named(all_of(&running, None).await).len() > 30);
    assert!(registry.changes().hide("orders.list"));
    assert_eq!(named(all_of(&running, None).await), Vec::<String>::new());
    assert_eq!(named(all_of(&running, Some("eve")).await), Vec::<String>::new());
}

#[tokio::test]
async fn a_tool_that_is_hidden_is_named_by_no_other() {
    let registry = registry();
    let running =
        Running::of(registry.clone(), Canary::new(), Arc::default(), |_| {}, |http| http.anonymous = true).await;
    let listed = async || running.ask(LEGACY, "tools/list", json!({})).await.text;
    assert!(listed().await.contains("REFUND_REFUSED (call orders_list)"));
    assert!(registry.changes().hide("orders.list"));
    let hidden = listed().await;
    assert!(!hidden.contains("orders_list") && !hidden.contains("orders.list"), "{hidden}");
    assert!(hidden.contains("REFUND_REFUSED (ask the user)"));
    assert!(registry.changes().show("orders.list"));
    assert!(listed().await.contains("REFUND_REFUSED (call orders_list)"));
}
