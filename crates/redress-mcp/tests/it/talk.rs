//! A registry that asks, notes, shows and changes.

use std::sync::Arc;

use redress_core::{
    Builder, Field, Form, Level, Operation, Question, QuestionKind, Registry, Sample, consent_grant, consent_list,
    consent_revoke,
    contract::{
        self, Access, Block, Blocks, Effect, FailureDeclaration, Kind, PromptMessage, PromptMessages, Recovery,
        ResourceContents,
    },
    testing::Canary,
};
use redress_mcp::HttpOptions;
use serde_json::{Value, json};

use crate::service::Running;

fn open(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation.with_summary("One of those that talk.").with_access(Access::anyone())
}

fn text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name], "additionalProperties": false})
}

pub(crate) fn name_form() -> Question {
    Question::form("Who are you?", Form::new().field("name", Field::text()))
}

pub(crate) fn registry() -> Registry {
    build(|builder| builder)
}

/// The registry with something added.
pub(crate) fn build(fit: impl FnOnce(Builder) -> Builder) -> Registry {
    let greet = Operation::dynamic(open(contract::OperationDeclaration::query("talk.greet")).with_input(json!({
        "type": "object", "properties": {"word": {"type": "string"}}, "additionalProperties": false,
    })))
    .with_handler(|ctx, _| async move {
        let answer = ctx.ask("who", name_form()).await?;
        Ok(json!({"greeted": answer.accepted().map(|form| form["name"].clone())}))
    });
    let sample = Operation::dynamic(open(contract::OperationDeclaration::query("talk.sample"))).with_handler(
        |ctx, _| async move {
            ctx.ask("line", Sample::text("Say something.", 20)).await?;
            Ok(json!({"form": ctx.can_ask(QuestionKind::Form)}))
        },
    );
    let wipe = contract::OperationDeclaration::mutation("talk.wipe")
        .with_summary("Erase it.")
        .with_access(Access::caller().consent());
    let disk = json!({"type": "object", "properties": {"disk": {"type": "string"}}, "additionalProperties": false});
    let wipe = Operation::dynamic(wipe.with_input(disk)).with_handler(|_, _| async { Ok(json!({"wiped": true})) });
    let burn = contract::OperationDeclaration::mutation("talk.burn")
        .with_summary("Burn it.")
        .with_access(Access::caller().consent());
    let burn = Operation::dynamic(burn).with_handler(|ctx, _| async move {
        ctx.ask("who", name_form()).await?;
        Ok(json!({"burnt": true}))
    });
    let note = Operation::dynamic(open(contract::OperationDeclaration::query("talk.note"))).with_handler(
        |ctx, _| async move {
            ctx.note(Level::Debug, "fine");
            ctx.note(Level::Warning, json!({"left": 1}));
            Ok(json!({}))
        },
    );
    let show = open(contract::OperationDeclaration::query("talk.show")).with_blocks();
    let show = Operation::dynamic(show).with_handler(|_, _| async {
        Ok(serde_json::to_value(Blocks::from([Block::text("a dot"), Block::image(b"GIF", "image/gif")]))?)
    });
    let review =
        open(contract::OperationDeclaration::query("talk.review")).prompt().with_messages().with_input(text("path"));
    let review = Operation::dynamic(review.with_completion("path", "talk.paths")).with_handler(|_, input| async move {
        let said = format!("Review {}.", input["path"].as_str().unwrap_or_default());
        Ok(serde_json::to_value(PromptMessages::new([PromptMessage::user(Block::text(said))]))?)
    });
    let asks = open(contract::OperationDeclaration::query("talk.asks")).prompt().with_messages();
    let asks = Operation::dynamic(asks).with_handler(|ctx, _| async move {
        ctx.ask("who", name_form()).await?;
        Ok(serde_json::to_value(PromptMessages::new([PromptMessage::user(Block::text("asked"))]))?)
    });
    let paths = contract::OperationDeclaration::query("talk.paths").with_summary("What there is.").internal().with_input(json!({
        "type": "object", "properties": {"argument": {"type": "string"}, "value": {"type": "string"}, "given": {"type": "object"}},
    }));
    let paths = paths.with_access(Access::anyone()).with_output(json!({"type": "array", "items": {"type": "string"}}));
    let paths = Operation::dynamic(paths).with_handler(|_, input| async move {
        let typed = input["value"].as_str().unwrap_or_default().to_owned();
        Ok(["work.md", "world.md"].into_iter().filter(|path| path.starts_with(&typed)).collect())
    });
    let readme = open(contract::OperationDeclaration::query("talk.readme"))
        .resource("talk://readme")
        .with_mime_type("text/markdown");
    let readme = Operation::dynamic(readme.with_output(json!({"type": "string"})))
        .with_handler(|_, _| async { Ok(json!("# Hello")) });
    let missing = FailureDeclaration::new("PAGE_MISSING", Kind::NotFound)
        .with_when("There is no such page.")
        .with_message("there is no page {name}")
        .with_effect(Effect::None)
        .with_details(text("name"))
        .with_recovery(Recovery::call("talk.note", "Look at what pages there are first."));
    let page = open(contract::OperationDeclaration::query("talk.page"))
        .resource("talk://pages/{name}")
        .with_blocks()
        .fails(missing);
    let page = Operation::dynamic(page.with_input(text("name"))).with_handler(|_, input| async move {
        let name = input["name"].as_str().unwrap_or_default();
        if name == "none" {
            Err(redress_core::DynamicFailure::new("PAGE_MISSING", json!({"name": name})))?;
        }
        let part = ResourceContents::binary(format!("talk://pages/{name}"), "image/gif", b"GIF");
        Ok(serde_json::to_value(Blocks::from(Block::from(part)))?)
    });
    let secret =
        contract::OperationDeclaration::query("talk.secret").with_summary("For few.").resource("talk://secret");
    let secret = Operation::dynamic(secret.with_access(Access::caller().scope("talk:secret")))
        .with_handler(|_, _| async { Ok(json!("secret")) });
    let beta = Operation::dynamic(open(contract::OperationDeclaration::query("talk.beta")))
        .with_handler(|_, _| async { Ok(json!(1)) });
    let change = open(contract::OperationDeclaration::mutation("talk.change"));
    let change = Operation::dynamic(change).with_handler(|ctx, _| async move {
        ctx.changes().resource("talk://readme");
        ctx.changes().hide("talk.review");
        Ok(json!({"hidden": ctx.changes().hide("talk.beta")}))
    });
    let all = [greet, sample, wipe, burn, note, show, review, asks, paths, readme, page, secret, beta, change];
    let all = all.into_iter().chain([consent_grant(), consent_list(), consent_revoke()]);
    fit(all.fold(Registry::builder(), |builder, one| builder.add(one))).build().unwrap()
}

/// The registry behind a socket of this machine, where everybody may do everything.
pub(crate) async fn running(http: impl FnOnce(&mut HttpOptions)) -> Running {
    Running::of(registry(), Canary::new(), Arc::default(), |_| {}, http).await
}
