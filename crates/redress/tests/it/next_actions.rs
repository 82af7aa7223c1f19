//! Next actions: what a failure names, its caller could call now, with that input.

use redress::{
    __private::{schemars, serde},
    Access, Caller, DynamicFailure, Fail, Failure, Kind, Operation, Outcome, Recovery, Registry, Request, Shown,
    contract::{self, Disclosure, RecoveryStep},
    data, operation,
    testing::{Harness, assert_failure},
};
use serde_json::{Value, json};

use crate::service::{built, ends, fails, failure, mutation, query, registry};

fn text(name: &str, more: Value) -> Value {
    json!({"type": "object", "properties": {name: more}, "required": [name], "additionalProperties": false})
}

fn missing(recovery: Recovery) -> contract::FailureDeclaration {
    failure("NOTE_MISSING", Kind::NotFound)
        .with_details(text("path", json!({"type": "string"})))
        .with_recovery(recovery)
}

fn look() -> Recovery {
    Recovery::call("notes.list", "List the notes and pick one.").bind("path", "path")
}

/// What a caller of `notes.find` is told to do, where `notes.list` takes this.
async fn told(input: Value, path: &'static str) -> (RecoveryStep, Vec<String>) {
    let list = ends(query("notes.list").with_input(input), || Ok(json!([])));
    let find = fails(query("notes.find").fails(missing(look())), "NOTE_MISSING", json!({"path": path}));
    advice(&built(Registry::builder().add(list).add(find))).await
}

async fn advice(harness: &Harness) -> (RecoveryStep, Vec<String>) {
    let problem = assert_failure!(harness.call("notes.find", json!({})).await, NOTE_MISSING);
    let next = problem.next_actions.iter().map(|action| format!("{} {}", action.operation, action.input.get()));
    (problem.recovery.clone().unwrap(), next.collect())
}

#[tokio::test]
async fn a_declared_next_action_whose_input_is_out_of_bounds_is_left_out() {
    let call = RecoveryStep::Call { operation: contract::Name::new("notes.list").unwrap() };
    for (input, fits) in [
        (text("path", json!({"type": "string"})), true),
        (text("path", json!({"type": "string", "maxLength": 8})), true),
        (text("path", json!({"type": "string", "maxLength": 4})), false),
        (text("path", json!({"type": "string", "pattern": "^/"})), false),
        (json!({"type": "object", "properties": {"path": {"type": "string"}}, "minProperties": 2}), false),
    ] {
        let expected = if fits { vec![r#"notes.list {"path":"a/b.md"}"#.to_owned()] } else { Vec::new() };
        // The operation itself can be called; with which input, its caller has to find out.
        assert_eq!(told(input.clone(), "a/b.md").await, (call.clone(), expected), "{input}");
    }
}

#[tokio::test]
async fn an_input_that_is_larger_than_the_operation_takes_is_left_out() {
    let list = query("notes.list").with_input(text("path", json!({"type": "string"}))).with_max_input(20);
    let list = ends(list, || Ok(json!([])));
    let path = "a".repeat(40);
    let find = ends(query("notes.find").fails(missing(look())), move || {
        Err(DynamicFailure::new("NOTE_MISSING", json!({"path": path})))?
    });
    assert!(advice(&built(Registry::builder().add(list).add(find))).await.1.is_empty());
}

/// A text that its type judges by more than the schema says.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(crate = "redress::__private::serde", transparent)]
#[schemars(crate = "redress::__private::schemars")]
struct Judged(String);

impl<'de> serde::Deserialize<'de> for Judged {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Judged, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        assert_ne!(text, "panics");
        if text == "refused" { Err(serde::de::Error::custom("no")) } else { Ok(Judged(text)) }
    }
}

#[data]
struct Wanted {
    path: Judged,
}

/// List what there is.
#[operation(query, name = "notes.list", access(anyone))]
async fn list(_input: Wanted) -> Outcome<u8> {
    Ok(1)
}

#[tokio::test]
async fn the_type_of_the_next_input_judges_it_and_may_even_panic() {
    for (path, fits) in [("fine", true), ("refused", false), ("panics", false)] {
        let find = fails(query("notes.find").fails(missing(look())), "NOTE_MISSING", json!({"path": path}));
        let (_, next) = advice(&built(Registry::builder().add(list).add(find))).await;
        assert_eq!(next.len(), usize::from(fits), "{path}");
    }
}

/// What a typed operation fails with.
#[derive(Debug, Failure)]
enum TypedFailure {
    /// There is no such note.
    #[failure(kind = not_found, message = "no note {path}", recover(stop, hint = "There is nothing left to try here."))]
    NoteMissing { path: String },
}

/// Find a note.
#[operation(query, name = "notes.find", access(anyone))]
async fn find() -> Outcome<u8, TypedFailure> {
    Err(Fail::from(TypedFailure::NoteMissing { path: "a".into() })
        .with_next_action("notes.gone", &json!({}), "it is not there")
        .with_next_action("notes.secret", &json!({}), "it is for others")
        .with_next_action("notes.old", &json!({"path": "fine"}), "it has another name now"))
}

#[tokio::test]
async fn a_call_site_can_only_add_what_its_caller_could_call() {
    let secret = query("notes.secret").with_access(Access::caller().scope("notes:secret"));
    let old = query("notes.list").with_alias("notes.old");
    let builder = || {
        let secret = ends(secret.clone(), || Ok(json!(1)));
        Registry::builder().add(find).add(secret).add(ends(old.clone(), || Ok(json!([]))))
    };
    let aliased = r#"notes.old {"path":"fine"}"#;
    assert_eq!(advice(&built(builder())).await.1, [aliased]);
    let entitled = Harness::new(registry(builder())).as_caller(Caller::new("eve").scope("notes:secret"));
    assert_eq!(advice(&entitled).await.1, ["notes.secret {}", aliased]);
}

#[tokio::test]
async fn what_is_declared_stays_where_nothing_that_was_added_helps() {
    let list = ends(query("notes.list"), || Ok(json!([])));
    let find = ends(query("notes.find").fails(missing(look())), || {
        let failure = Fail::from(DynamicFailure::new("NOTE_MISSING", json!({"path": "a"})));
        Err(failure.with_next_action("notes.gone", &json!({}), "it is not there"))
    });
    let (_, next) = advice(&built(Registry::builder().add(list).add(find))).await;
    assert_eq!(next, [r#"notes.list {"path":"a"}"#]);
}

#[tokio::test]
async fn an_outcome_that_is_told_again_names_only_what_can_be_called_by_then() {
    let list = ends(query("notes.list"), || Ok(json!([])));
    let find = mutation("notes.find").with_idempotency_key().fails(missing(look()));
    let harness = built(Registry::builder().add(list).add(fails(find, "NOTE_MISSING", json!({"path": "a"}))));
    let send = async || {
        let request = Request::new(b"{}".as_slice()).with_idempotency_key("k");
        let problem = assert_failure!(harness.send("notes.find", request).await, NOTE_MISSING);
        (problem.recovery.clone().unwrap(), problem.next_actions.len())
    };
    assert_eq!(send().await.1, 1);
    assert!(harness.registry().changes().hide("notes.list"));
    assert_eq!(send().await, (RecoveryStep::AskUser, 0));
    assert!(harness.registry().changes().show("notes.list"));
    assert_eq!(send().await.1, 1, "what is kept is whole");
}

#[tokio::test]
async fn a_view_shows_a_part_and_below_a_call_everything_is_there() {
    let inner = ends(query("notes.list").with_access(Access::caller()), || Ok(json!(["a"])));
    let outer = query("notes.count").with_access(Access::caller()).with_call("notes.list").with_callers_authority();
    let outer = Operation::dynamic(outer).with_handler(|ctx, _| async move {
        let listed = ctx.call_dynamic("notes.list", json!({})).await?;
        Ok(json!({"listed": listed, "open": ctx.open().count(), "told": ctx.disclosed().operations().len()}))
    });
    let find = query("notes.find").with_access(Access::caller());
    let find = fails(find.fails(missing(look())), "NOTE_MISSING", json!({"path": "a"}));
    let whole = registry(Registry::builder().add(inner).add(outer).add(find));
    let part = whole.view(|operation| match operation.name().as_str() {
        "notes.list" => Shown::No,
        _ => Shown::Callable,
    });
    // A view of a view shows no more.
    let harness = Harness::new(part.view(|_| Shown::Callable)).as_caller(Caller::new("ada"));
    let counted: Value = harness.call("notes.count", json!({})).await.output();
    assert_eq!(counted, json!({"listed": ["a"], "open": 2, "told": 2}));
    assert_failure!(harness.call("notes.list", json!({})).await, NOT_FOUND);
    assert_eq!(advice(&harness).await, (RecoveryStep::AskUser, Vec::new()));
    assert!(part.operation("notes.list").is_none() && whole.operation("notes.list").is_some());
    let near = assert_failure!(harness.call("notes.lst", json!({})).await, NOT_FOUND);
    assert!(near.similar.iter().all(|similar| similar.value != "notes.list"), "{:?}", near.similar);
    let declared = part.disclosed_operation("notes.find", Some(&Caller::new("ada"))).unwrap();
    assert!(declared.points_to().next().is_none());
}

#[test]
fn a_successor_is_named_where_its_reader_is_shown_it() {
    let old = |name: &str, by: &str| {
        let by = Some(by.to_owned());
        let deprecated = contract::Deprecation { since: "2.0.0".into(), replaced_by: by, ..Default::default() };
        ends(query(name).with_deprecated(deprecated), || Ok(json!(1)))
    };
    let follow = Operation::dynamic(crate::service::subscription("notes.follow"))
        .with_stream_handler(|_, _| async { Ok(redress::Events::new(futures_util::stream::empty())) });
    let inner = ends(query("notes.inner").internal(), || Ok(json!(1)));
    let builder = Registry::builder().add(follow).add(inner).add(ends(query("notes.list"), || Ok(json!([]))));
    let builder = builder.add(old("old.watch", "notes.follow")).add(old("old.inner", "notes.inner"));
    let registry = registry(builder.add(old("old.list", "notes.list")));
    let listed = registry.view(|operation| match operation.name().as_str() {
        "notes.list" => Shown::Listed,
        "notes.follow" => Shown::No,
        _ => Shown::Callable,
    });
    let named = |registry: &Registry| {
        let names = ["old.watch", "old.inner", "old.list"].into_iter();
        let told = names.map(|name| registry.disclosed_operation(name, None).unwrap());
        told.map(|told| told.deprecated().unwrap().replaced_by.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(named(&registry), [true, false, true], "whatever its shape");
    assert_eq!(named(&listed), [false, false, true]);
}

#[test]
fn a_code_that_no_operation_has_is_told_without_what_its_reader_cannot_call() {
    let registry = registry(Registry::builder().add(ends(query("notes.list"), || Ok(json!([])))));
    assert!(registry.disclosed_code("TIMEOUT", None).is_some());
    assert!(registry.disclosed_code("NOTE_MISSING", None).is_none());
    let told = missing(look()).disclosed(&Disclosure::to(None, &|_| contract::Reach::Closed));
    assert_eq!(told.recovery(), Some(&Recovery::ask_user("List the notes and pick one.")));
}
