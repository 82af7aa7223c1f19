//! What the protocol's own conformance suite asks of an MCP server, written as operations.
//!
//! ```console
//! $ scripts/mcp-conformance
//! $ cargo run --example conformance --features cli -- serve
//! ```
use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use redress::{
    Answer, Block, Blocks, Ctx, Failure, Field, Form, Level, Outcome, Progress, PromptMessage, PromptMessages,
    Question, QuestionKind, Registry, ResourceContents, Sample, contract, data, operation,
};
use serde_json::{Value, json};

/// A red dot.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8, 2,
    0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 12, b'I', b'D', b'A', b'T', 0x08, 0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3,
    1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
/// A moment of silence.
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0";

fn text(text: impl Into<String>) -> Blocks {
    Blocks::from(Block::text(text))
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

// Content.

/// Say something simple.
#[operation(query, name = "test.simple_text", access(anyone))]
async fn simple_text() -> Outcome<Blocks> {
    Ok(text("This is a simple text response for testing."))
}

/// Show a picture.
#[operation(query, name = "test.image_content", access(anyone))]
async fn image_content() -> Outcome<Blocks> {
    Ok(Block::image(PNG, "image/png").into())
}

/// Play a sound.
#[operation(query, name = "test.audio_content", access(anyone))]
async fn audio_content() -> Outcome<Blocks> {
    Ok(Block::audio(WAV, "audio/wav").into())
}

/// Hand over a document.
#[operation(query, name = "test.embedded_resource", access(anyone))]
async fn embedded_resource() -> Outcome<Blocks> {
    let document =
        ResourceContents::text("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    Ok(Block::from(document).into())
}

/// Show all sorts of things.
#[operation(query, name = "test.multiple_content_types", access(anyone))]
async fn multiple_content_types() -> Outcome<Blocks> {
    let document = json!({"test": "data", "value": 123}).to_string();
    Ok(Blocks::from([
        Block::text("Multiple content types test:"),
        Block::image(PNG, "image/png"),
        ResourceContents::text("test://mixed-content-resource", "application/json", document).into(),
    ]))
}

#[derive(Debug, Failure)]
enum Broken {
    /// It always breaks.
    #[failure(
        kind = internal,
        message = "This tool intentionally returns an error for testing",
        effect = none,
        recover(stop, hint = "Nothing helps: it breaks on purpose.")
    )]
    BrokenOnPurpose,
}

/// Break.
#[operation(query, name = "test.error_handling", access(anyone))]
async fn error_handling() -> Outcome<Blocks, Broken> {
    Err(Broken::BrokenOnPurpose.into())
}

// What is told on the way.

/// Tell how far it is.
#[operation(query, name = "test.tool_with_progress", access(anyone))]
async fn tool_with_progress(ctx: &Ctx) -> Outcome<Blocks> {
    for done in [0.0, 50.0, 100.0] {
        ctx.progress(Progress::new(done).of(100.0));
        pause().await;
    }
    Ok(text("done"))
}

/// Note what it does.
#[operation(query, name = "test.tool_with_logging", access(anyone))]
async fn tool_with_logging(ctx: &Ctx) -> Outcome<Blocks> {
    for note in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        ctx.note(Level::Info, note);
        pause().await;
    }
    Ok(text("done"))
}

/// Note something that nobody may have asked for.
#[operation(query, name = "test.logging_tool", access(anyone))]
async fn logging_tool(ctx: &Ctx) -> Outcome<Blocks> {
    ctx.note(Level::Info, "noted");
    Ok(text("done"))
}

// Questions, live or in rounds: the handler does not know which.

fn told(answer: &Answer) -> String {
    match answer {
        Answer::Accepted(content) => format!("action=accept, content={content}"),
        Answer::Declined => "action=decline".to_owned(),
        Answer::Cancelled => "action=cancel".to_owned(),
    }
}

fn said(answer: &Answer) -> String {
    match answer.sampled().map(|sampled| sampled.content) {
        Some(Block::Text { text }) => text,
        _ => String::new(),
    }
}

fn field(answer: &Answer, name: &str) -> String {
    answer.accepted().and_then(|form| form[name].as_str()).unwrap_or("nobody knows").to_owned()
}

fn asks_text(message: &str, name: &str) -> Question {
    Question::form(message, Form::new().field(name, Field::text()))
}

#[data]
struct Prompted {
    prompt: String,
}

/// Ask the caller's model.
#[operation(query, name = "test.sampling", access(anyone))]
async fn sampling(ctx: &Ctx, input: Prompted) -> Outcome<Blocks> {
    let answer = ctx.ask("sample", Sample::text(input.prompt, 100)).await?;
    Ok(text(format!("LLM response: {}", said(&answer))))
}

#[data]
struct Shown {
    message: String,
}

/// Ask the person.
#[operation(query, name = "test.elicitation", access(anyone))]
async fn elicitation(ctx: &Ctx, input: Shown) -> Outcome<Blocks> {
    let form = Form::new()
        .field("username", Field::text().described("User's response"))
        .field("email", Field::text().described("User's email address"));
    let answer = ctx.ask("user", Question::form(input.message, form)).await?;
    Ok(text(format!("User response: {}", told(&answer))))
}

/// Ask the person, with something in every field.
#[operation(query, name = "test.elicitation_sep1034_defaults", access(anyone))]
async fn elicitation_defaults(ctx: &Ctx) -> Outcome<Blocks> {
    let form = Form::new()
        .field("name", Field::text().with_default("John Doe").optional())
        .field("age", Field::integer().with_default(30).optional())
        .field("score", Field::number().with_default(95.5).optional())
        .field("status", Field::choice(["active", "inactive", "pending"]).with_default("active").optional())
        .field("verified", Field::boolean().with_default(true).optional());
    let answer = ctx.ask("defaults", Question::form("Please review", form)).await?;
    Ok(text(format!("Elicitation completed: {}", told(&answer))))
}

/// Ask the person to choose, in every way there is.
#[operation(query, name = "test.elicitation_sep1330_enums", access(anyone))]
async fn elicitation_enums(ctx: &Ctx) -> Outcome<Blocks> {
    let plain = ["option1", "option2", "option3"];
    let titled = |what: &str| {
        [("value1", "First"), ("value2", "Second"), ("value3", "Third")]
            .map(|(value, nth)| (value, format!("{nth} {what}")))
    };
    let named = json!(["Option One", "Option Two", "Option Three"]);
    let form = Form::new()
        .field("untitledSingle", Field::choice(plain).optional())
        .field("titledSingle", Field::titled_choice(titled("Option")).optional())
        .field("legacyEnum", Field::choice(["opt1", "opt2", "opt3"]).with("enumNames", named).optional())
        .field("untitledMulti", Field::choices(plain).optional())
        .field("titledMulti", Field::titled_choices(titled("Choice")).optional());
    let answer = ctx.ask("choices", Question::form("Please choose", form)).await?;
    Ok(text(format!("Elicitation completed: {}", told(&answer))))
}

/// Ask what the caller may not be able to answer.
#[operation(query, name = "test.missing_capability", access(anyone))]
async fn missing_capability(ctx: &Ctx) -> Outcome<Blocks> {
    let answer = ctx.ask("sample", Sample::text("Say hello.", 20)).await?;
    Ok(text(said(&answer)))
}

/// Tell something, and ask then.
#[operation(query, name = "test.streaming_elicitation", access(anyone))]
async fn streaming_elicitation(ctx: &Ctx) -> Outcome<Blocks> {
    ctx.progress(Progress::new(1.0));
    let answer = ctx.ask("user_name", asks_text("What is your name?", "name")).await?;
    Ok(text(told(&answer)))
}

/// Ask for a name.
#[operation(query, name = "test.input_required_result_elicitation", access(anyone))]
async fn rounds_elicitation(ctx: &Ctx) -> Outcome<Blocks> {
    let answer = ctx.ask("user_name", asks_text("What is your name?", "name")).await?;
    Ok(text(format!("Hello, {}!", field(&answer, "name"))))
}

/// Ask the caller's model for a capital.
#[operation(query, name = "test.input_required_result_sampling", access(anyone))]
async fn rounds_sampling(ctx: &Ctx) -> Outcome<Blocks> {
    let answer = ctx.ask("capital_question", Sample::text("What is the capital of France?", 100)).await?;
    Ok(text(said(&answer)))
}

/// Ask where the caller works.
#[operation(query, name = "test.input_required_result_list_roots", access(anyone))]
async fn rounds_roots(ctx: &Ctx) -> Outcome<Blocks> {
    let answer = ctx.ask("client_roots", Question::roots()).await?;
    let roots: Vec<String> = answer.roots().unwrap_or_default().into_iter().map(|root| root.uri).collect();
    Ok(text(format!("roots: {}", roots.join(", "))))
}

fn asks_ok() -> Question {
    Question::form("Please confirm", Form::new().field("ok", Field::boolean()))
}

/// Ask, and remember something until the answer comes.
#[operation(query, name = "test.input_required_result_request_state", access(anyone))]
async fn rounds_state(ctx: &Ctx) -> Outcome<Blocks> {
    let known: Option<bool> = ctx.recall("asked");
    ctx.remember("asked", true);
    ctx.ask("confirm", asks_ok()).await?;
    Ok(text(if known == Some(true) { "state-ok" } else { "no state" }))
}

/// Ask, with a state that must come back as it was.
#[operation(query, name = "test.input_required_result_tampered_state", access(anyone))]
async fn rounds_tampered(ctx: &Ctx) -> Outcome<Blocks> {
    ctx.ask("confirm", asks_ok()).await?;
    Ok(text("confirmed"))
}

/// Ask three things at once.
#[operation(query, name = "test.input_required_result_multiple_inputs", access(anyone))]
async fn rounds_several(ctx: &Ctx) -> Outcome<Blocks> {
    let questions = [
        ("user_name", asks_text("What is your name?", "name")),
        ("greeting", Sample::text("Generate a greeting", 50).into()),
        ("client_roots", Question::roots()),
    ];
    let answers = ctx.ask_all(questions).await?;
    Ok(text(format!("{} answers", answers.len())))
}

/// Ask one thing after another.
#[operation(query, name = "test.input_required_result_multi_round", access(anyone))]
async fn rounds_twice(ctx: &Ctx) -> Outcome<Blocks> {
    let name = ctx.ask("step1", asks_text("Step 1: What is your name?", "name")).await?;
    let color = ctx.ask("step2", asks_text("Step 2: What is your favorite color?", "color")).await?;
    Ok(text(format!("{} likes {}", field(&name, "name"), field(&color, "color"))))
}

/// Ask only what the caller can be asked.
#[operation(query, name = "test.input_required_result_capabilities", access(anyone))]
async fn rounds_able(ctx: &Ctx) -> Outcome<Blocks> {
    let mut questions = Vec::new();
    if ctx.can_ask(QuestionKind::Form) {
        questions.push(("user_name", asks_text("What is your name?", "name")));
    }
    if ctx.can_ask(QuestionKind::Sample) {
        questions.push(("greeting", Sample::text("Generate a greeting", 50).into()));
    }
    let answers = ctx.ask_all(questions).await?;
    Ok(text(format!("{} answers", answers.len())))
}

// What changes while the server runs.

/// There now and then.
#[operation(query, name = "test.now_and_then", access(anyone))]
async fn now_and_then() -> Outcome<Blocks> {
    Ok(text("here"))
}

/// There now and then.
#[operation(query, name = "test.prompt_now_and_then", access(anyone), prompt)]
async fn prompt_now_and_then() -> Outcome<PromptMessages> {
    Ok(PromptMessages::new([PromptMessage::user(Block::text("here"))]))
}

fn turn(ctx: &Ctx, name: &str) -> Blocks {
    let hidden = ctx.changes().hide(name);
    text(if hidden || !ctx.changes().show(name) { "hidden" } else { "shown" })
}

/// Show or hide a tool.
#[operation(mutation, name = "test.trigger_tool_change", access(anyone))]
async fn trigger_tool_change(ctx: &Ctx) -> Outcome<Blocks> {
    Ok(turn(ctx, "test.now_and_then"))
}

/// Show or hide a prompt.
#[operation(mutation, name = "test.trigger_prompt_change", access(anyone))]
async fn trigger_prompt_change(ctx: &Ctx) -> Outcome<Blocks> {
    Ok(turn(ctx, "test.prompt_now_and_then"))
}

/// Change the document that is watched.
#[operation(mutation, name = "test.trigger_resource_change", access(anyone))]
async fn trigger_resource_change(ctx: &Ctx) -> Outcome<Blocks> {
    ctx.changes().resource("test://watched-resource");
    Ok(text("changed"))
}

// Prompts.

/// Ask something simple.
#[operation(query, name = "test.simple_prompt", access(anyone), prompt)]
async fn simple_prompt() -> Outcome<PromptMessages> {
    Ok(PromptMessages::new([PromptMessage::user(Block::text("This is a simple prompt for testing."))]))
}

#[data]
struct Two {
    /// First test argument.
    arg1: String,
    /// Second test argument.
    arg2: String,
}

/// Ask with two arguments.
#[operation(query, name = "test.prompt_with_arguments", access(anyone), prompt, complete(arg1 = "test.places"))]
async fn prompt_with_arguments(input: Two) -> Outcome<PromptMessages> {
    let asked = format!("Prompt with arguments: arg1='{}', arg2='{}'", input.arg1, input.arg2);
    Ok(PromptMessages::new([PromptMessage::user(Block::text(asked))]))
}

#[data]
struct Typed {
    #[serde(rename = "argument")]
    _argument: String,
    value: String,
    #[serde(rename = "given")]
    _given: BTreeMap<String, String>,
}

/// Say what may be typed.
#[operation(query, name = "test.places", access(anyone), internal)]
async fn places(input: Typed) -> Outcome<Vec<String>> {
    let known = ["paris", "park", "party", "london"];
    Ok(known.into_iter().filter(|place| place.starts_with(&input.value)).map(str::to_owned).collect())
}

#[data]
struct Embedded {
    /// The document to embed.
    #[serde(rename = "resourceUri")]
    resource_uri: String,
}

/// Ask about a document.
#[operation(query, name = "test.prompt_with_embedded_resource", access(anyone), prompt)]
async fn prompt_with_embedded_resource(input: Embedded) -> Outcome<PromptMessages> {
    let document = ResourceContents::text(input.resource_uri, "text/plain", "Embedded resource content for testing.");
    Ok(PromptMessages::new([
        PromptMessage::user(document),
        PromptMessage::user(Block::text("Please process the embedded resource above.")),
    ]))
}

/// Ask about a picture.
#[operation(query, name = "test.prompt_with_image", access(anyone), prompt)]
async fn prompt_with_image() -> Outcome<PromptMessages> {
    Ok(PromptMessages::new([
        PromptMessage::user(Block::image(PNG, "image/png")),
        PromptMessage::user(Block::text("Please analyze the image above.")),
    ]))
}

/// Ask, after asking.
#[operation(query, name = "test.input_required_result_prompt", access(anyone), prompt)]
async fn prompt_that_asks(ctx: &Ctx) -> Outcome<PromptMessages> {
    let answer = ctx.ask("user_context", asks_text("What context should the prompt use?", "context")).await?;
    Ok(PromptMessages::new([PromptMessage::user(Block::text(format!("Use {}.", field(&answer, "context"))))]))
}

// Documents.

/// A text.
#[operation(
    query,
    name = "test.static_text",
    access(anyone),
    resource = "test://static-text",
    mime_type = "text/plain"
)]
async fn static_text() -> Outcome<String> {
    Ok("This is the content of the static text resource.".to_owned())
}

/// A picture.
#[operation(
    query,
    name = "test.static_binary",
    access(anyone),
    resource = "test://static-binary",
    mime_type = "image/png"
)]
async fn static_binary() -> Outcome<Blocks> {
    Ok(Block::image(PNG, "image/png").into())
}

/// A document that changes.
#[operation(
    query,
    name = "test.watched",
    access(anyone),
    resource = "test://watched-resource",
    mime_type = "text/plain"
)]
async fn watched() -> Outcome<String> {
    Ok("This is watched.".to_owned())
}

#[data]
struct Numbered {
    id: String,
}

/// One of many documents.
#[operation(
    query,
    name = "test.template",
    access(anyone),
    resource = "test://template/{id}/data",
    mime_type = "application/json"
)]
async fn template(input: Numbered) -> Outcome<Value> {
    Ok(json!({"id": input.id, "templateTest": true, "data": format!("Data for ID: {}", input.id)}))
}

/// An operation whose input says all that a schema can.
fn schema_tool() -> redress::Operation {
    let declaration = contract::OperationDeclaration::query("json.schema_2020_12_tool")
        .with_summary("Tool with JSON Schema 2020-12 features.")
        .with_access(contract::Access::anyone())
        .with_input(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        }));
    redress::Operation::dynamic(declaration).with_handler(|_, input| async move { Ok(input) })
}

fn main() -> ExitCode {
    let registry = Registry::builder()
        .add(simple_text)
        .add(image_content)
        .add(audio_content)
        .add(embedded_resource)
        .add(multiple_content_types)
        .add(error_handling)
        .add(tool_with_progress)
        .add(tool_with_logging)
        .add(logging_tool)
        .add(sampling)
        .add(elicitation)
        .add(elicitation_defaults)
        .add(elicitation_enums)
        .add(missing_capability)
        .add(streaming_elicitation)
        .add(rounds_elicitation)
        .add(rounds_sampling)
        .add(rounds_roots)
        .add(rounds_state)
        .add(rounds_tampered)
        .add(rounds_several)
        .add(rounds_twice)
        .add(rounds_able)
        .add(now_and_then)
        .add(prompt_now_and_then)
        .add(trigger_tool_change)
        .add(trigger_prompt_change)
        .add(trigger_resource_change)
        .add(simple_prompt)
        .add(prompt_with_arguments)
        .add(places)
        .add(prompt_with_embedded_resource)
        .add(prompt_with_image)
        .add(prompt_that_asks)
        .add(static_text)
        .add(static_binary)
        .add(watched)
        .add(template)
        .add(schema_tool());
    let registry = registry.build().expect("the declarations are sound");
    redress::main!(registry)
}
