//! What an answer becomes, on every face alike.

use redress_contract::Code;
use redress_import::{FailsWhen, Test};
use serde_json::{Value, json};

use crate::{
    faces::Site,
    mock::{Reply, Service, call, config, things},
};

async fn site(reply: Reply) -> Site {
    let (_, address) = Service::start([reply]).await;
    Site::new(things(config(address)).0)
}

#[tokio::test]
async fn a_declared_failure_is_told_with_its_body_and_when_to_come_again() {
    let body = json!({"code": "slow_down", "message": "not so fast"});
    let site = site(Reply::json(429, &body).with("retry-after", "7")).await;
    for told in site.ask("things.list_things", &json!({})).await {
        let problem = told.outcome.unwrap_err();
        assert_eq!(problem["code"], "HTTP_429", "{}", told.face);
        assert_eq!(problem["details"]["body"], body, "{}", told.face);
        assert_eq!(problem["details"]["status"], 429);
        assert_eq!(problem["details"]["reason"], "slow_down", "the service's own code is kept");
        assert_eq!(problem["error"], "the service answered 429 (slow_down)");
        assert_eq!(problem["retry_after_ms"], 7000, "{}", told.face);
        assert_eq!((&problem["retry"], &problem["retryable"]), (&json!("safe"), &json!(true)));
        if told.face == "http" {
            assert_eq!(told.headers["retry-after"], "7");
        }
    }
}

#[tokio::test]
async fn the_exact_status_comes_before_its_range_and_the_range_before_the_default() {
    let body = json!({"message": "no"});
    for (operation, input, status, code) in [
        ("things.get_thing", json!({"id": "1"}), 404, "HTTP_404"),
        ("things.get_thing", json!({"id": "1"}), 418, "HTTP_4XX"),
        ("things.make_thing", json!({"name": "a"}), 409, "HTTP_409"),
        ("things.make_thing", json!({"name": "a"}), 500, "HTTP_DEFAULT"),
    ] {
        let site = site(Reply::json(status, &body)).await;
        for told in site.ask(operation, &input).await {
            assert_eq!(told.outcome.unwrap_err()["code"], code, "{operation} {status} {}", told.face);
        }
    }
}

#[tokio::test]
async fn what_the_document_does_not_say_is_said_to_be_so_and_is_never_a_success() {
    let page = "<html><script>x()</script><h1>Sign in</h1>to go on</html>";
    let long = format!("stack trace: token=abcdef123456 {}", "word ".repeat(400));
    for (reply, status, reason, excerpt) in [
        (Reply::json(418, &json!({"message": "teapot"})), 418, "status", r#"{"message":"teapot"}"#),
        (Reply::json(202, &json!({"later": 1})), 202, "status", r#"{"later":1}"#),
        (Reply::of(200, "text/html", page), 200, "content_type", "Sign in to go on"),
        (Reply::of(200, "application/json", page), 200, "content_type", "Sign in to go on"),
        (Reply::of(200, "application/json", "{\"items\":["), 200, "json", "{\"items\":["),
        (Reply::of(200, "application/json", b"{\"a\":\"\xff\"}".to_vec()), 200, "json", "{\"a\":\"\u{fffd}\"}"),
        (Reply::of(429, "text/html", page), 429, "content_type", "Sign in to go on"),
        (Reply::json(429, &json!({"code": 7})), 429, "body", "{\"code\":7}"),
        (Reply::of(500, "text/plain", long), 500, "status", "stack trace: [redacted] word"),
    ] {
        let site = site(reply).await;
        for told in site.ask("things.list_things", &json!({})).await {
            let problem = told.outcome.unwrap_err();
            let details = &problem["details"];
            assert_eq!(problem["code"], "UPSTREAM_UNDECLARED", "{problem}");
            assert_eq!((&details["status"], &details["reason"]), (&json!(status), &json!(reason)), "{problem}");
            let shown = details["excerpt"].as_str().unwrap();
            assert!(shown.starts_with(excerpt) && shown.chars().count() <= 301, "{shown}");
            assert_eq!(problem["retryable"], false);
        }
    }
}

#[tokio::test]
async fn statuses_that_mean_the_same_everywhere_need_no_document() {
    let site = site(Reply::of(503, "text/html", "<h1>busy</h1>").with("retry-after", "3")).await;
    let problem = site.http("things.remove_thing", &json!({"id": "1"})).await.outcome.unwrap_err();
    assert_eq!((&problem["code"], &problem["effect"]), (&json!("UPSTREAM_UNREACHABLE"), &json!("unknown")));
    assert_eq!(problem["retry"], "unsafe", "a mutation that may have been made is not made again");
    let problem = site.http("things.get_thing", &json!({"id": "1"})).await.outcome.unwrap_err();
    assert_eq!((&problem["code"], &problem["retry_after_ms"]), (&json!("UPSTREAM_UNREACHABLE"), &json!(3000)));
    let refused = self::site(Reply::of(401, "", "")).await;
    let problem = refused.http("things.remove_thing", &json!({"id": "1"})).await.outcome.unwrap_err();
    assert_eq!((&problem["code"], &problem["http"]), (&json!("CREDENTIALS_REQUIRED"), &json!(424)));
}

#[tokio::test]
async fn an_output_that_breaks_its_document_is_delivered_and_marked() {
    let body = json!({"id": "seven", "name": "a"});
    let site = site(Reply::json(200, &body)).await;
    for told in site.ask("things.get_thing", &json!({"id": "7"})).await {
        assert_eq!(told.outcome.unwrap(), body, "{}", told.face);
        match told.face {
            "http" => assert_eq!(told.headers["redress-output-breach"], "type /id"),
            "mcp" => {
                let value: Value = serde_json::from_str(&told.text).unwrap();
                let mark = &value["result"]["_meta"]["dev.redress/output_breach"];
                assert_eq!(mark, &json!({"pointer": "/id", "rule": "type"}));
            }
            _ => {}
        }
    }
    let (_, list) = site.mcp_message("tools/list", json!({})).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    for tool in list["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool.get("outputSchema"), None, "a strict client would throw the marked result away");
    }
}

#[tokio::test]
async fn a_strict_upstream_keeps_its_document() {
    let (_, address) = Service::start([Reply::json(200, &json!({"id": "seven"}))]).await;
    let mut config = config(address);
    config.strict = true;
    let site = Site::new(things(config).0);
    for told in site.ask("things.get_thing", &json!({"id": "7"})).await {
        let problem = told.outcome.unwrap_err();
        assert_eq!(problem["code"], "UPSTREAM_UNDECLARED");
        assert_eq!(problem["details"], json!({"reason": "output", "rule": "type"}));
    }
}

#[tokio::test]
async fn a_success_that_is_none_is_the_failure_that_an_operator_said_it_is() {
    let code: Code = serde_json::from_value(json!("THINGS_SAY_NO")).unwrap();
    let rule = |pointer: &str, test| FailsWhen {
        pointer: pointer.to_owned(),
        test,
        code: code.clone(),
        details: vec!["/error".to_owned(), "/needed".to_owned()],
        evidence: None,
    };
    let (service, address) = Service::start([Reply::json(200, &json!({}))]).await;
    let mut config = config(address);
    config.fails_when = vec![rule("/ok", Test::Is(json!(false))), rule("/errors", Test::Exists(true))];
    let site = Site::new(things(config).0);
    service.tell([Reply::json(
        200,
        &json!({"ok": false, "error": "not_in_channel", "needed": "join", "inner": "secret"}),
    )]);
    for told in site.ask("things.list_things", &json!({})).await {
        let problem = told.outcome.unwrap_err();
        assert_eq!((&problem["code"], &problem["http"]), (&json!("THINGS_SAY_NO"), &json!(502)));
        assert_eq!(problem["error"], "the service refused: not_in_channel");
        assert_eq!(problem["details"]["body"], json!({"error": "not_in_channel", "needed": "join"}));
    }
    service.tell([Reply::json(200, &json!({"errors": [{"message": "x"}]}))]);
    let told = site.rpc("things.list_things", &json!({})).await;
    assert_eq!(told.outcome.unwrap_err()["code"], "THINGS_SAY_NO");
    service.tell([Reply::json(200, &json!({"ok": true, "items": []}))]);
    assert!(site.rpc("things.list_things", &json!({})).await.outcome.is_ok());
    let (_, list) = site.mcp_message("tools/list", json!({})).await;
    assert!(list.contains("THINGS_SAY_NO"), "it is declared like any other");
}

#[tokio::test]
async fn a_result_that_is_too_large_says_what_makes_it_so_and_what_makes_it_smaller() {
    let items: Vec<Value> = (0..5000).map(|id| json!({"id": id, "name": "a name of some length"})).collect();
    let (_, address) = Service::start([Reply::json(200, &json!({"items": items}))]).await;
    let site = Site::new(things(config(address)).0);
    let told = site.mcp("things.list_things", &json!({})).await;
    let problem = told.outcome.unwrap_err();
    assert_eq!((&problem["code"], &problem["effect"]), (&json!("RESULT_TOO_LARGE"), &json!("none")));
    let details = &problem["details"];
    assert_eq!(details["limit_bytes"], 128 * 1024);
    assert!(details["size_bytes"].as_u64().unwrap() > 128 * 1024, "{details}");
    assert_eq!(details["largest"][0]["pointer"], "/items");
    assert_eq!(details["narrow_by"][0], "limit", "{details}");
    let whole = site.http("things.list_things", &json!({})).await.outcome.unwrap();
    assert_eq!(whole["items"].as_array().unwrap().len(), 5000, "another face has room for it");
    let mut small = config(address);
    small.max_response = 10_000;
    let site = Site::new(things(small).0);
    for told in site.ask("things.list_things", &json!({})).await {
        let problem = told.outcome.unwrap_err();
        assert_eq!(problem["code"], "RESULT_TOO_LARGE");
        assert_eq!(
            (&problem["details"]["limit_bytes"], &problem["details"]["narrow_by"][0]),
            (&json!(10_000), &json!("limit"))
        );
    }
}

#[tokio::test]
async fn what_only_reads_has_changed_nothing_whatever_is_answered() {
    let site = site(Reply::json(418, &json!({"message": "teapot"}))).await;
    for (operation, input, effect) in
        [("things.list_things", json!({}), "none"), ("things.remove_thing", json!({"id": "1"}), "unknown")]
    {
        for told in site.ask(operation, &input).await {
            let problem = told.outcome.unwrap_err();
            let ended = (&problem["code"], &problem["effect"]);
            assert_eq!(ended, (&json!("UPSTREAM_UNDECLARED"), &json!(effect)), "{operation} over {}", told.face);
        }
    }
}

#[tokio::test]
async fn numbers_come_as_they_were_sent() {
    let (_, address) =
        Service::start([Reply::of(200, "application/json", r#"{"id":12345678901234567890123,"name":"1.10"}"#)]).await;
    let site = Site::new(things(config(address)).0);
    let told = site.http("things.get_thing", &json!({"id": "7"})).await;
    assert_eq!(told.text, r#"{"id":12345678901234567890123,"name":"1.10"}"#);
}

#[tokio::test]
async fn nothing_is_null_and_text_is_a_string() {
    let (_, address) = Service::start([Reply::of(204, "", "")]).await;
    let (registry, _) = things(config(address));
    assert_eq!(call(&registry, "things.remove_thing", json!({"id": "1"})).await["result"], Value::Null);
}
