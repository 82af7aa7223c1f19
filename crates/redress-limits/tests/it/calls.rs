//! Calls that are admitted, and calls that are refused.

use std::time::Duration;

use redress_core::{
    Request,
    contract::{EngineCode, Retry},
};
use redress_limits::{LimitRule, Limits, LimitsError};

use crate::service::{Service, assert_refused, options};

fn rate(text: &str) -> Option<redress_limits::Rate> {
    Some(text.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_caller_over_its_rate_is_told_exactly_when_to_come_again() {
    let service = Service::new(options(|options| options.rate = rate("4/s")));
    for _ in 0..4 {
        assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    }
    let answer = service.call("ada", "demo.quick").await;
    assert_refused(&answer, "RATE_LIMITED", "rate", "caller");
    let problem = answer.problem();
    assert_eq!((problem.http, problem.retry, problem.retry_after_ms), (429, Retry::Safe, Some(250)));

    tokio::time::advance(Duration::from_millis(249)).await;
    assert_eq!(service.call("ada", "demo.quick").await.problem().retry_after_ms, Some(1));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
}

#[tokio::test(start_paused = true)]
async fn a_caller_over_its_rate_hurts_no_other() {
    let service = Service::new(options(|options| options.rate = rate("2/s")));
    for _ in 0..10 {
        service.call("ada", "demo.quick").await;
    }
    assert_eq!(service.call("ada", "demo.quick").await.code(), Some("RATE_LIMITED"));
    assert_eq!(service.call("ben", "demo.quick").await.code(), None);
    assert_eq!(service.call("", "demo.quick").await.code(), None);
}

#[tokio::test(start_paused = true)]
async fn a_rule_counts_its_operations_apart_from_the_rest() {
    let mut rule = LimitRule::new(["demo.*"]).for_callers(["ada"]);
    rule.rate = rate("1/s");
    let service = Service::new(options(|options| {
        options.rules.push(rule);
        options.rate = rate("3/s");
    }));
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    assert_eq!(service.call("ada", "demo.quick").await.code(), Some("RATE_LIMITED"));
    for _ in 0..3 {
        assert_eq!(service.call("ben", "demo.quick").await.code(), None);
    }
    let call = service.begin("ada", "other.wait").await;
    service.let_go([call]).await;
}

#[tokio::test(start_paused = true)]
async fn the_anonymous_share_one_rate_for_each_address() {
    let service = Service::new(options(|options| options.rate = rate("1/s")));
    let from = async |address: &str| {
        let request = Request::default().with_peer(address.parse().unwrap());
        service.of("").send("demo.quick", request).await.code().map(str::to_owned)
    };
    assert_eq!(from("192.0.2.1").await, None);
    assert_eq!(from("192.0.2.1").await.as_deref(), Some("RATE_LIMITED"));
    assert_eq!(from("192.0.2.2").await, None);
}

#[tokio::test]
async fn a_caller_has_so_many_calls_in_flight_and_gets_a_place_back_when_one_ends() {
    let service = Service::new(options(|options| options.in_flight = Some(2)));
    let first = service.begin("ada", "demo.wait").await;
    let second = service.begin("ada", "demo.wait").await;
    let answer = service.call("ada", "demo.quick").await;
    assert_refused(&answer, "RATE_LIMITED", "in_flight", "caller");
    assert!(answer.problem().retry_after_ms.unwrap() > 0);
    assert_eq!(service.call("ben", "demo.quick").await.code(), None);

    service.let_go([first]).await;
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    service.let_go([second]).await;
    assert_eq!(service.limits.figures().in_flight, 0);
}

#[tokio::test]
async fn a_place_is_free_again_when_a_call_is_given_up() {
    let service = Service::new(options(|options| options.in_flight = Some(1)));
    let call = service.begin("ada", "demo.wait").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
}

#[tokio::test]
async fn a_rule_and_the_server_have_totals_of_their_own() {
    let mut rule = LimitRule::new(["demo.wait"]);
    rule.in_flight_total = Some(1);
    let service = Service::new(options(|options| {
        options.rules.push(rule);
        options.in_flight_total = Some(2);
    }));
    let first = service.begin("ada", "demo.wait").await;
    assert_refused(&service.call("ben", "demo.wait").await, "OVERLOADED", "in_flight", "rule");
    let second = service.begin("ben", "other.wait").await;
    let answer = service.call("cat", "demo.quick").await;
    assert_refused(&answer, "OVERLOADED", "in_flight", "server");
    assert_eq!(answer.problem().http, EngineCode::Overloaded.declaration().http());
    assert!(answer.problem().retry_after_ms.is_some());
    service.let_go([first, second]).await;
    assert_eq!(service.call("cat", "demo.quick").await.code(), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_for_its_place_takes_nothing_from_the_rate() {
    let service = Service::new(options(|options| {
        options.in_flight = Some(1);
        options.rate = rate("2/min");
    }));
    let call = service.begin("ada", "demo.wait").await;
    for _ in 0..5 {
        assert_refused(&service.call("ada", "demo.quick").await, "RATE_LIMITED", "in_flight", "caller");
    }
    service.let_go([call]).await;
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    assert_refused(&service.call("ada", "demo.quick").await, "RATE_LIMITED", "rate", "caller");
    assert_eq!(service.limits.figures().in_flight, 0, "the place was given back");
}

#[tokio::test(start_paused = true)]
async fn what_an_operation_calls_is_counted_with_the_call_that_makes_it() {
    let service = Service::new(options(|options| {
        options.in_flight = Some(1);
        options.in_flight_total = Some(1);
        options.rate = rate("1/min");
    }));
    let answer = service.call("ada", "demo.compose").await;
    assert_eq!(answer.code(), None, "{:?}", answer.json());
    assert_eq!(service.call("ben", "demo.compose").await.code(), None);
    assert_eq!(service.limits.figures().callers, 2);
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_calls_get_slow_refuses_the_caller_who_makes_them_so() {
    let service = Service::new(options(|options| options.shed = true));
    let slowly = async |ms: u64, id: &str, count: usize| {
        let mut calls = Vec::new();
        for _ in 0..count {
            calls.push(service.begin(id, "demo.wait").await);
        }
        tokio::time::advance(Duration::from_millis(ms)).await;
        service.let_go(calls).await;
    };
    for _ in 0..20 {
        slowly(10, "ada", 1).await;
    }
    assert_eq!(service.limits.figures().shed_above, None);
    slowly(200, "eve", 60).await;
    let bound = service.limits.figures().shed_above.expect("sixty calls at once are twenty times as slow as one");
    assert!(bound < 60, "{bound}");

    // Where nobody else has called of late, nothing is kept for others.
    tokio::time::advance(Duration::from_secs(2)).await;
    let mut calls = Vec::new();
    for _ in 0..bound {
        calls.push(service.begin("eve", "demo.wait").await);
    }
    let answer = service.call("eve", "demo.quick").await;
    assert_refused(&answer, "OVERLOADED", "shed", "caller");
    assert_eq!((answer.problem().retry, answer.problem().http), (Retry::Safe, 503));
    assert!(answer.problem().retry_after_ms >= Some(100));
    assert_eq!(service.call("ada", "demo.quick").await.code(), None, "who has not its share is served");
    service.let_go(calls).await;
}

#[tokio::test(start_paused = true)]
async fn calls_that_never_reach_their_handler_say_nothing_of_how_long_it_takes() {
    let service = Service::new(options(|options| options.shed = true));
    let together = async |count: usize| {
        let mut calls = Vec::new();
        for _ in 0..count {
            calls.push(service.begin("ada", "demo.wait").await);
        }
        tokio::time::advance(Duration::from_millis(50)).await;
        service.let_go(calls).await;
    };
    for _ in 0..20 {
        together(1).await;
    }
    for _ in 0..64 {
        let answer = service.of("ada").send("demo.wait", Request::new(b"no json")).await;
        assert_eq!(answer.code(), Some("PARSE_ERROR"));
    }
    for _ in 0..5 {
        together(40).await;
        assert_eq!(service.limits.figures().shed_above, None);
    }
}

#[test]
fn limits_that_cannot_be_meant_are_refused() {
    let wrong = |change: fn(&mut redress_limits::LimitOptions)| Limits::new(options(change)).unwrap_err();
    assert_eq!(wrong(|options| options.in_flight = Some(0)), LimitsError::Zero { setting: "in_flight" });
    assert_eq!(wrong(|options| options.streams = Some(0)), LimitsError::Zero { setting: "streams" });
    assert_eq!(wrong(|options| options.callers = 0), LimitsError::Zero { setting: "callers" });
    assert_eq!(wrong(|options| options.rules = vec![LimitRule::new(["files.*"])]), LimitsError::Empty { number: 1 });
    for pattern in ["files", "files*", "Files.*", "*.read", "files.*.read", "", "."] {
        let mut rule = LimitRule::new([pattern]);
        rule.in_flight = Some(1);
        let refused = Limits::new(options(|options| options.rules.push(rule))).unwrap_err();
        assert_eq!(refused, LimitsError::Pattern { pattern: pattern.to_owned() });
    }
    for pattern in ["*", "files.*", "files.read", "a.b.*"] {
        let mut rule = LimitRule::new([pattern]);
        rule.in_flight = Some(1);
        assert!(Limits::new(options(|options| options.rules.push(rule))).is_ok(), "{pattern}");
    }
}
