//! Counts stay right between threads.

use std::{
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
    thread,
};

use redress_core::{
    Limit as _, LimitedCall,
    contract::{Caller, OperationDeclaration},
};
use redress_limits::{LimitRule, Limits};

use crate::service::options;

const THREADS: usize = 8;
const CALLS: usize = 5_000;

#[test]
fn no_place_is_given_twice_and_none_is_lost() {
    const MAX: u32 = 3;
    const TOGETHER: u32 = 5;
    let mut rule = LimitRule::new(["demo.greet"]);
    rule.in_flight_total = Some(TOGETHER);
    let limits = Limits::new(options(|options| {
        options.in_flight = Some(MAX);
        options.shed = true;
        options.rules.push(rule);
    }))
    .unwrap();
    let greet = OperationDeclaration::query("demo.greet");
    let running = [AtomicU32::new(0), AtomicU32::new(0)];
    let (admitted, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (limits, greet, running, admitted, refused) = (&limits, &greet, &running, &admitted, &refused);
            scope.spawn(move || {
                let caller = Caller::new(format!("caller {}", number % 2));
                let running = &running[number % 2];
                for _ in 0..CALLS {
                    match limits.admit(&LimitedCall::new(greet, Some(&caller))) {
                        Err(_) => refused.fetch_add(1, Ordering::Relaxed),
                        Ok(permit) => {
                            assert!(running.fetch_add(1, Ordering::SeqCst) < MAX);
                            thread::yield_now();
                            running.fetch_sub(1, Ordering::SeqCst);
                            drop(permit);
                            admitted.fetch_add(1, Ordering::Relaxed)
                        }
                    };
                }
            });
        }
    });
    assert_eq!(admitted.into_inner() + refused.into_inner(), THREADS * CALLS);
    assert_eq!((limits.figures().in_flight, limits.figures().callers), (0, 2));
    // Every place is free again.
    let caller = Caller::new("caller 0");
    let held: Vec<_> = (0..MAX).map(|_| limits.admit(&LimitedCall::new(&greet, Some(&caller))).unwrap()).collect();
    assert!(limits.admit(&LimitedCall::new(&greet, Some(&caller))).is_err());
    drop(held);
}

#[test]
fn a_burst_is_given_once_however_many_threads_ask() {
    let limits = Limits::new(options(|options| options.rate = Some("1000/h".parse().unwrap()))).unwrap();
    let greet = OperationDeclaration::query("demo.greet");
    let admitted = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let caller = Caller::new("ada");
                for _ in 0..CALLS {
                    let call = LimitedCall::new(&greet, Some(&caller));
                    admitted.fetch_add(usize::from(limits.admit(&call).is_ok()), Ordering::Relaxed);
                }
            });
        }
    });
    // One more call for every 3.6 seconds that the threads may have taken.
    let admitted = admitted.into_inner();
    assert!((1000..1020).contains(&admitted), "{admitted}");
}

#[test]
fn callers_who_come_by_the_thousand_are_bounded_and_still_limited() {
    let limits = Limits::new(options(|options| {
        options.rate = Some("1/h".parse().unwrap());
        options.callers = 512;
    }))
    .unwrap();
    let greet = OperationDeclaration::query("demo.greet");
    let admitted = (0..10_000).filter(|number| {
        let caller = Caller::new(format!("caller {number}"));
        limits.admit(&LimitedCall::new(&greet, Some(&caller))).is_ok()
    });
    let admitted = admitted.count();
    assert!(limits.figures().callers <= 512);
    // Each that is told apart once, and once those that are not.
    assert!(admitted <= 513, "{admitted}");
}
