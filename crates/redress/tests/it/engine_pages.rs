//! The page of each engine code shows what is really answered: here each one happens, as its page tells it.
//!
//! Why so: docs/decisions/0067-what-refuses-says-so-alike.md.
#![cfg(all(feature = "limits", feature = "serve"))]

use std::{
    future::{pending, ready},
    io,
    time::Duration,
};

use axum::{body::Body, extract::Request as HttpRequest};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use redress::{
    Access, Blocked, Caller, Consent, ConsentMemory, ConsentScope, ConsentStore, ContentGuard, DynamicFailure,
    EngineCode, Event, Events, Exhausted, HeldConsent, Operation, QuotaHold, QuotaRefused, QuotaShare, QuotaStore,
    QuotaWindow, Registry, Request, StoreError, UpstreamFailure, consent_grant,
    contract::{self, Streaming},
    limits::{LimitOptions, LimitRule, Limits},
    serve::Faces,
    testing::Harness,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::service::{built, ends, fails, mutation, query, registry, soon, subscription, with};

/// Consents that the command could give in a folder.
struct InFolder(ConsentMemory);

impl ConsentStore for InFolder {
    fn has<'a>(&'a self, caller: &'a Caller, name: &'a contract::Name) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.has(caller, name)
    }

    fn grant(&self, consent: Consent) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.grant(consent)
    }

    fn withdraw<'a>(&'a self, caller: &'a str, scope: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.withdraw(caller, scope)
    }

    fn list<'a>(&'a self, caller: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>> {
        self.0.list(caller)
    }

    fn is_in_folder(&self) -> bool {
        true
    }
}

/// The example on the page of a code, and what was really answered, each without what differs from call to call.
fn alike(mut envelope: Value) -> Value {
    let meta = envelope["_meta"].as_object_mut().unwrap();
    for member in ["request_id", "elapsed_ms"] {
        assert!(meta.remove(member).is_some(), "{member}");
    }
    envelope
}

fn shown(code: EngineCode) -> Value {
    let (_, rest) = code.page().split_once("## Example\n").unwrap();
    let (_, rest) = rest.split_once("```json\n").unwrap();
    alike(serde_json::from_str(rest.split_once("```").unwrap().0).unwrap())
}

/// What one message to the generic face is answered with.
async fn posted(body: &'static str) -> Value {
    let faces = Faces::new(registry(Registry::builder())).router();
    let request = HttpRequest::post("/call").header("content-type", "application/json").body(Body::from(body)).unwrap();
    let response = faces.oneshot(request).await.unwrap();
    serde_json::from_slice(&axum::body::to_bytes(response.into_body(), 65_536).await.unwrap()).unwrap()
}

/// A content guard that looks for what the pages speak of.
struct Looks;

impl ContentGuard for Looks {
    fn language(&self) -> &str {
        "javascript"
    }

    fn check(&self, source: &str) -> Result<(), Blocked> {
        if source.contains("import(") {
            return Err(Blocked::Construct("dynamic_import".into()));
        }
        if source.contains("require") {
            return Err(Blocked::Keyword("require".into()));
        }
        if source.matches('(').count() == source.matches(')').count() { Ok(()) } else { Err(Blocked::Unparsable) }
    }
}

async fn evaluated(source: &str) -> Value {
    let declaration = mutation("page.evaluate").with_eval("source", "javascript").with_input(json!({
        "type": "object",
        "properties": {"source": {"type": "string"}},
        "required": ["source"],
        "additionalProperties": false,
    }));
    let harness = built(Registry::builder().content_guard(Looks).add(ends(declaration, || Ok(json!(null)))));
    harness.call("page.evaluate", json!({"source": source})).await.json()
}

/// `orders.refund`, whose first call ends in a fault.
fn refund() -> Harness {
    with(ends(mutation("orders.refund").with_idempotency_key(), || Err(io::Error::other("the ledger is shut").into())))
}

async fn refunded(harness: &Harness, input: &Value) -> Value {
    let request = Request::new(input.to_string().into_bytes()).with_idempotency_key("refund-81");
    harness.send("orders.refund", request).await.json()
}

fn limited(rule: LimitRule, operation: Operation) -> Harness {
    let mut options = LimitOptions::default();
    options.rules.push(rule);
    built(Registry::builder().add(operation).limit(Limits::new(options).unwrap()))
}

fn never(declaration: contract::OperationDeclaration) -> Operation {
    Operation::dynamic(declaration).with_handler(|_, _| pending())
}

/// An allowance of ten a day that is used up in the afternoon.
struct UsedUp;

impl QuotaStore for UsedUp {
    fn reserve<'a>(
        &'a self,
        _: &'a str,
        _: &'a [QuotaShare],
    ) -> BoxFuture<'a, Result<Box<dyn QuotaHold>, QuotaRefused>> {
        let exhausted = Exhausted {
            window: QuotaWindow::Day,
            limit: 10,
            used: 10,
            renews: 1_772_323_200,
            renews_in: Duration::from_secs(20_700),
            allowances: Vec::new(),
        };
        Box::pin(ready(Err(QuotaRefused::Exhausted(Box::new(exhausted)))))
    }
}

/// Makes the code happen, as its page tells it.
async fn happened(code: EngineCode) -> Value {
    match code {
        EngineCode::NotFound => {
            let files = ["files.read", "files.list"].map(|name| ends(query(name), || Ok(json!(null))));
            let builder = files.into_iter().fold(Registry::builder(), redress::Builder::add);
            built(builder).call("files.raed", json!({})).await.json()
        }
        EngineCode::AuthRequired => {
            let refund = mutation("orders.refund").with_access(Access::caller());
            with(ends(refund, || Ok(json!(null)))).anonymous().call("orders.refund", json!({})).await.json()
        }
        EngineCode::Forbidden => {
            let refund = mutation("orders.refund").with_access(Access::caller().scope("orders.write"));
            let ada = with(ends(refund, || Ok(json!(null)))).as_caller(Caller::new("ada").scopes(["orders.read"]));
            ada.call("orders.refund", json!({})).await.json()
        }
        EngineCode::ConsentRequired => {
            let delete = mutation("files.remove").with_access(Access::caller().consent());
            let builder = Registry::builder().add(consent_grant()).add(ends(delete, || Ok(json!(null))));
            let builder = builder.consent(InFolder(ConsentMemory::new()));
            built(builder).call("files.remove", json!({})).await.json()
        }
        EngineCode::InvalidInput => {
            let read = query("files.read").with_input(json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["path"],
                "additionalProperties": false,
            }));
            let input = json!({"path": "notes/a.md", "limt": 5});
            with(ends(read, || Ok(json!(null)))).call("files.read", input).await.json()
        }
        EngineCode::InvalidOperationType => {
            let watch = Operation::dynamic(subscription("orders.watch"))
                .with_stream_handler(|_, _| ready(Ok(Events::new(stream::empty()))));
            with(watch).call("orders.watch", json!({})).await.json()
        }
        EngineCode::EvalBlockedKeyword => evaluated("require('fs')").await,
        EngineCode::EvalBlockedConstruct => evaluated("import(name)").await,
        EngineCode::EvalUnparsable => evaluated("alert(1").await,
        EngineCode::PayloadTooLarge => {
            let write = with(ends(mutation("files.write").with_max_input(1 << 20), || Ok(json!(null))));
            let input = format!("{{\"text\":\"{}\"}}", "x".repeat((3 << 20) - 11));
            write.send("files.write", Request::new(input.into_bytes())).await.json()
        }
        EngineCode::RateLimited => {
            let mut rule = LimitRule::new(["search.query"]);
            rule.rate = Some("30/min".parse().unwrap());
            let harness = limited(rule, ends(query("search.query"), || Ok(json!(null))));
            for _ in 0..30 {
                assert_eq!(harness.call("search.query", json!({})).await.code(), None);
            }
            harness.call("search.query", json!({})).await.json()
        }
        EngineCode::Overloaded => {
            let mut rule = LimitRule::new(["reports.build"]);
            rule.in_flight_total = Some(1);
            let harness = limited(rule, never(query("reports.build")));
            let first = harness.clone();
            let running = tokio::spawn(async move { first.call("reports.build", json!({})).await });
            tokio::task::yield_now().await;
            let refused = harness.call("reports.build", json!({})).await.json();
            running.abort();
            refused
        }
        EngineCode::IdempotencyConflict => {
            let harness = with(ends(mutation("orders.refund").with_idempotency_key(), || Ok(json!(null))));
            refunded(&harness, &json!({"euros": 15})).await;
            refunded(&harness, &json!({"euros": 20})).await
        }
        EngineCode::OutcomeUnknown => {
            let (harness, input) = (refund(), json!({"euros": 15}));
            assert_eq!(refunded(&harness, &input).await["code"], "INTERNAL");
            refunded(&harness, &input).await
        }
        EngineCode::Timeout => {
            let refund = mutation("orders.refund").with_deadline(Duration::from_secs(30));
            soon(with(never(refund)).call("orders.refund", json!({}))).await.json()
        }
        EngineCode::Cancelled => {
            let token = CancellationToken::new();
            let request = Request::new(b"{}").with_cancellation(token.clone());
            let harness = with(never(mutation("reports.build")));
            let after = async {
                tokio::time::sleep(Duration::from_millis(840)).await;
                token.cancel();
            };
            tokio::join!(harness.send("reports.build", request), after).0.json()
        }
        EngineCode::Internal => {
            let refund = fails(mutation("orders.refund"), "LEDGER_CLOSED", json!({}));
            with(refund).call("orders.refund", json!({})).await.json()
        }
        EngineCode::InvalidOutput => {
            let get =
                query("orders.get").with_output(json!({"type": "object", "properties": {"total": {"type": "number"}}}));
            with(ends(get, || Ok(json!({"total": "7"})))).call("orders.get", json!({})).await.json()
        }
        EngineCode::ResultTooLarge => {
            let declaration = query("files.search").with_max_output(8192).with_output(json!({
                "type": "object",
                "properties": {"folder": {"type": "string"}, "hits": {"type": "array", "items": {"type": "string"}}},
            }));
            let search = ends(declaration, || {
                let hits: Vec<String> = (1000..2000).map(|n| format!("notes/{n}.md")).collect();
                // What is not declared is not told, however large it is.
                Ok(json!({"folder": "notes", "hits": hits, "undeclared": "x".repeat(4000)}))
            });
            with(search).call("files.search", json!({})).await.json()
        }
        EngineCode::HandlerNotBound => {
            // Nothing unbound can be registered, so what is left is a stream where nothing could carry it: outside a
            // runtime.
            let watch = Operation::dynamic(subscription("orders.watch"))
                .with_stream_handler(|_, _| ready(Ok(Events::new(stream::empty()))));
            let harness = with(watch);
            let opened = std::thread::spawn(move || {
                harness.open("orders.watch", Request::new(b"{}")).now_or_never().unwrap().unwrap_err().into_bytes()
            });
            serde_json::from_slice(&opened.join().unwrap()).unwrap()
        }
        EngineCode::StreamOverflow => {
            let streaming = Streaming { buffer: 32, ..Streaming::default() };
            let watch = Operation::dynamic(subscription("orders.watch").with_streaming(streaming)).with_stream_handler(
                |_, _| ready(Ok(Events::new(stream::repeat_with(|| Ok::<_, redress::Fail<DynamicFailure>>(json!(1)))))),
            );
            let mut read = with(watch).open("orders.watch", Request::new(b"{}")).await.unwrap();
            tokio::time::sleep(Duration::from_secs(31)).await;
            loop {
                match soon(read.next()).await.unwrap() {
                    Event::Item(_) => {}
                    Event::Failed(envelope) => break serde_json::from_slice(&envelope.into_bytes()).unwrap(),
                    Event::Completed(_) => panic!("the stream has no end of its own"),
                }
            }
        }
        EngineCode::QuotaExhausted => {
            let mut options = LimitOptions::default();
            options.quotas.push("10/day".parse().unwrap());
            let builder = Registry::builder().limit(Limits::new(options).unwrap()).quotas(UsedUp);
            let build = ends(mutation("reports.build"), || Ok(json!(null)));
            built(builder.add(build)).call("reports.build", json!({})).await.json()
        }
        EngineCode::ParseError => posted(r#"{"operation": "files.re"#).await,
        EngineCode::InvalidRequest => posted(r#"{"op": "files.read"}"#).await,
        EngineCode::UpstreamUnreachable => {
            let down = || Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
            with(ends(query("weather.forecast"), down)).call("weather.forecast", json!({})).await.json()
        }
        EngineCode::UpstreamUndeclared => {
            let details = json!({"upstream": "weather", "status": 418, "reason": "status", "excerpt": "I'm a teapot"});
            let answered = move || Err(UpstreamFailure::undeclared().with_details(details.clone()).into());
            with(ends(query("weather.forecast"), answered)).call("weather.forecast", json!({})).await.json()
        }
        EngineCode::CredentialsRequired => {
            let details =
                json!({"upstream": "weather", "who": "operator", "reason": "missing", "schemes": ["api_key"]});
            let missing = move || Err(UpstreamFailure::credentials_required().with_details(details.clone()).into());
            with(ends(query("weather.forecast"), missing)).call("weather.forecast", json!({})).await.json()
        }
        EngineCode::ContractChanged => {
            let changed =
                || Err(UpstreamFailure::contract_changed().with_details(json!({"upstream": "weather"})).into());
            with(ends(query("weather.forecast"), changed)).call("weather.forecast", json!({})).await.json()
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_of_every_engine_code_shows_what_is_answered() {
    let mut stale = Vec::new();
    for code in EngineCode::ALL {
        let (shown, happened) = (shown(code), alike(happened(code).await));
        if shown != happened {
            stale.push(format!("{code}\n  its page: {shown}\n  answered: {happened}"));
        }
    }
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}
