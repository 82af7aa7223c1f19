//! Who may call: identity, scopes, consent, limits.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use redress::{
    Access, CONSENT_GRANT, Caller, Consent, ConsentMemory, ConsentScope, ConsentStore, DynamicFailure, Face, Fail,
    HeldConsent, IdentityError, IdentityProvider, InFlight, Kind, Operation, Outcome, Recovery, Registry, Request,
    Secret, StoreError, consent_grant, consent_list, consent_revoke,
    contract::{self, Name, RecoveryStep},
    operation,
    testing::{Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::service::{built, ends, failure, mutation, query, registry, soon, with};

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

fn secured(access: Access) -> Operation {
    ends(query("files.read").with_access(access), || Ok(json!("text")))
}

async fn as_caller(access: Access, caller: Caller) -> redress::testing::CallAnswer {
    with(secured(access)).as_caller(caller).call("files.read", json!({})).await
}

#[tokio::test]
async fn a_caller_is_required_unless_the_operation_is_open() {
    let closed = with(secured(Access::caller())).anonymous().call("files.read", json!({})).await;
    let problem = assert_failure!(closed, AUTH_REQUIRED);
    assert_eq!(problem.http, 401);
    assert_ok!(with(secured(Access::anyone())).anonymous().call("files.read", json!({})).await);
}

#[tokio::test]
async fn every_scope_of_all_and_one_of_any_is_needed_and_the_refusal_names_what_is_missing() {
    let access = || Access::caller().scope("read").scope("list").any_scope("team:a").any_scope("team:b");
    let one = as_caller(access(), Caller::new("ada").scope("read")).await;
    assert_failure!(one, FORBIDDEN);
    assert_eq!(one.details(), json!({"missing": ["list"], "one_is_enough": false}));
    let two = as_caller(access(), Caller::new("ada").scopes(["read", "list"])).await;
    assert_failure!(two, FORBIDDEN);
    assert_eq!(two.details(), json!({"missing": ["team:a", "team:b"], "one_is_enough": true}));
    assert_ok!(as_caller(access(), Caller::new("ada").scopes(["read", "list", "team:b"])).await);
}

#[tokio::test]
async fn an_internal_operation_does_not_exist_for_the_outside_and_is_not_suggested() {
    // NOT_FOUND and not FORBIDDEN, or a refusal would tell that it is there.
    let hidden = ends(query("files.purge").internal(), || Ok(json!(1)));
    let harness = built(Registry::builder().add(hidden).add(secured(Access::caller().scope("read"))));
    let hidden = assert_failure!(harness.call("files.purge", json!({})).await, NOT_FOUND);
    let missing = assert_failure!(harness.call("files.purgy", json!({})).await, NOT_FOUND);
    for problem in [&hidden, &missing] {
        assert!(problem.similar.is_empty(), "{:?}", problem.similar);
    }
    assert_eq!((hidden.error, hidden.hint), (missing.error, missing.hint));
    // A near name is for those who may call it.
    assert!(assert_failure!(harness.call("files.raed", json!({})).await, NOT_FOUND).similar.is_empty());
    let reader = harness.as_caller(Caller::new("ada").scope("read"));
    let problem = assert_failure!(reader.call("files.raed", json!({})).await, NOT_FOUND);
    assert_eq!(problem.similar[0].value, "files.read");
}

#[tokio::test]
async fn an_operation_is_found_by_its_aliases_and_wire_forms() {
    let harness = with(ends(query("fs.read_file").with_alias("fs.cat"), || Ok(json!(1))));
    for name in ["fs.read_file", "fs/read_file", "/fs/read_file", "fs.cat", "/fs/cat"] {
        assert_ok!(harness.call(name, json!({})).await);
    }
}

/// Knows one token.
struct Tokens;

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        let known = match token.expose() {
            "good" => Ok(Caller::new("grace").scope("read")),
            "old" => Err(IdentityError::Expired),
            "bomb" => panic!("the provider broke"),
            _ => Err(IdentityError::Invalid),
        };
        Box::pin(std::future::ready(known))
    }
}

fn with_token(token: &str) -> Request<'static> {
    Request::new(b"{}").with_token(Secret::new(token))
}

#[tokio::test]
async fn a_token_tells_who_calls() {
    let whoami = Operation::dynamic(query("who.am_i").with_access(Access::caller().scope("read")))
        .with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let harness = built(Registry::builder().add(whoami).identity(Tokens));
    // The token counts, even where a face also names a caller.
    assert_eq!(harness.send("who.am_i", with_token("good")).await.output::<String>(), "grace");
    assert_eq!(harness.anonymous().send("who.am_i", with_token("good")).await.output::<String>(), "grace");
}

/// Never says who calls.
struct Silent;

impl IdentityProvider for Silent {
    fn identify<'a>(
        &'a self,
        _: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_what_does_not_exist_is_answered_within_the_deadline() {
    let harness = built(Registry::builder().add(secured(Access::anyone())).identity(Silent));
    for (request, seconds) in
        [(with_token("good"), 30), (with_token("good").with_deadline(std::time::Duration::from_secs(2)), 2)]
    {
        let since = tokio::time::Instant::now();
        let answer =
            tokio::time::timeout(std::time::Duration::from_secs(90), harness.send("files.raed", request)).await;
        assert_failure!(answer.expect("it is answered"), NOT_FOUND);
        assert_eq!(since.elapsed().as_secs(), seconds);
    }
}

#[tokio::test]
async fn a_bad_token_is_refused_even_where_no_caller_is_needed() {
    let harness = built(Registry::builder().add(secured(Access::anyone())).identity(Tokens));
    for token in ["bad", "old"] {
        let problem = assert_failure!(harness.send("files.read", with_token(token)).await, AUTH_REQUIRED);
        assert_eq!(problem.http, 401);
    }
    // With nobody to ask, no token can be good.
    let nobody_to_ask = with(secured(Access::anyone()));
    assert_failure!(nobody_to_ask.send("files.read", with_token("good")).await, AUTH_REQUIRED);
}

#[tokio::test]
async fn a_provider_that_panics_is_contained() {
    let harness = built(Registry::builder().add(secured(Access::anyone())).identity(Tokens));
    assert_failure!(harness.send("files.read", with_token("bomb")).await, INTERNAL);
}

/// Say who calls.
#[operation(query, name = "typed.who")]
async fn who(caller: &Caller) -> Outcome<String> {
    Ok(caller.id().to_owned())
}

/// Say who calls, if anybody.
#[operation(query, name = "typed.maybe", access(anyone))]
async fn maybe(caller: Option<&Caller>) -> Outcome<Option<String>> {
    Ok(caller.map(|caller| caller.id().to_owned()))
}

#[tokio::test]
async fn a_handler_that_requires_a_caller_gets_one_that_cannot_be_absent() {
    let harness = built(Registry::builder().add(who).add(maybe));
    assert_eq!(harness.call("typed.who", json!({})).await.output::<String>(), "ada");
    assert_failure!(harness.anonymous().call("typed.who", json!({})).await, AUTH_REQUIRED);
    assert_eq!(harness.anonymous().call("typed.maybe", json!({})).await.output::<Value>(), Value::Null);
}

fn wipe() -> Operation {
    let declaration = mutation("disk.wipe").with_access(Access::caller().scope("disk").consent());
    ends(declaration, || Ok(json!("wiped")))
}

/// An agent of ada's, with her scopes but that of a person.
fn agent() -> Caller {
    Caller::new("ada").scope("disk")
}

/// Ada herself.
fn person() -> Caller {
    Caller::new("ada").scope(CONSENT_GRANT)
}

fn disk() -> Harness {
    built(Registry::builder().add(wipe()).add(secured(Access::caller())).add(consent_grant())).as_caller(agent())
}

#[tokio::test]
async fn consent_is_asked_for_and_given_by_a_person() {
    let agent = disk();
    let problem = assert_failure!(agent.call("disk.wipe", json!({})).await, CONSENT_REQUIRED);
    assert!(problem.next_actions.is_empty() && matches!(problem.recovery, Some(RecoveryStep::AskUser)), "{problem:?}");
    let command = "`redress consent grant disk.wipe --caller ada --state DIR`";
    assert!(problem.hint.contains("in memory") && problem.hint.contains(command), "nothing else helps: {problem:?}");
    let ada = agent.as_caller(person());
    let granted = assert_ok!(ada.call("consent.grant", json!({"operation": "disk.wipe"})).await);
    assert_eq!(granted, json!({"caller": "ada", "operation": "disk.wipe", "minutes": 60}));
    assert_ok!(agent.call("disk.wipe", json!({})).await);
}

#[tokio::test]
async fn no_agent_gives_sees_or_takes_back_a_consent_and_none_is_told_to_get_the_scope() {
    let registry = agreeable();
    for caller in [agent(), Caller::local(), Caller::new("root").scope("consent:admin")] {
        let harness = calls(&registry, caller.clone());
        for name in ["consent.grant", "consent.list", "consent.revoke"] {
            let problem = assert_failure!(harness.call(name, json!({"operation": "disk.wipe"})).await, FORBIDDEN);
            assert!(matches!(problem.recovery, Some(RecoveryStep::AskUser)), "{caller:?} {problem:?}");
            assert!(problem.hint.contains("only a person gives consent"), "{problem:?}");
        }
        assert!(registry.open_to(Some(&caller)).all(|operation| operation.name().namespace() != "consent"));
    }
    assert!(registry.consent().list(None).await.unwrap().is_empty());
    // On a face for agents it does not exist, whoever calls.
    let ada = Request::new(br#"{"operation":"disk.wipe"}"#.as_slice()).with_caller(person()).with_face(Face::Mcp);
    let envelope = registry.call("consent.grant", ada).await;
    assert_eq!(envelope.code(), Some("NOT_FOUND"));
    assert!(envelope.problem().unwrap().similar.is_empty());
}

#[tokio::test]
async fn a_next_action_of_a_call_site_that_grants_is_left_out() {
    let refused = failure("NOT_NOW", Kind::Conflict).with_recovery(Recovery::stop("There is nothing to do about it."));
    let tempting = Operation::dynamic(query("disk.tempt").fails(refused)).with_handler(|_, _| async {
        let failed = Fail::from(DynamicFailure::new("NOT_NOW", json!({})));
        let failed = failed.with_next_action("consent.grant", &json!({"operation": "disk.wipe"}), "agree");
        Err(failed.with_next_action("disk.tempt", &json!({}), "again"))
    });
    let harness = built(Registry::builder().add(wipe()).add(tempting).add(consent_grant()));
    // Not even to who could grant: what a program does by itself with a person's token is not that person's doing.
    for caller in [agent(), person()] {
        let problem = assert_failure!(harness.as_caller(caller).call("disk.tempt", json!({})).await, NOT_NOW);
        let next: Vec<&str> = problem.next_actions.iter().map(|action| action.operation.as_str()).collect();
        assert_eq!(next, ["disk.tempt"]);
    }
}

#[tokio::test]
async fn a_consent_is_for_one_caller_and_gives_no_scope() {
    let agent = disk();
    let ada = agent.as_caller(person());
    assert_ok!(ada.call("consent.grant", json!({"operation": "disk.wipe", "reason": "a test", "minutes": 5})).await);
    let bob = agent.as_caller(Caller::new("bob").scope("disk"));
    assert_failure!(bob.call("disk.wipe", json!({})).await, CONSENT_REQUIRED);
    assert_failure!(ada.call("disk.wipe", json!({})).await, FORBIDDEN);
    let for_bob = json!({"operation": "disk.wipe", "caller": "bob"});
    assert_failure!(ada.call("consent.grant", for_bob.clone()).await, CONSENT_NOT_YOURS);
    assert_failure!(ada.anonymous().call("consent.grant", json!({"operation": "disk.wipe"})).await, AUTH_REQUIRED);
    let admin = agent.as_caller(person().scope("consent:admin"));
    assert_ok!(admin.call("consent.grant", for_bob).await);
    assert_ok!(bob.call("disk.wipe", json!({})).await);
}

#[tokio::test]
async fn a_consent_is_refused_for_what_asks_for_none() {
    let ada = disk().as_caller(person());
    for operation in ["files.read", "no.such"] {
        let answer = ada.call("consent.grant", json!({"operation": operation})).await;
        assert_failure!(answer, OPERATION_UNKNOWN);
        assert_eq!(answer.details(), json!({"operation": operation}));
    }
    let problem = assert_failure!(ada.call("consent.grant", json!({"operation": "disk.wip"})).await, OPERATION_UNKNOWN);
    assert_eq!(problem.similar[0].value, "disk.wipe");
    for minutes in [0, 1441] {
        let input = json!({"operation": "disk.wipe", "minutes": minutes});
        assert_failure!(ada.call("consent.grant", input).await, INVALID_INPUT);
    }
}

#[test]
fn the_namespace_of_consent_belongs_to_the_engine() {
    // A namespace has one owner.
    let ours = ends(query("consent.list"), || Ok(Value::Null));
    let error = Registry::builder().add(consent_grant()).add(ours).build().unwrap_err();
    assert_eq!(error.findings()[0].rule(), "namespace-owner");
}

#[tokio::test]
async fn a_consent_ends_with_its_time_or_when_it_is_withdrawn() {
    let store = ConsentMemory::new();
    let (ada, wipe) = (Caller::new("ada"), Name::new("disk.wipe").unwrap());
    let scope = ConsentScope::from(wipe.clone());
    let grant = |lasts| Consent { caller: "ada".into(), scope: scope.clone(), lasts, reason: String::new() };
    store.grant(grant(Duration::ZERO)).await.unwrap();
    assert!(!store.has(&ada, &wipe).await.unwrap());
    store.grant(grant(Duration::from_secs(60))).await.unwrap();
    assert!(store.has(&ada, &wipe).await.unwrap() && !store.has(&Caller::new("bob"), &wipe).await.unwrap());
    assert!(store.withdraw("ada", &scope).await.unwrap());
    assert!(!store.has(&ada, &wipe).await.unwrap());
    assert!(!store.withdraw("ada", &scope).await.unwrap());
}

/// `disk.wipe`, which asks for consent, with the operations by which consents are given, seen and taken back.
fn agreeable() -> Registry {
    let builder = Registry::builder().add(wipe()).add(consent_grant()).add(consent_list()).add(consent_revoke());
    builder.build().unwrap()
}

fn calls(registry: &Registry, caller: Caller) -> Harness {
    Harness::new(registry.clone()).as_caller(caller)
}

#[tokio::test]
async fn a_caller_sees_and_takes_back_what_it_agreed_to_and_nothing_of_others() {
    let registry = agreeable();
    let ada = calls(&registry, person().scope("disk"));
    let bob = calls(&registry, Caller::new("bob").scope("disk").scope(CONSENT_GRANT));
    assert_ok!(ada.call("consent.grant", json!({"operation": "disk.wipe", "reason": "it is mine"})).await);
    let listed = ada.call("consent.list", json!({})).await.output::<Value>();
    let consent = &listed["consents"][0];
    assert_eq!((&consent["operation"], &consent["reason"]), (&json!("disk.wipe"), &json!("it is mine")));
    assert!(consent["until"].as_str().unwrap().ends_with('Z'), "{consent}");
    assert_eq!(bob.call("consent.list", json!({})).await.output::<Value>(), json!({"consents": []}));
    assert_failure!(bob.call("consent.list", json!({"caller": "ada"})).await, CONSENT_NOT_YOURS);
    assert_failure!(bob.call("consent.list", json!({"everyone": true})).await, CONSENT_NOT_YOURS);
    let theirs = json!({"operation": "disk.wipe", "caller": "ada"});
    assert_failure!(bob.call("consent.revoke", theirs).await, CONSENT_NOT_YOURS);
    assert_failure!(bob.call("consent.revoke", json!({"operation": "disk.wipe"})).await, CONSENT_NOT_FOUND);
    assert_ok!(ada.call("disk.wipe", json!({})).await);
    assert_ok!(ada.call("consent.revoke", json!({"operation": "disk.wipe"})).await);
    assert_failure!(ada.call("disk.wipe", json!({})).await, CONSENT_REQUIRED);
}

#[tokio::test]
async fn an_operator_with_the_scope_sees_and_takes_back_the_consents_of_anybody() {
    let registry = agreeable();
    let ada = calls(&registry, person().scope("disk"));
    let admin = calls(&registry, Caller::new("root").scope("consent:admin").scope(CONSENT_GRANT));
    assert_ok!(ada.call("consent.grant", json!({"operation": "disk.wipe"})).await);
    for input in [json!({"caller": "ada"}), json!({"everyone": true})] {
        let listed = admin.call("consent.list", input).await.output::<Value>();
        assert_eq!(listed["consents"][0]["caller"], "ada");
    }
    assert_ok!(admin.call("consent.revoke", json!({"operation": "disk.wipe", "caller": "ada"})).await);
    assert_failure!(ada.call("disk.wipe", json!({})).await, CONSENT_REQUIRED);
}

#[tokio::test]
async fn a_consent_may_cover_a_namespace_and_is_taken_back_as_it_was_given() {
    let registry = agreeable();
    let ada = calls(&registry, person().scope("disk"));
    assert_failure!(ada.call("consent.grant", json!({"operation": "tape.*"})).await, OPERATION_UNKNOWN);
    let granted = ada.call("consent.grant", json!({"operation": "disk.*", "minutes": 5})).await;
    assert_eq!(granted.output::<Value>(), json!({"caller": "ada", "operation": "disk.*", "minutes": 5}));
    assert_ok!(ada.call("disk.wipe", json!({})).await);
    assert_failure!(ada.call("consent.revoke", json!({"operation": "disk.wipe"})).await, CONSENT_NOT_FOUND);
    assert_ok!(ada.call("consent.revoke", json!({"operation": "disk.*"})).await);
    assert_failure!(ada.call("disk.wipe", json!({})).await, CONSENT_REQUIRED);
}

/// A store that cannot tell anything.
struct Broken;

impl ConsentStore for Broken {
    fn has<'a>(&'a self, _: &'a Caller, _: &'a Name) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("secret cause"))))
    }

    fn grant(&self, _: Consent) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("secret cause"))))
    }

    fn withdraw<'a>(&'a self, _: &'a str, _: &'a ConsentScope) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("secret cause"))))
    }

    fn list<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Result<Vec<HeldConsent>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("secret cause"))))
    }
}

#[tokio::test]
async fn a_store_of_consents_that_cannot_tell_refuses_and_says_nothing_of_its_cause() {
    let builder = Registry::builder().add(wipe()).add(consent_grant()).add(consent_list()).add(consent_revoke());
    let registry = builder.consent(Broken).build().unwrap();
    let ada = calls(&registry, person().scope("disk"));
    let problem = assert_failure!(ada.call("disk.wipe", json!({})).await, OVERLOADED);
    assert!(problem.retry_after_ms.is_some());
    for name in ["consent.grant", "consent.list", "consent.revoke"] {
        let input = if name == "consent.list" { json!({}) } else { json!({"operation": "disk.wipe"}) };
        let problem = assert_failure!(ada.call(name, input).await, CONSENT_NOT_KEPT);
        assert!(!format!("{problem:?}").contains("secret"), "{problem:?}");
    }
}

/// An operation that holds its permit until it is let go.
fn holding(started: &Arc<Notify>, go: &Arc<Notify>) -> Operation {
    let (started, go) = (Arc::clone(started), Arc::clone(go));
    let declaration: contract::OperationDeclaration = query("slow.hold");
    Operation::dynamic(declaration).with_handler(move |_, _| {
        let (started, go) = (Arc::clone(&started), Arc::clone(&go));
        async move {
            started.notify_one();
            go.notified().await;
            Ok(Value::Null)
        }
    })
}

#[tokio::test]
async fn a_full_service_is_overloaded_until_a_call_ends() {
    let (started, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let builder = Registry::builder().add(holding(&started, &go)).limit(InFlight::new(1));
    let harness = Harness::new(registry(builder));
    let (first, ()) = tokio::join!(harness.call("slow.hold", json!({})), async {
        soon(started.notified()).await;
        let problem = assert_failure!(harness.call("slow.hold", json!({})).await, OVERLOADED);
        assert_eq!((problem.retry, problem.http), (redress::Retry::Safe, 503));
        go.notify_one();
    });
    assert_ok!(first);
    go.notify_one();
    assert_ok!(harness.call("slow.hold", json!({})).await);

    // A call that its caller leaves gives its permit back as well.
    soon(started.notified()).await;
    tokio::select! {
        biased;
        _ = harness.call("slow.hold", json!({})) => panic!("it does not end by itself"),
        () = started.notified() => {}
    }
    go.notify_one();
    assert_ok!(harness.call("slow.hold", json!({})).await);
}
