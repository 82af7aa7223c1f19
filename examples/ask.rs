//! An operation that asks before it acts, called live, in rounds, and where nobody can be asked.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use std::{future::Future, pin::Pin, sync::Arc};

use redress::{
    Answer, AskError, Asker, Conversation, Ctx, Field, Form, Level, Notification, Outcome, Progress, Question,
    QuestionKind, Registry, Request, Turn, operation, progress_channel,
};
use serde_json::json;

/// Book a table.
#[operation(mutation, name = "table.book", access(anyone), deadline = "5m")]
async fn book(ctx: &Ctx) -> Outcome<String> {
    ctx.progress(Progress::new(1.0).of(2.0).saying("looking for a table"));
    let form = Form::new()
        .field("guests", Field::integer().with("minimum", 1).with("maximum", 8))
        .field("room", Field::titled_choice([("in", "Inside"), ("out", "On the terrace")]).with_default("in"));
    let answer = ctx.ask("party", Question::form("How many are you?", form)).await?;
    ctx.progress(Progress::new(2.0).of(2.0));
    Ok(match answer {
        Answer::Accepted(party) => format!("a table for {}, {}", party["guests"], party["room"]),
        Answer::Declined | Answer::Cancelled => "no table".to_owned(),
    })
}

/// A caller who is there while the call runs.
struct Person;

impl Asker for Person {
    fn can(&self, kind: QuestionKind) -> bool {
        kind == QuestionKind::Form
    }

    fn ask<'a>(
        &'a self,
        _: &'a str,
        _: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, AskError>> + Send + 'a>> {
        Box::pin(async { Ok(Answer::Accepted(json!({"guests": 2, "room": "out"}))) })
    }
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(book).build()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = registry()?;

    let (listener, mut ear) = progress_channel(16, Level::Info);
    let live = Request::default().with_asker(Arc::new(Person)).with_listener(listener);
    println!("live: {}", String::from_utf8_lossy(&registry.call("table.book", live).await.into_bytes()));
    while let Some(Notification::Progress(progress)) = ear.try_next() {
        println!("heard: {} of {:?}", progress.done, progress.total);
    }

    let first = Conversation::new([QuestionKind::Form]);
    if let Turn::Asks(asks) = registry.converse("table.book", Request::default(), first).await {
        println!("asks: {:?}", asks.questions.iter().map(|(key, _)| key).collect::<Vec<_>>());
        let second = Conversation::resumed([QuestionKind::Form], &asks.state)?.answer("party", Answer::Declined);
        if let Turn::Ended(envelope) = registry.converse("table.book", Request::default(), second).await {
            println!("in rounds: {}", String::from_utf8_lossy(&envelope.into_bytes()));
        }
    }

    let nobody = registry.call("table.book", Request::default()).await;
    println!("with nobody to ask: {}", String::from_utf8_lossy(&nobody.into_bytes()));
    Ok(())
}
