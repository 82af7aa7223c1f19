//! A folder that becomes a link and a folder again, as fast as it can, while calls run.

use std::{
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use redress::testing::assert_ok;
use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};

use crate::folder::{Folder, SECRET};

/// For how long each race is run.
const RUN: Duration = Duration::from_millis(1_500);

/// What came of a race.
struct Raced {
    /// How many calls ended well.
    ok: u64,
    /// How many were refused.
    refused: u64,
    /// How often the two were swapped.
    swaps: u64,
    /// Whether a call saw the file through the folder as it was, and one through the place it was swapped to.
    seen: [bool; 2],
}

impl Raced {
    /// That calls ended in both ways. A race in which nothing was swapped, or every call ended alike, has proved nothing.
    #[track_caller]
    fn ended_both_ways(self) {
        let Raced { ok, refused, swaps, .. } = self;
        assert!(ok > 0 && refused > 0 && swaps > 50, "{ok} well, {refused} refused, {swaps} swaps");
    }

    /// The same for calls that are refused by neither side of the swap: both sides were seen.
    #[track_caller]
    fn saw_both_sides(self) {
        let Raced { ok, swaps, seen, .. } = self;
        assert!(ok > 0 && swaps > 50 && seen == [true, true], "{ok} well, {swaps} swaps, seen {seen:?}");
    }
}

/// Swaps `d` between a folder and a link to the outside while `call` is made again and again.
async fn race(call: impl Fn(u64) -> (&'static str, Value)) -> Raced {
    let folder = Folder::with(&[("d/secret.txt", "inside")]);
    symlink("../outside", folder.host("link")).unwrap();
    assert_ok!(folder.harness.call("consent.grant", json!({"operation": "files.remove"})).await);
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut ok, mut refused, mut seen) = (0, 0, [false, false]);
    let d = folder.host("d");
    let link = folder.host("link");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                // In one step, so that there is no moment in which neither is there.
                rustix::fs::renameat_with(CWD, &d, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _ended = Ended(&stop);
        let begin = Instant::now();
        let mut n = 0;
        while begin.elapsed() < RUN {
            let (name, input) = call(n);
            let answer =
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(folder.call(name, input)));
            let text = String::from_utf8_lossy(&answer.bytes()).into_owned();
            assert!(!text.contains(SECRET), "{name} read what lies outside");
            for (seen, path) in seen.iter_mut().zip(["\"d/secret.txt\"", "\"link/secret.txt\""]) {
                *seen |= answer.code().is_none() && text.contains(path);
            }
            match answer.code() {
                None => ok += 1,
                Some("INTERNAL") => panic!("{name}: {text}"),
                Some(_) => refused += 1,
            }
            n += 1;
        }
    });
    folder.assert_outside_unchanged();
    Raced { ok, refused, swaps: swaps.load(Ordering::Relaxed), seen }
}

/// Ends the swapping, also where an assertion fails; otherwise the test would wait for it for ever.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_through_a_folder_that_becomes_a_link_stays_inside() {
    race(|_| ("read", json!({"path": "d/secret.txt"}))).await.ended_both_ways();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_through_a_folder_that_becomes_a_link_stays_inside() {
    race(|n| ("write", json!({"path": "d/secret.txt", "content": n.to_string(), "mode": "replace"})))
        .await
        .ended_both_ways();
    race(|n| ("write", json!({"path": format!("d/{n}"), "content": "x", "mode": "create", "make_folders": true})))
        .await
        .ended_both_ways();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn editing_through_a_folder_that_becomes_a_link_stays_inside() {
    race(|_| ("edit", json!({"path": "d/secret.txt", "old": "inside", "new": "inside"}))).await.ended_both_ways();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_and_searching_a_folder_that_becomes_a_link_stays_inside() {
    race(|_| ("list", json!({"depth": 4}))).await.saw_both_sides();
    race(|_| ("search", json!({"pattern": ".", "everything": true}))).await.saw_both_sides();
    race(|_| ("search", json!({"pattern": ".", "path": "d"}))).await.ended_both_ways();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moving_and_removing_through_a_folder_that_becomes_a_link_stays_inside() {
    race(|n| {
        let (from, to) = if n % 2 == 0 { ("d/secret.txt", "taken") } else { ("taken", "d/secret.txt") };
        ("move", json!({"path": from, "to": to, "replace": true}))
    })
    .await
    .ended_both_ways();
    race(|n| match n % 3 {
        0 => ("write", json!({"path": "d/more/x", "content": "x", "mode": "create", "make_folders": true})),
        1 => ("remove", json!({"path": "d/more", "recursive": true})),
        _ => ("remove", json!({"path": "d/secret.txt"})),
    })
    .await
    .ended_both_ways();
}
