//! The envelope: what every face shows of an outcome.

use insta::assert_json_snapshot;
use redress::{DynamicFailure, Failure as _};
use redress::{
    Effect, Kind, Operation, Recovery, Registry, Request, Retry, Verification,
    contract::{self, FailureDeclaration},
    testing::{assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::service::{built, ends, fails, failure, mutation, query, with};

fn read() -> Operation {
    let missing = FailureDeclaration::new("FILE_NOT_FOUND", Kind::NotFound)
        .with_when("The file does not exist.")
        .with_message("no file at {path}")
        .with_details(json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "folder": {"type": "string"}},
            "required": ["path", "folder"],
        }))
        .with_recovery(
            Recovery::call("files.list", "List the folder and pick a path that exists.")
                .bind("path", "folder")
                .why("see what is there"),
        );
    ends(query("files.read").fails(missing), || {
        Err(DynamicFailure::new("FILE_NOT_FOUND", json!({"path": "notes/a.md", "folder": "notes"}))
            .with_similar("notes/a.md", ["notes/A.md", "unlike"]))
    })
}

fn list() -> Operation {
    let declaration = query("files.list").with_input(json!({
        "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
    }));
    ends(declaration, || Ok(json!(["notes/A.md"])))
}

#[tokio::test(start_paused = true)]
async fn a_declared_failure_has_exactly_the_members_of_the_envelope() {
    let harness = built(Registry::builder().add(read()).add(list()));
    let answer = harness.send("files.read", Request::new(b"{}").with_request_id("req-1")).await;
    assert_failure!(answer, FILE_NOT_FOUND);
    assert_json_snapshot!(answer.json(), @r#"
    {
      "_meta": {
        "elapsed_ms": 0,
        "estimated_tokens": 122,
        "request_id": "req-1"
      },
      "code": "FILE_NOT_FOUND",
      "details": {
        "folder": "notes",
        "path": "notes/a.md"
      },
      "docs_url": "/errors/FILE_NOT_FOUND",
      "effect": "none",
      "error": "no file at notes/a.md",
      "extends": [],
      "hint": "List the folder and pick a path that exists.",
      "http": 404,
      "kind": "not_found",
      "next_actions": [
        {
          "input": {
            "path": "notes"
          },
          "operation": "files.list",
          "why": "see what is there"
        }
      ],
      "ok": false,
      "recovery": {
        "operation": "files.list",
        "verb": "call"
      },
      "retry": "after_fix",
      "retryable": false,
      "similar": [
        {
          "value": "notes/A.md"
        }
      ]
    }
    "#);
    // The next action is a call that can be made as it stands.
    let next = &answer.problem().next_actions[0];
    let input: Value = serde_json::from_str(next.input.get()).unwrap();
    assert_ok!(harness.call(next.operation.as_str(), input).await);
}

#[tokio::test]
async fn the_members_stand_in_the_order_of_the_design() {
    let harness = built(Registry::builder().add(read()).add(list()));
    let text = String::from_utf8(harness.call("files.read", json!({})).await.bytes()).unwrap();
    let members = [
        "ok",
        "error",
        "code",
        "kind",
        "extends",
        "hint",
        "retryable",
        "retry",
        "effect",
        "http",
        "recovery",
        "next_actions",
        "similar",
        "details",
        "docs_url",
        "_meta",
    ];
    let places: Vec<_> = members.iter().map(|member| text.find(&format!("\"{member}\":"))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_success_is_ok_result_and_meta() {
    let answer = with(list()).send("files.list", Request::new(br#"{"path":"x"}"#).with_request_id("req-2")).await;
    assert_json_snapshot!(answer.json(), @r#"
    {
      "_meta": {
        "elapsed_ms": 0,
        "estimated_tokens": 9,
        "request_id": "req-2"
      },
      "ok": true,
      "result": [
        "notes/A.md"
      ]
    }
    "#);
}

#[tokio::test]
async fn retry_is_computed_from_the_failure_the_operation_and_the_call() {
    // What docs/retries.md says of `retry`, through real calls.
    let key = |operation: contract::OperationDeclaration| operation.with_idempotency_key();
    let busy = |effect| failure("DISK_BUSY", Kind::Unavailable).with_effect(effect);
    let fix = |_| {
        failure("DISK_BUSY", Kind::Conflict)
            .with_recovery(Recovery::fix_input("/path", "Give a path that is not in use."))
    };
    let verified = |kind| {
        failure("DISK_BUSY", kind)
            .with_effect(Effect::Unknown)
            .with_recovery(Verification::new("disk.look", "/used", "Look whether it is used already.").is(true).into())
    };
    let look = || {
        let look =
            query("disk.look").with_output(json!({"type": "object", "properties": {"used": {"type": "boolean"}}}));
        ends(look, || Ok(json!({"used": true})))
    };
    let stop = |_| failure("DISK_BUSY", Kind::Conflict);
    type Make = fn(&str) -> contract::OperationDeclaration;
    let (q, m): (Make, Make) = (query, mutation);
    let cases = [
        ("query, effect unknown", q("disk.use").fails(busy(Effect::Unknown)), false, Retry::Safe, true),
        ("mutation, effect none", m("disk.use").fails(busy(Effect::None)), false, Retry::Safe, true),
        ("mutation, effect partial", m("disk.use").fails(busy(Effect::Partial)), false, Retry::Unsafe, false),
        ("mutation, effect unknown", m("disk.use").fails(busy(Effect::Unknown)), false, Retry::Unsafe, false),
        ("mutation, key sent", key(m("disk.use")).fails(busy(Effect::Unknown)), true, Retry::SafeWithKey, true),
        ("mutation, key not sent", key(m("disk.use")).fails(busy(Effect::Unknown)), false, Retry::Unsafe, false),
        (
            "mutation, unknown, verified",
            m("disk.use").fails(verified(Kind::Unavailable)),
            false,
            Retry::AfterVerify,
            false,
        ),
        (
            "mutation, verified, key",
            key(m("disk.use")).fails(verified(Kind::Unavailable)),
            true,
            Retry::SafeWithKey,
            true,
        ),
        (
            "mutation, not retryable, verified",
            m("disk.use").fails(verified(Kind::Internal)),
            false,
            Retry::AfterVerify,
            false,
        ),
        ("not retryable, fix", q("disk.use").fails(fix(())), false, Retry::AfterFix, false),
        ("not retryable, stop", q("disk.use").fails(stop(())), false, Retry::Never, false),
    ];
    for (name, declaration, with_key, retry, retryable) in cases {
        let mut request = Request::new(b"{}");
        if with_key {
            request = request.with_idempotency_key("k");
        }
        let builder = Registry::builder().add(fails(declaration, "DISK_BUSY", json!({}))).add(look());
        let answer = built(builder).send("disk.use", request).await;
        let problem = assert_failure!(answer, DISK_BUSY);
        assert_eq!((problem.retry, problem.retryable), (retry, retryable), "{name}");
    }
}

#[tokio::test]
async fn a_failure_says_how_long_to_wait_where_it_knows() {
    let waits = failure("DISK_BUSY", Kind::Unavailable)
        .with_retry_after("wait_ms")
        .with_details(json!({"type": "object", "properties": {"wait_ms": {"type": "integer", "minimum": 0}}}));
    let field = fails(query("disk.use").fails(waits), "DISK_BUSY", json!({"wait_ms": 250}));
    let problem = assert_failure!(with(field).call("disk.use", json!({})).await, DISK_BUSY);
    assert_eq!(problem.retry_after_ms, Some(250));
    let said = ends(query("disk.use").fails(failure("DISK_BUSY", Kind::Unavailable)), || {
        Err(DynamicFailure::new("DISK_BUSY", json!({})).with_retry_after_ms(9))?
    });
    let problem = assert_failure!(with(said).call("disk.use", json!({})).await, DISK_BUSY);
    assert_eq!(problem.retry_after_ms, Some(9));
}

#[tokio::test]
async fn a_failure_names_its_ancestors_nearest_first() {
    let child = failure("FILE_LOCKED", Kind::Conflict).extending("FILE_BUSY").extending("FILE_PROBLEM");
    let operation = fails(query("files.read").fails(child), "FILE_LOCKED", json!({}));
    let problem = assert_failure!(with(operation).call("files.read", json!({})).await, FILE_LOCKED);
    assert_eq!(problem.extends.iter().map(contract::Code::as_str).collect::<Vec<_>>(), ["FILE_BUSY", "FILE_PROBLEM"]);
}
