//! A stream that a test reads as it goes along.

use std::time::Duration;

use futures_util::StreamExt as _;
use redress_contract::Envelope;
use serde::de::DeserializeOwned;

use super::CallAnswer;
use crate::{Event, Subscription};

/// How long something is waited for that has to come. A test that fails should say so, and not hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream that a test reads as it goes along: what it does in between is what the stream tells of. Dropping it is a
/// reader that goes away. [`Harness::watch`](super::Harness::watch) opens one.
#[derive(Debug)]
pub struct WatchedStream(Result<Subscription, Option<Envelope>>);

impl WatchedStream {
    pub(super) fn new(opened: Result<Subscription, Envelope>) -> WatchedStream {
        WatchedStream(opened.map_err(Some))
    }

    /// The next item, read as `T`.
    ///
    /// # Panics
    ///
    /// When the stream was refused or ends instead, when the item is not a `T`, or when nothing comes for half a minute.
    pub async fn next<T: DeserializeOwned>(&mut self) -> T {
        match self.event().await {
            Event::Item(item) => match serde_json::from_slice(item.json()) {
                Ok(item) => item,
                Err(error) => panic!("the item is no `{}`: {error}", std::any::type_name::<T>()),
            },
            Event::Failed(envelope) => {
                let code = envelope.code().unwrap_or("no code").to_owned();
                panic!("the stream ended with {code}: {}", String::from_utf8_lossy(&envelope.into_bytes()))
            }
            Event::Completed(_) => panic!("the stream came to its good end, and an item was expected"),
        }
    }

    /// The bad end that comes next, for `assert_failure!`: of the stream, or of the subscription itself.
    ///
    /// # Panics
    ///
    /// When an item or the good end comes instead, or nothing for half a minute.
    pub async fn failed(mut self) -> CallAnswer {
        match self.event().await {
            Event::Failed(envelope) => CallAnswer(envelope),
            Event::Item(item) => panic!("the stream goes on: {}", String::from_utf8_lossy(item.json())),
            Event::Completed(_) => panic!("the stream came to its good end, and a failure was expected"),
        }
    }

    async fn event(&mut self) -> Event {
        let stream = match &mut self.0 {
            Ok(stream) => stream,
            Err(refused) => match refused.take() {
                Some(envelope) => return Event::Failed(envelope),
                None => panic!("the stream was refused, and nothing comes after that"),
            },
        };
        match tokio::time::timeout(PATIENCE, stream.next()).await {
            Ok(Some(event)) => event,
            Ok(None) => panic!("the stream has ended, and nothing comes after that"),
            Err(_) => panic!("nothing came for {} s", PATIENCE.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, stream};
    use redress_contract::{Access, OperationDeclaration};
    use serde_json::json;

    use super::*;
    use crate::{Events, Operation, Registry, consent_grant, testing::Harness};

    /// Counts to three, and then waits for ever.
    fn harness() -> Harness {
        let count =
            OperationDeclaration::subscription("numbers.count").with_summary("Count.").with_access(Access::anyone());
        let count = Operation::dynamic(count).with_stream_handler(|_, _| async {
            let numbers = stream::iter((1..=3).map(|number| Ok(json!(number))));
            Ok(Events::new(numbers.chain(stream::pending())))
        });
        Harness::new(Registry::builder().add_all([count, consent_grant()]).build().unwrap())
    }

    /// What a panic says.
    async fn says(failing: impl Future) -> String {
        let panic = std::panic::AssertUnwindSafe(failing).catch_unwind().await.err().expect("it panics");
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_an_end_is_read_item_by_item_and_not_waited_for_for_ever() {
        let mut watch = harness().watch("numbers.count", json!({})).await;
        for number in 1..=3 {
            assert_eq!(watch.next::<u32>().await, number);
        }
        assert_eq!(says(watch.next::<u32>()).await, "nothing came for 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_instead_is_told() {
        let mut watch = harness().watch("numbers.count", json!({})).await;
        assert!(says(watch.next::<String>()).await.starts_with("the item is no `alloc::string::String`"));
        assert_eq!(says(watch.failed()).await, "the stream goes on: 2");
        let mut refused = harness().watch("numbers.nowhere", json!({})).await;
        assert!(says(refused.next::<u32>()).await.starts_with("the stream ended with NOT_FOUND"));
        assert_eq!(says(refused.next::<u32>()).await, "the stream was refused, and nothing comes after that");
        let unknown = harness().watch("numbers.nowhere", json!({})).await;
        assert_eq!(unknown.failed().await.code(), Some("NOT_FOUND"));
    }

    #[test]
    fn nobody_has_to_produce_the_failures_of_what_comes_with_redress() {
        let harness = harness();
        assert!(!consent_grant().declaration().failures().is_empty());
        assert_eq!(harness.coverage().never_produced(harness.registry()), []);
    }
}
