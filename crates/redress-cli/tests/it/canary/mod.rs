//! Nothing leaks from a service with everything switched on: every limit, every kind of caller, every exporter. The
//! service is a process of its own; what it lets out in any way is searched to the last byte.

mod calls;
mod collector;
mod house;

use redress_core::testing::Canary;

use house::House;

/// What a search of everything found.
struct Searched {
    /// Of what may be nowhere at all: inputs, tokens, keys.
    nowhere: Vec<String>,
    /// Of what the log of the operator may hold, and nothing else: causes, panics.
    log_alone: Vec<String>,
    /// In which of the places the name of a caller turned up, which may be there.
    named: Vec<String>,
    /// How many of the causes and panics the log of the operator holds.
    logged: usize,
}

/// Makes every call of a service that logs at this level, and searches what came of it.
async fn search(log_level: &[&str]) -> Searched {
    let (nowhere, log_alone, named) = (Canary::new(), Canary::new(), Canary::new());
    let house = House::start(log_level, &nowhere, &log_alone, &named).await;
    let hidden = house.hidden.clone();
    let answers = calls::make_all(&house).await;
    let places = house.stop_and_gather(answers).await;
    for (place, bytes) in &places {
        assert!(!bytes.is_empty(), "nothing came from {place}, so nothing was searched");
        nowhere.check(place, bytes);
        named.check(place, bytes);
        if place != "the log" {
            log_alone.check(place, bytes);
        }
    }
    let log = places.iter().find(|(place, _)| place == "the log").map(|(_, bytes)| bytes.as_slice());
    let log = String::from_utf8_lossy(log.unwrap_or_default()).into_owned();
    let logged = house::HIDDEN.iter().filter(|what| log.contains(&hidden[**what])).count();
    let told = |canary: &Canary| -> Vec<String> {
        canary.report().found.iter().map(|leak| format!("{} in {} ({})", leak.place, leak.face, leak.form)).collect()
    };
    let named = named.report().found.into_iter().map(|leak| leak.face).collect();
    Searched { nowhere: told(&nowhere), log_alone: told(&log_alone), named, logged }
}

/// Secrets, causes, texts of upstreams, URLs and inputs stay inside. It is also the proof that the search finds what
/// is there: the name of a caller in the records of the operator and in no metric, and causes and panics in the log.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaks_with_every_limit_every_caller_and_every_exporter_on() {
    assert_nothing_leaks(search(&["--log-level", "debug"]).await);
}

/// Nor does it at the level that a service logs at unless it is told otherwise, and the causes are there all the same.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaks_at_the_level_of_the_log_that_nobody_has_set() {
    assert_nothing_leaks(search(&[]).await);
}

#[track_caller]
fn assert_nothing_leaks(searched: Searched) {
    assert!(searched.nowhere.is_empty(), "{:#?}", searched.nowhere);
    assert!(searched.log_alone.is_empty(), "{:#?}", searched.log_alone);
    for place in ["the access log", "the state", "the token file"] {
        assert!(
            searched.named.iter().any(|named| named == place),
            "{place} does not name the caller: {:?}",
            searched.named
        );
    }
    assert_eq!(searched.logged, house::HIDDEN.len(), "the log of the operator tells what was hidden from callers");
    assert!(!searched.named.iter().any(|named| named == "/metrics"), "a caller is a label");
}
