//! One operation calls another: its own reach, its own authority, its parent's deadline.

use redress::{
    Access, Caller, Credentials, Ctx, Failure, Operation, Outcome, Registry, Secret, State, data, operation,
    testing::{TestCtx, assert_failure, assert_ok, ctx},
};
use serde_json::{Value, json};

use crate::service::{Watch, built, ends, fails, failure, query, registry};

/// An operation that calls `target` and hands its outcome on with `?`.
fn calling(declaration: redress::contract::OperationDeclaration, target: &'static str) -> Operation {
    Operation::dynamic(declaration)
        .with_handler(move |ctx, _| async move { Ok(ctx.call_dynamic(target, json!({})).await?) })
}

/// An operation that calls `target` and gives the code that it ended with.
fn probing(declaration: redress::contract::OperationDeclaration, target: &'static str) -> Operation {
    Operation::dynamic(declaration).with_handler(move |ctx, _| async move {
        let ended = ctx.call_dynamic(target, json!({})).await;
        Ok(json!(ended.map_or_else(|called| called.code().to_owned(), |_| "ok".to_owned())))
    })
}

fn target() -> Operation {
    ends(query("inner.read"), || Ok(json!("text")))
}

#[tokio::test]
async fn an_operation_reaches_only_what_it_declares() {
    let declared = probing(query("outer.declared").with_call("inner.read"), "inner.read");
    let undeclared = probing(query("outer.undeclared"), "inner.read");
    let harness = built(Registry::builder().add(target()).add(declared).add(undeclared));
    assert_eq!(harness.call("outer.declared", json!({})).await.output::<String>(), "ok");
    assert_eq!(harness.call("outer.undeclared", json!({})).await.output::<String>(), "NOT_FOUND");
}

#[tokio::test]
async fn an_operation_reaches_internal_operations_that_it_declares() {
    let inner = ends(query("inner.read").internal(), || Ok(json!(1)));
    let outer = probing(query("outer.read").with_call("inner.read"), "inner.read");
    let harness = built(Registry::builder().add(inner).add(outer));
    assert_eq!(harness.call("outer.read", json!({})).await.output::<String>(), "ok");
}

#[tokio::test]
async fn authority_is_switched_and_never_skipped_and_the_callers_scopes_do_not_help() {
    // The caller was checked once, at the gate; below it the operation's own authority counts.
    let inner = ends(query("inner.read").with_access(Access::caller().scope("vault")), || Ok(json!(1)));
    let with_authority = query("outer.vested").with_call("inner.read").with_authority("vault");
    let vested = probing(with_authority, "inner.read");
    let watch = Watch::default();
    let harness = built(Registry::builder().add(inner).add(vested).observer(watch.clone()));
    // A caller without the scope may call what has it.
    assert_eq!(harness.anonymous().call("outer.vested", json!({})).await.output::<String>(), "ok");
    let inner = watch.seen().into_iter().rfind(|seen| seen.operation.as_deref() == Some("inner.read")).unwrap();
    assert_eq!(inner.caller.as_deref(), Some("operation:outer.vested"));
}

#[tokio::test]
async fn an_operation_may_call_others_as_its_own_caller() {
    // To act for the caller is something that an operation declares.
    let vault = || Access::caller().scope("vault");
    let inner = ends(query("inner.read").with_access(vault()), || Ok(json!(1)));
    let outer = query("outer.read").with_access(vault()).with_call("inner.read").with_callers_authority();
    let watch = Watch::default();
    let harness = built(Registry::builder().add(inner).add(probing(outer, "inner.read")).observer(watch.clone()));
    let harness = harness.as_caller(Caller::new("bob").scope("vault"));
    assert_eq!(harness.call("outer.read", json!({})).await.output::<String>(), "ok");
    let callers: Vec<_> = watch.seen().into_iter().map(|seen| seen.caller.unwrap_or_default()).collect();
    assert_eq!(callers, ["bob", "bob"]);
}

#[tokio::test]
async fn an_operation_sees_its_own_credentials_only() {
    let shows = |name: &str, secret: &str| {
        Operation::dynamic(query(name).with_call("inner.read"))
            .with_credentials(Credentials::new().with(secret, Secret::new("s")))
    };
    let seen = |ctx: &Ctx| json!([ctx.credential("outer").is_some(), ctx.credential("inner").is_some()]);
    let outer = shows("outer.read", "outer").with_handler(move |ctx, _| async move {
        let below = ctx.call_dynamic("inner.read", json!({})).await?;
        Ok(json!([seen(&ctx), below]))
    });
    let inner = Operation::dynamic(query("inner.read"))
        .with_credentials(Credentials::new().with("inner", Secret::new("s")))
        .with_handler(move |ctx, _| async move { Ok(seen(&ctx)) });
    let harness = built(Registry::builder().add(outer).add(inner));
    let output = assert_ok!(harness.call("outer.read", json!({})).await);
    assert_eq!(output, json!([[true, false], [false, true]]));
}

#[tokio::test]
async fn a_composed_call_has_an_id_of_its_own_and_its_parents_as_its_link() {
    let watch = Watch::default();
    let outer = calling(query("outer.read").with_call("inner.read"), "inner.read");
    let harness = built(Registry::builder().add(target()).add(outer).observer(watch.clone()));
    let answer = harness.call("outer.read", json!({})).await;
    let [inner, outer] = &watch.seen()[..] else { panic!("two calls ended") };
    assert_eq!(outer.request_id, answer.envelope().meta().request_id.to_string());
    assert_eq!((outer.parent.as_deref(), inner.parent.as_deref()), (None, Some(outer.request_id.as_str())));
    assert_ne!(inner.request_id, outer.request_id);
}

#[tokio::test]
async fn operations_call_each_other_only_so_deep() {
    // The chain ends with a refusal, not with the stack.
    let depth = Operation::dynamic(query("deep.call").with_call("deep.call")).with_handler(|ctx, _| async move {
        match ctx.call_dynamic("deep.call", json!({})).await {
            Ok(below) => Ok(json!(below.as_u64().unwrap_or_default() + 1)),
            Err(called) => {
                assert_eq!(called.code(), "INVALID_REQUEST");
                Ok(json!(0))
            }
        }
    });
    let harness = built(Registry::builder().add(depth).max_depth(3));
    assert_eq!(harness.call("deep.call", json!({})).await.output::<u64>(), 3);
}

#[tokio::test]
async fn a_callees_failure_is_contained_in_a_caller_that_does_not_declare_it() {
    // A callee's failure is one that its caller has not promised to anyone.
    let inner = || {
        fails(
            query("inner.read").fails(failure("INNER_BROKEN", redress::Kind::Conflict)),
            "INNER_BROKEN",
            json!({"secret": "hunter2"}),
        )
    };
    let outer = calling(query("outer.read").with_call("inner.read"), "inner.read");
    let answer = built(Registry::builder().add(inner()).add(outer)).call("outer.read", json!({})).await;
    assert_failure!(answer, INTERNAL);
    assert!(!answer.json().to_string().contains("hunter2"));

    let declaring = query("outer.read").with_call("inner.read").fails(failure("INNER_BROKEN", redress::Kind::Conflict));
    let outer = calling(declaring, "inner.read");
    assert_failure!(
        built(Registry::builder().add(inner()).add(outer)).call("outer.read", json!({})).await,
        INNER_BROKEN
    );
}

#[derive(Debug, Failure)]
enum StoreFailure {
    /// The store holds no such key.
    #[failure(kind = not_found, message = "no key {key}", recover(stop, hint = "There is nothing left to try here."))]
    KeyMissing { key: String },
}

#[derive(Debug, Failure)]
#[failure(include(StoreFailure))]
enum OpenFailure {
    /// The door is locked.
    #[failure(kind = conflict, recover(ask_user, hint = "Ask the owner to open the door."))]
    DoorLocked,
}

#[derive(Debug, Failure)]
enum ClosedFailure {
    /// The door is closed.
    #[failure(kind = conflict, recover(ask_user, hint = "Ask the owner to open the door."))]
    DoorClosed,
}

#[data]
struct Key {
    key: String,
}

/// Get a value.
#[operation(query, name = "store.get", access(anyone))]
async fn get(store: State<Vec<String>>, input: Key) -> Outcome<usize, StoreFailure> {
    match store.iter().position(|key| *key == input.key) {
        Some(place) => Ok(place),
        None => Err(StoreFailure::KeyMissing { key: input.key })?,
    }
}

/// Get a value, and include the store's failures.
#[operation(query, name = "door.include", access(anyone), calls("store.get"))]
async fn include(ctx: &Ctx, input: Key) -> Outcome<usize, OpenFailure> {
    if input.key == "locked" {
        return Err(OpenFailure::DoorLocked.into());
    }
    Ok(ctx.call(&get, input).await?)
}

/// Get a value, and do not include the store's failures.
#[operation(query, name = "door.exclude", access(anyone), calls("store.get"))]
async fn exclude(ctx: &Ctx, input: Key) -> Outcome<usize, ClosedFailure> {
    if input.key == "closed" {
        return Err(ClosedFailure::DoorClosed.into());
    }
    let ended = ctx.call(&get, input).await;
    if let Err(called) = &ended {
        assert!(matches!(called.failure(), Some(StoreFailure::KeyMissing { key }) if key == "hunter2"));
    }
    Ok(ended?)
}

#[tokio::test]
async fn an_included_failure_passes_through_a_question_mark_and_any_other_is_contained() {
    let builder = Registry::builder().state(vec!["a".to_owned()]).add(get).add(include).add(exclude);
    let harness = redress::testing::Harness::new(registry(builder));
    assert_eq!(harness.call("door.include", json!({"key": "a"})).await.output::<usize>(), 0);
    assert_failure!(harness.call("door.include", json!({"key": "locked"})).await, DOOR_LOCKED);
    let problem = assert_failure!(harness.call("door.include", json!({"key": "b"})).await, KEY_MISSING);
    assert_eq!(problem.error, "no key b");

    assert_failure!(harness.call("door.exclude", json!({"key": "closed"})).await, DOOR_CLOSED);
    let answer = harness.call("door.exclude", json!({"key": "hunter2"})).await;
    let problem = assert_failure!(answer, INTERNAL);
    // That the callee found nothing is nothing that this caller did.
    assert_eq!(problem.kind, redress::Kind::Internal);
    assert!(!answer.json().to_string().contains("hunter2"));
}

#[tokio::test]
async fn an_operations_function_is_an_ordinary_function_in_a_unit_test() {
    let outcome = get(State(vec!["a".to_owned()].into()), Key { key: "b".into() }).await;
    let fail = assert_failure!(outcome, KEY_MISSING);
    assert!(matches!(fail.failure(), Some(StoreFailure::KeyMissing { key }) if key == "b"));

    let with_store = TestCtx::new().state(vec!["a".to_owned()]).serving_operation(include).operation(get).build();
    assert_eq!(*assert_ok!(include(&with_store, Key { key: "a".into() }).await), 0);
    assert_failure!(include(&with_store, Key { key: "b".into() }).await, KEY_MISSING);
    assert_failure!(include(&ctx(), Key { key: "locked".into() }).await, DOOR_LOCKED);
}

#[tokio::test]
async fn a_test_context_can_stand_for_an_operation_with_its_credentials_and_reach() {
    let outer = query("outer.read").with_call("inner.read");
    let outer = Operation::dynamic(outer)
        .with_credentials(Credentials::new().with("api", Secret::new("s")))
        .with_handler(|_, _| async { Ok(Value::Null) });
    let ctx = TestCtx::new().operation(outer).operation(target()).serving("outer.read").build();
    assert!(ctx.credential("api").is_some());
    assert_ok!(ctx.call_dynamic("inner.read", json!({})).await);
    assert_failure!(ctx.call_dynamic("outer.read", json!({})).await, NOT_FOUND);
}

#[tokio::test]
#[should_panic = "write `.serving_operation(…)`"]
async fn a_test_context_with_operations_to_call_says_whose_it_is() {
    let _ = TestCtx::new().operation(target()).build();
}

#[tokio::test]
async fn a_function_reaches_in_a_test_what_it_declares_and_nothing_else() {
    let outer = Operation::dynamic(query("outer.read")).with_handler(|_, _| async { Ok(Value::Null) });
    let undeclared = TestCtx::new().serving_operation(outer).operation(target()).build();
    assert_failure!(undeclared.call_dynamic("inner.read", json!({})).await, NOT_FOUND);
    assert_failure!(ctx().call_dynamic("inner.read", json!({})).await, NOT_FOUND);
}

#[tokio::test]
async fn the_output_of_a_callee_that_is_no_such_type_is_invalid_output() {
    let lying = ends(query("store.get").with_input(json!({"type": "object"})), || Ok(json!("not a number")));
    let outer =
        Operation::dynamic(query("outer.read").with_call("store.get")).with_handler(|_, _| async { Ok(Value::Null) });
    let ctx = TestCtx::new().serving_operation(outer).operation(lying).build();
    let ended = ctx.call(&get, Key { key: "a".into() }).await;
    assert_failure!(ended, INVALID_OUTPUT);
}
