//! A subscription that ends well, one that fails in the middle, and a reader that goes away.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use futures_util::{StreamExt as _, stream};
use redress::{Event, Events, Failure, Outcome, Registry, Request, data, operation};

#[data]
struct Pour {
    cups: u32,
}

#[derive(Debug, Failure)]
enum PourFailure {
    /// The pot is empty.
    #[failure(kind = unavailable, message = "the pot was empty after {poured} cups", effect = none,
              recover(wait, hint = "Wait until the next pot has been brewed."))]
    PotEmpty { poured: u32 },
}

/// Pour cups of coffee.
///
/// A pot holds three. An `Err` in the stream is its end: every reader, on every face, gets the
/// cups that were poured, then the failure, then nothing.
#[operation(subscription, name = "coffee.pour", access(anyone), buffer = 2)]
async fn pour(input: Pour) -> Outcome<Events<String, PourFailure>, PourFailure> {
    Ok(Events::new(stream::iter(1..=input.cups).map(|cup| match cup {
        1..=3 => Ok(format!("cup {cup}")),
        _ => Err(PourFailure::PotEmpty { poured: cup - 1 }.into()),
    })))
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(pour).build()
}

#[tokio::main]
async fn main() -> Result<(), redress::BuildError> {
    let registry = registry()?;
    for input in [r#"{"cups":2}"#, r#"{"cups":9}"#, r#"{"cup":1}"#] {
        println!("{input}");
        // What refuses the call before the stream is open is told here, and not by an event.
        match registry.subscribe("coffee.pour", Request::new(input.as_bytes())).await {
            Err(refused) => println!("refused: {}\n", String::from_utf8_lossy(&refused.into_bytes())),
            Ok(mut events) => {
                while let Some(event) = events.next().await {
                    match event {
                        Event::Item(cup) => println!("item: {}", String::from_utf8_lossy(cup.json())),
                        Event::Completed(_) => println!("completed\n"),
                        Event::Failed(envelope) => {
                            println!("failed: {}\n", String::from_utf8_lossy(&envelope.into_bytes()));
                        }
                    }
                }
            }
        }
    }
    // A reader that goes away cancels the source: no more cups are poured than it has room for.
    let mut events = registry.subscribe("coffee.pour", Request::new(br#"{"cups":3}"#)).await.expect("it fits");
    println!("one of three: {}", matches!(events.next().await, Some(Event::Item(_))));
    drop(events);
    Ok(())
}
