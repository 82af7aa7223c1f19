//! Limits in place of others, while calls run.

use redress_limits::LimitRule;

use crate::service::{Service, assert_refused, options};

#[tokio::test(start_paused = true)]
async fn a_reload_gives_nobody_a_second_burst() {
    let two = || options(|options| options.rate = Some("2/min".parse().unwrap()));
    let service = Service::new(two());
    for _ in 0..2 {
        assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    }
    let mut changed = two();
    changed.streams = Some(3);
    let mut rule = LimitRule::new(["other.*"]);
    rule.in_flight = Some(1);
    changed.rules.push(rule);
    let service = service.reloaded(changed);
    assert_refused(&service.call("ada", "demo.quick").await, "RATE_LIMITED", "rate", "caller");
    assert_eq!(service.call("ben", "demo.quick").await.code(), None);
}

#[tokio::test(start_paused = true)]
async fn a_rate_that_changes_begins_anew() {
    let service = Service::new(options(|options| options.rate = Some("1/min".parse().unwrap())));
    assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    let service = service.reloaded(options(|options| options.rate = Some("3/min".parse().unwrap())));
    for _ in 0..3 {
        assert_eq!(service.call("ada", "demo.quick").await.code(), None);
    }
    assert_eq!(service.call("ada", "demo.quick").await.code(), Some("RATE_LIMITED"));
}

#[tokio::test]
async fn calls_that_run_are_counted_across_a_reload() {
    let max = |calls| options(move |options| options.in_flight = Some(calls));
    let before = Service::new(max(2));
    let calls = [before.begin("ada", "demo.wait").await, before.begin("ada", "demo.wait").await];
    let after = before.reloaded(max(3));
    let third = after.begin("ada", "demo.wait").await;
    assert_refused(&after.call("ada", "demo.quick").await, "RATE_LIMITED", "in_flight", "caller");
    before.let_go(calls).await;
    assert_eq!(after.limits.figures().in_flight, 1);
    after.let_go([third]).await;
    assert_eq!((after.limits.figures().in_flight, before.limits.figures().in_flight), (0, 0));
}

#[tokio::test]
async fn limits_that_cannot_be_meant_leave_the_old_ones_in_place() {
    let service = Service::new(options(|options| options.in_flight = Some(1)));
    assert!(service.limits.replaced(options(|options| options.in_flight = Some(0))).is_err());
    let call = service.begin("ada", "demo.wait").await;
    assert_refused(&service.call("ada", "demo.quick").await, "RATE_LIMITED", "in_flight", "caller");
    service.let_go([call]).await;
}
