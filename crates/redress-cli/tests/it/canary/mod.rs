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
}

async fn search() -> Searched {
    let (nowhere, log_alone, named) = (Canary::new(), Canary::new(), Canary::new());
    let house = House::start(&nowhere, &log_alone, &named).await;
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
    let told = |canary: &Canary| -> Vec<String> {
        canary.report().found.iter().map(|leak| format!("{} in {} ({})", leak.place, leak.face, leak.form)).collect()
    };
    let named = named.report().found.into_iter().map(|leak| leak.face).collect();
    Searched { nowhere: told(&nowhere), log_alone: told(&log_alone), named }
}

/// M-52…M-60, K-47…K-56, K-79: also the proof that the search can find something, since the name of a caller is where it
/// belongs: in the records of the operator, and in no metric.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaks_with_every_limit_every_caller_and_every_exporter_on() {
    let searched = search().await;
    assert!(searched.nowhere.is_empty(), "{:#?}", searched.nowhere);
    assert!(searched.log_alone.is_empty(), "{:#?}", searched.log_alone);
    for place in ["the access log", "the state", "the token file"] {
        assert!(
            searched.named.iter().any(|named| named == place),
            "{place} does not name the caller: {:?}",
            searched.named
        );
    }
    assert!(!searched.named.iter().any(|named| named == "/metrics"), "a caller is a label");
}
