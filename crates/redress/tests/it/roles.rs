//! Prompts, documents, completions, and what changes while a service runs.

use std::collections::BTreeMap;

use redress::{
    Block, Blocks, Caller, Change, Completion, Conversation, Ctx, Field, Form, Kind, Operation, Outcome, PromptMessage,
    PromptMessages, Question, QuestionKind, Recovery, Registry, Request, ResourceContents, Turn,
    contract::{Gives, Role},
    data, operation,
};
use serde_json::{Value, json};

use crate::service::{ends, fails, failure, query, registry};

#[data]
struct Topic {
    /// What to write about.
    topic: String,
    tone: Option<Tone>,
}

#[data]
enum Tone {
    Plain,
    Solemn,
}

/// Write an essay.
#[operation(query, name = "write.essay", access(anyone), prompt, complete(topic = "write.topics"))]
async fn essay(ctx: &Ctx, input: Topic) -> Outcome<PromptMessages> {
    let text = format!("Write about {}.", input.topic);
    if input.topic == "me" {
        ctx.ask("name", Question::form("Who are you?", Form::new().field("name", Field::text()))).await?;
    }
    Ok(PromptMessages::new([
        PromptMessage::user(Block::text(text)),
        PromptMessage::assistant(ResourceContents::text("notes://style", "text/plain", "Short sentences.")),
    ]))
}

#[data]
struct Typed {
    argument: String,
    value: String,
    given: BTreeMap<String, String>,
}

/// Say what can be written about.
#[operation(query, name = "write.topics", access(anyone), internal)]
async fn topics(ctx: &Ctx, input: Typed) -> Outcome<Vec<String>> {
    assert_eq!((input.argument.as_str(), ctx.caller().map(Caller::id)), ("topic", Some("ada")));
    let all = (0..150).map(|number| format!("{}{number} {}", input.value, input.given["tone"]));
    Ok(all.collect())
}

#[data]
struct At {
    folder: String,
    path: String,
}

/// Read a note.
#[operation(
    query,
    name = "notes.read",
    access(scopes = "notes"),
    resource = "notes://{folder}/{+path}",
    mime_type = "text/markdown"
)]
async fn read(input: At) -> Outcome<String> {
    Ok(format!("# {} in {}", input.path, input.folder))
}

/// Show the logo.
#[operation(query, name = "notes.logo", access(anyone), resource = "notes://logo/png")]
async fn logo(_ctx: &Ctx) -> Outcome<Blocks> {
    Ok(Block::image([1, 2], "image/png").into())
}

fn service() -> Registry {
    registry(
        Registry::builder().add(essay).add(topics).add(read).add(logo).add(ends(query("notes.plain"), || Ok(json!(1)))),
    )
}

fn ada() -> Request<'static> {
    Request::default().with_caller(Caller::new("ada").scope("notes"))
}

#[tokio::test]
async fn a_prompt_is_an_operation_that_gives_messages() {
    let registry = service();
    let prompts: Vec<_> = registry.prompts(None).collect();
    assert_eq!(prompts.len(), 1);
    assert_eq!((prompts[0].role(), prompts[0].gives()), (&Role::Prompt, Gives::Messages));
    assert_eq!(prompts[0].input().property("topic").unwrap()["description"], "What to write about.");
    let envelope = registry.call("write.essay", Request::new(br#"{"topic":"rain"}"#.as_slice())).await;
    let output: Value = serde_json::from_slice(envelope.output().unwrap()).unwrap();
    let expected = json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": "Write about rain."}},
        {"role": "assistant", "content": {"type": "resource", "resource": {
            "uri": "notes://style", "mimeType": "text/plain", "text": "Short sentences.",
        }}},
    ]});
    assert_eq!(output, expected);
    let request = Request::new(br#"{"topic":"me"}"#.as_slice());
    let turn = registry.converse("write.essay", request, Conversation::new([QuestionKind::Form])).await;
    assert!(matches!(turn, Turn::Asks(_)), "a prompt may ask as any operation");
}

#[tokio::test]
async fn a_document_is_found_by_its_uri_and_read_by_a_call() {
    let registry = service();
    let (operation, input) = registry.resource("notes://garden/a%20b/c.md").unwrap();
    assert_eq!(*operation.name(), "notes.read");
    assert_eq!(
        registry.call(operation.name().as_str(), Request::new(input.clone())).await.code(),
        Some("AUTH_REQUIRED")
    );
    let request = Request::new(input).with_caller(Caller::new("ada").scope("notes"));
    let envelope = registry.call(operation.name().as_str(), request).await;
    let parts = operation.parts("notes://garden/a%20b/c.md", envelope.output().unwrap());
    assert_eq!(parts, [ResourceContents::text("notes://garden/a%20b/c.md", "text/markdown", "# a b/c.md in garden")]);
    // A document of its own comes before the template that would take it too.
    let (logo, input) = registry.resource("notes://logo/png").unwrap();
    let envelope = registry.call(logo.name().as_str(), Request::new(input)).await;
    let parts = logo.parts("notes://logo/png", envelope.output().unwrap());
    assert_eq!(parts, [ResourceContents::binary("notes://logo/png", "image/png", [1, 2])]);
    assert!(registry.resource("notes://nowhere").is_none() && registry.resource("").is_none());
}

#[test]
fn a_caller_sees_only_the_documents_that_it_may_read() {
    let registry = service();
    let seen =
        |caller: Option<&Caller>| registry.resources(caller).map(|one| one.uri().unwrap().as_str()).collect::<Vec<_>>();
    assert_eq!(seen(None), ["notes://logo/png"]);
    assert_eq!(seen(Some(&Caller::new("ada").scope("notes"))), ["notes://{folder}/{+path}", "notes://logo/png"]);
}

#[tokio::test]
async fn a_completion_comes_from_the_operation_that_was_named_or_from_the_schema() {
    let registry = service();
    let given = BTreeMap::from([("tone".to_owned(), "plain".to_owned())]);
    let Completion { values, left_out, .. } =
        registry.complete("write.essay", "topic", "ra", &given, ada()).await.unwrap();
    assert_eq!((values[0].as_str(), values.len(), left_out), ("ra0 plain", 100, 50));
    assert_eq!(registry.complete("write.essay", "nothing", "", &given, ada()).await.unwrap(), Completion::default());
    let listed = query("write.letter")
        .with_input(json!({"type": "object", "properties": {"tone": {"enum": ["Plain", "plump", "solemn"]}}}));
    let registry = crate::service::registry(Registry::builder().add(ends(listed, || Ok(json!(1)))));
    let completion = registry.complete("write.letter", "tone", "pl", &given, ada()).await.unwrap();
    assert_eq!(completion.values, ["Plain", "plump"]);
}

#[tokio::test]
async fn a_completion_is_refused_to_those_who_may_not_call() {
    let registry = service();
    let complete =
        |name: &'static str| async { registry.complete(name, "a", "", &BTreeMap::new(), Request::default()).await };
    assert_eq!(complete("notes.read").await.unwrap_err().code(), Some("AUTH_REQUIRED"));
    assert_eq!(complete("notes.none").await.unwrap_err().code(), Some("NOT_FOUND"));
    assert_eq!(complete("write.topics").await.unwrap_err().code(), Some("NOT_FOUND"));
}

#[tokio::test]
async fn an_argument_that_cannot_be_completed_tells_nothing_of_what_completes_it() {
    let closed = failure("SHELF_CLOSED", Kind::Conflict).with_message("the shelf is closed");
    let busy = failure("SHELF_BUSY", Kind::Unavailable);
    let members = json!({"argument": {}, "value": {}, "given": {}});
    let offer = |code: &'static str| {
        let offer = query("shelf.offer").internal().with_input(json!({"type": "object", "properties": members}));
        let offer = offer.with_output(json!({"type": "array"})).fails(closed.clone()).fails(busy.clone());
        let write = query("write.note").with_completion("title", "shelf.offer");
        let write = write.with_input(json!({"type": "object", "properties": {"title": {"type": "string"}}}));
        registry(Registry::builder().add(fails(offer, code, json!({}))).add(ends(write, || Ok(json!(1)))))
    };
    for (code, told) in [("SHELF_CLOSED", "INTERNAL"), ("SHELF_BUSY", "UPSTREAM_UNREACHABLE")] {
        let registry = offer(code);
        let ended = registry.complete("write.note", "title", "", &BTreeMap::new(), ada()).await.unwrap_err();
        assert_eq!(ended.code(), Some(told));
        let text = String::from_utf8(ended.into_bytes()).unwrap().to_lowercase();
        assert!(!text.contains("shelf"), "{text}");
    }
}

#[tokio::test]
async fn a_hidden_operation_is_gone_for_everybody_until_it_is_shown() {
    let registry = service();
    let mut reader = registry.changes().subscribe();
    assert!(registry.changes().hide("notes.logo") && !registry.changes().hide("notes.logo"));
    assert!(registry.changes().hide("write.essay") && registry.changes().hide("notes/plain"));
    assert!(!registry.changes().hide("notes.none"));
    assert_eq!(reader.next().await, Some(Change::Resources));
    assert_eq!(reader.next().await, Some(Change::Prompts));
    assert_eq!(reader.next().await, Some(Change::Operations));
    assert_eq!(registry.call("notes.plain", Request::default()).await.code(), Some("NOT_FOUND"));
    assert_eq!(
        (registry.prompts(None).count(), registry.resources(None).count(), registry.open_to(None).count()),
        (0, 0, 0)
    );
    assert!(registry.operation("notes.plain").is_none());
    // The template takes what the hidden document no longer does.
    assert_eq!(*registry.resource("notes://logo/png").unwrap().0.name(), "notes.read");
    assert!(registry.changes().show("notes.plain") && registry.operation("notes.plain").is_some());
    assert!(registry.call("notes.plain", Request::default()).await.is_ok());
    assert_eq!(registry.changes().version(), 4);
}

#[tokio::test]
async fn no_failure_points_to_an_operation_that_is_hidden() {
    let list = ends(query("notes.list"), || Ok(json!([])));
    let missing = failure("NOTE_MISSING", Kind::NotFound)
        .with_recovery(Recovery::call("notes.list", "List the notes and pick one."));
    let read = fails(query("notes.find").fails(missing), "NOTE_MISSING", json!({}));
    let registry = registry(Registry::builder().add(list).add(read));
    let helped = async |name: &str| {
        let envelope = registry.call(name, ada()).await;
        let next = &envelope.problem().unwrap().next_actions;
        next.iter().map(|action| action.operation.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(helped("notes.find").await, ["notes.list"]);
    assert!(registry.changes().hide("notes.list"));
    assert!(helped("notes.find").await.is_empty());
    let told = String::from_utf8(registry.call("notes.find", ada()).await.into_bytes()).unwrap();
    assert!(told.contains(r#""recovery":{"verb":"ask_user"}"#) && !told.contains("notes.list"), "{told}");
    let declared = registry.disclosed_operation("notes.find", None).unwrap();
    let recovery = declared.failure("NOTE_MISSING").and_then(|failure| failure.recovery()).cloned();
    assert_eq!(recovery, Some(Recovery::ask_user("List the notes and pick one.")));
}

#[tokio::test]
async fn a_handler_announces_changes_and_a_slow_reader_is_told_that_it_missed_some() {
    let touch = Operation::dynamic(query("notes.touch")).with_handler(|ctx, _| async move {
        ctx.changes().resource("notes://logo/png");
        ctx.changes().announce(Change::Prompts);
        Ok(json!(ctx.open().count()))
    });
    let registry = registry(Registry::builder().add(touch));
    let mut reader = registry.changes().subscribe();
    let envelope = registry.call("notes.touch", Request::default()).await;
    assert_eq!(envelope.output(), Some(b"1".as_slice()));
    assert_eq!(reader.next().await, Some(Change::Resource("notes://logo/png".into())));
    assert_eq!(reader.next().await, Some(Change::Prompts));
    assert_eq!(registry.changes().version(), 1, "a document that changes does not change the lists");
    (0..100).for_each(|_| registry.changes().announce(Change::Operations));
    assert_eq!(reader.next().await, Some(Change::Missed));
    assert_eq!(reader.next().await, Some(Change::Operations));
    drop(registry);
    while let Some(change) = reader.next().await {
        assert_eq!(change, Change::Operations);
    }
}
