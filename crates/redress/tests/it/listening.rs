//! Progress and notes: what a handler tells while it is at work.

use std::sync::Arc;

use redress::{
    Access, Blocks, Ctx, Level, Note, Notification, Operation, Outcome, Progress, ProgressListener, Registry, Request,
    ResourceContents, contract::Gives, operation, progress_channel,
};
use serde_json::json;

use crate::service::{ends, query, registry};

fn told(mut ear: redress::ProgressReceiver) -> Vec<Notification> {
    std::iter::from_fn(|| ear.try_next()).collect()
}

fn working() -> Operation {
    Operation::dynamic(query("work.do").with_call("work.part")).with_handler(|ctx, _| async move {
        ctx.progress(Progress::new(0.0).of(2.0).saying("starting"));
        ctx.note(Level::Info, "half way");
        ctx.note(Level::Debug, "not wanted");
        let part = ctx.call_dynamic("work.part", json!({})).await?;
        ctx.progress(Progress::new(2.0).of(2.0));
        Ok(part)
    })
}

fn part() -> Operation {
    Operation::dynamic(query("work.part")).with_handler(|ctx, _| async move {
        ctx.progress(Progress::new(99.0));
        ctx.note(Level::Error, json!({"part": 1}));
        Ok(json!("done"))
    })
}

#[tokio::test]
async fn a_listener_hears_progress_and_the_notes_that_it_wants_in_order() {
    let registry = registry(Registry::builder().add(working()).add(part()));
    let (listener, ear) = progress_channel(16, Level::Info);
    let envelope = registry.call("work.do", Request::default().with_listener(listener)).await;
    assert!(envelope.is_ok());
    let heard: Vec<String> = told(ear)
        .into_iter()
        .map(|heard| match heard {
            Notification::Progress(Progress { done, total, message, .. }) => format!("{done} of {total:?} {message:?}"),
            Notification::Note(Note { level, operation, data, .. }) => {
                format!("{level:?} {} {data}", operation.unwrap())
            }
        })
        .collect();
    // A composed call's progress is on another scale, and is not told; its notes are.
    assert_eq!(
        heard,
        [
            "0 of Some(2.0) Some(\"starting\")",
            "Info work.do \"half way\"",
            "Error work.part {\"part\":1}",
            "2 of Some(2.0) None"
        ]
    );
}

#[tokio::test]
async fn the_note_of_an_internal_operation_does_not_tell_its_name() {
    let hidden = Operation::dynamic(query("work.part").internal()).with_handler(|ctx, _| async move {
        ctx.note(Level::Error, "from below");
        Ok(json!("done"))
    });
    let registry = registry(Registry::builder().add(working()).add(hidden));
    let (listener, ear) = progress_channel(16, Level::Error);
    assert!(registry.call("work.do", Request::default().with_listener(listener)).await.is_ok());
    let notes = told(ear).into_iter().filter_map(|heard| match heard {
        Notification::Note(Note { operation, data, .. }) => Some((operation, data)),
        Notification::Progress(_) => None,
    });
    assert_eq!(notes.collect::<Vec<_>>(), [(None, json!("from below"))]);
}

#[tokio::test]
async fn with_nobody_listening_nothing_is_told_and_nothing_changes() {
    let registry = registry(Registry::builder().add(working()).add(part()));
    assert_eq!(registry.call("work.do", Request::default()).await.output(), Some(br#""done""#.as_slice()));
}

#[tokio::test]
async fn a_slow_reader_loses_what_is_between_and_holds_nobody_back() {
    let busy = Operation::dynamic(query("work.busy")).with_handler(|ctx, _| async move {
        (0..100).for_each(|done| ctx.progress(Progress::new(f64::from(done))));
        ctx.progress(Progress::new(5.0));
        ctx.progress(Progress::new(f64::NAN));
        Ok(json!(null))
    });
    let registry = registry(Registry::builder().add(busy));
    let (listener, ear) = progress_channel(3, Level::Debug);
    registry.call("work.busy", Request::default().with_listener(listener)).await;
    let done: Vec<f64> = told(ear)
        .into_iter()
        .map(|heard| match heard {
            Notification::Progress(progress) => progress.done,
            Notification::Note(note) => panic!("{note:?}"),
        })
        .collect();
    assert_eq!(done, [97.0, 98.0, 99.0]);
}

#[tokio::test]
async fn reading_waits_for_the_next_thing_and_ends_with_the_listener() {
    let (listener, mut ear) = progress_channel(1, Level::Debug);
    let reading = tokio::spawn(async move {
        let first = ear.next().await;
        (first, ear.next().await)
    });
    tokio::task::yield_now().await;
    listener.progress(Progress::new(1.0));
    tokio::task::yield_now().await;
    drop(listener);
    assert_eq!(reading.await.unwrap(), (Some(Notification::Progress(Progress::new(1.0))), None));
}

/// A listener that breaks.
struct Broken;

impl ProgressListener for Broken {
    fn progress(&self, _: Progress) {
        panic!("no ear");
    }

    fn note(&self, _: Note) {}
}

#[tokio::test]
async fn a_listener_that_panics_does_not_take_the_call_path_with_it() {
    let registry = registry(Registry::builder().add(working()).add(part()));
    let envelope = registry.call("work.do", Request::default().with_listener(Arc::new(Broken))).await;
    assert_eq!(envelope.code(), Some("INTERNAL"));
}

/// Show a picture.
#[operation(query, name = "show.picture", access(anyone))]
async fn picture(_ctx: &Ctx) -> Outcome<Blocks> {
    Ok(Blocks::from([
        redress::Block::text("a dot"),
        redress::Block::image([1, 2, 3], "image/png"),
        redress::Block::audio([4], "audio/wav"),
        ResourceContents::text("show://dot", "text/plain", "dot").into(),
    ]))
}

#[tokio::test]
async fn an_output_of_blocks_is_declared_as_such_and_is_json_like_any_other() {
    let registry = registry(Registry::builder().add(picture).add(ends(query("show.plain"), || Ok(json!([])))));
    assert_eq!(registry.operation("show.picture").unwrap().gives(), Gives::Blocks);
    // What looks like blocks is none unless it is declared.
    assert_eq!(registry.operation("show.plain").unwrap().gives(), Gives::Json);
    assert_eq!(*registry.operation("show.picture").unwrap().access(), Access::anyone());
    let envelope = registry.call("show.picture", Request::default()).await;
    let output: serde_json::Value = serde_json::from_slice(envelope.output().unwrap()).unwrap();
    let expected = json!([
        {"type": "text", "text": "a dot"},
        {"type": "image", "data": "AQID", "mimeType": "image/png"},
        {"type": "audio", "data": "BA==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "show://dot", "mimeType": "text/plain", "text": "dot"}},
    ]);
    assert_eq!(output, expected);
}

#[tokio::test]
async fn progress_and_notes_of_one_call_are_bounded_and_the_end_is_told() {
    const STEPS: u32 = 1_000_000;
    let busy = Operation::dynamic(query("work.do")).with_handler(|ctx, _| async move {
        for step in 1..=STEPS {
            ctx.progress(Progress::new(step.into()).of(STEPS.into()));
            ctx.note(Level::Info, step);
        }
        Ok(json!("done"))
    });
    let registry = registry(Registry::builder().add(busy));
    let (listener, ear) = progress_channel(usize::MAX, Level::Info);
    assert!(registry.call("work.do", Request::default().with_listener(listener)).await.is_ok());
    let (mut steps, mut notes) = (Vec::new(), 0);
    for heard in told(ear) {
        match heard {
            Notification::Progress(progress) => steps.push(progress.done),
            Notification::Note(_) => notes += 1,
        }
    }
    assert!(steps.len() > 1000 && steps.len() < 2000, "{} steps were told", steps.len());
    assert_eq!((steps[0], steps[99], steps.last()), (1.0, 100.0, Some(&STEPS.into())));
    assert_eq!(notes, 1000);
}

#[tokio::test]
async fn progress_below_nothing_is_not_told_and_no_total_is_less_than_what_is_done() {
    let odd = Operation::dynamic(query("work.do")).with_handler(|ctx, _| async move {
        ctx.progress(Progress::new(-1.0).of(2.0));
        ctx.progress(Progress::new(f64::NAN));
        ctx.progress(Progress::new(1.0).of(f64::INFINITY));
        ctx.progress(Progress::new(3.0).of(2.0));
        Ok(json!("done"))
    });
    let registry = registry(Registry::builder().add(odd));
    let (listener, ear) = progress_channel(16, Level::Info);
    assert!(registry.call("work.do", Request::default().with_listener(listener)).await.is_ok());
    let expected = [Notification::Progress(Progress::new(1.0)), Notification::Progress(Progress::new(3.0))];
    assert_eq!(told(ear), expected);
}
