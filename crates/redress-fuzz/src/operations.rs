//! A registry with one of everything that outside bytes can reach.

use std::{collections::BTreeMap, future, time::Duration};

use futures_util::{StreamExt as _, stream};
use redress::{
    Access, Block, Blocks, Caller, Ctx, DynamicFailure, Effect, Events, Fail, Failure, IdentityError, IdentityProvider,
    Kind, Operation, Outcome, Progress, PromptMessage, PromptMessages, Recovery, Registry, Secret, contract, data,
    operation,
};
use serde_json::{Value, json};

/// The token that stands for a caller who may do everything here.
pub(crate) const TOKEN: &str = "a-token-that-is-good";

/// What an operation at fault holds, and no answer may.
pub(crate) const SECRET: &str = "cn7f3aq9x2wk81vzr4tb";

/// Something to search for.
#[data]
pub(crate) struct Wanted {
    /// A word.
    #[schemars(length(min = 1, max = 20))]
    text: String,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9))]
    max: Option<u8>,
    /// Whether case matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    /// How heavy it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    /// Words beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Which end comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
}

/// Which end comes first.
#[data]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The small one.
    Ascending,
    /// The large one.
    Descending,
}

/// Something to be made.
#[data]
pub(crate) struct Made {
    /// For whom.
    customer: Customer,
    /// What.
    #[schemars(length(min = 1, max = 5))]
    lines: Vec<Line>,
    /// How it comes.
    delivery: Delivery,
    /// More about it.
    #[serde(default)]
    notes: BTreeMap<String, i32>,
}

/// A customer.
#[data]
pub(crate) struct Customer {
    /// A name.
    #[schemars(regex(pattern = r"^[A-Z][a-z]+$"))]
    name: String,
    /// An address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(email)]
    email: Option<String>,
}

/// One line.
#[data]
pub(crate) struct Line {
    /// What.
    article: String,
    /// How many.
    #[schemars(range(min = 1))]
    count: u32,
    /// The price of one.
    #[serde(default)]
    price: Price,
}

/// A price.
#[data]
#[derive(Default)]
pub(crate) struct Price {
    /// In the smallest unit.
    minor: i64,
    /// Of which money.
    currency: Currency,
}

/// Which money.
#[data]
#[derive(Default)]
pub(crate) enum Currency {
    /// The euro.
    #[default]
    Eur,
    /// The dollar.
    Usd,
}

/// How it comes.
#[data]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum Delivery {
    /// Somebody fetches it.
    Pickup,
    /// It is sent.
    Post {
        /// Where to.
        street: String,
        /// Which house.
        house: u16,
    },
}

#[derive(Debug, Failure)]
pub(crate) enum SearchFailure {
    /// There is no such word.
    #[failure(kind = not_found, message = "no word {text}", effect = none,
              recover(fix_input = "/text", hint = "Give a word that somebody has written."))]
    WordMissing {
        /// The word.
        text: String,
    },
    /// The index is being built.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = none,
              recover(wait, hint = "Wait a moment, then search for it again."))]
    IndexBusy {
        /// For how long.
        wait_ms: u64,
    },
}

/// Search for a word.
#[operation(query, name = "demo.search", access(anyone))]
async fn search(_ctx: &Ctx, input: Wanted) -> Outcome<Wanted, SearchFailure> {
    match input.text.as_str() {
        "missing" => Err(SearchFailure::WordMissing { text: input.text }.into()),
        "busy" => Err(SearchFailure::IndexBusy { wait_ms: 250 }.into()),
        "broken" => Err(Fail::contain(format!("the index says {SECRET}"))),
        _ => Ok(input),
    }
}

/// Make something.
#[operation(mutation, name = "demo.make", access(anyone))]
async fn make(_ctx: &Ctx, input: Made) -> Outcome<Made, redress::NoFailure> {
    Ok(input)
}

fn open(operation: contract::OperationDeclaration) -> contract::OperationDeclaration {
    operation.with_summary("One of all.").with_access(Access::anyone())
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn missing() -> contract::FailureDeclaration {
    contract::FailureDeclaration::new("THING_MISSING", Kind::NotFound)
        .with_when("There is no such thing.")
        .with_message("no thing {id}")
        .with_effect(Effect::None)
        .with_details(json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}))
        .with_recovery(Recovery::call("demo.number", "Ask for the number of things first."))
}

/// Adds the operations whose inputs have types, and those that tell what is served.
pub(crate) fn typed(builder: redress::Builder) -> redress::Builder {
    let builder = builder.add_all(redress::serve::discovery());
    builder.add(search).add(make)
}

/// The registry: with `tokens`, those tell who calls.
pub(crate) fn registry(tokens: bool) -> Registry {
    let greet = open(contract::OperationDeclaration::query("demo.greet")).with_alias("demo.hail").with_input(object(
        json!({"name": {"type": "string", "minLength": 1, "maxLength": 40}, "times": {"type": "integer", "maximum": 9}}),
        json!(["name"]),
    ));
    let greet =
        Operation::dynamic(greet.with_output(object(json!({"message": {"type": "string"}}), json!(["message"]))))
            .with_handler(|_, input| async move {
                Ok(json!({"message": format!("hello \"{}\"", input["name"].as_str().unwrap_or_default())}))
            });
    let number = open(contract::OperationDeclaration::query("demo.number")).with_output(json!({"type": "integer"}));
    let number = Operation::dynamic(number).with_handler(|_, _| async { Ok(json!(7)) });
    let find = open(contract::OperationDeclaration::query("demo.find")).fails(missing());
    let find = Operation::dynamic(find)
        .with_handler(|_, _| async { Err(DynamicFailure::new("THING_MISSING", json!({"id": 7})))? });
    let fault = Operation::dynamic(open(contract::OperationDeclaration::query("demo.fault")))
        .with_handler(|_, _| async { Err(Fail::contain(format!("cannot open {SECRET}"))) });
    let undeclared = Operation::dynamic(open(contract::OperationDeclaration::query("demo.undeclared")))
        .with_handler(|_, _| async { Err(DynamicFailure::new("NOBODY_SAID_SO", json!({"secret": SECRET})))? });
    let slow = open(contract::OperationDeclaration::query("demo.slow")).with_deadline(Duration::from_millis(30));
    let slow = Operation::dynamic(slow).with_handler(|_, _| future::pending());
    let once = open(contract::OperationDeclaration::mutation("demo.once")).with_idempotency_key();
    let once = Operation::dynamic(once).with_handler(|_, input| async move { Ok(json!({"took": input})) });
    let closed = contract::OperationDeclaration::query("demo.closed").with_summary("Needs a scope.");
    let closed = closed.with_access(Access::caller().scope("demo:closed"));
    let closed =
        Operation::dynamic(closed).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    let hidden = contract::OperationDeclaration::query("demo.hidden").with_summary("Hidden.").internal();
    let hidden = Operation::dynamic(hidden).with_handler(|_, _| async { Ok(json!(SECRET)) });
    let count = open(contract::OperationDeclaration::subscription("demo.count")).fails(missing()).with_input(object(
        json!({"to": {"type": "integer", "maximum": 20}, "then": {"enum": ["end", "fail", "fault"]}}),
        json!([]),
    ));
    let count =
        Operation::dynamic(count.with_output(json!({"type": "integer"}))).with_stream_handler(|_, input| async move {
            let items = stream::iter((1..=input["to"].as_i64().unwrap_or(3)).map(|n| Ok(json!(n))));
            let end = match input["then"].as_str() {
                Some("fail") => Some(Err(Fail::from(DynamicFailure::new("THING_MISSING", json!({"id": 7}))))),
                Some("fault") => Some(Err(Fail::contain(SECRET))),
                _ => None,
            };
            Ok(Events::new(items.chain(stream::iter(end))))
        });
    let steps = Operation::dynamic(open(contract::OperationDeclaration::query("demo.steps"))).with_handler(
        |ctx, _| async move {
            ctx.progress(Progress::new(1.0).of(2.0).saying("counting"));
            Ok(json!({"done": true}))
        },
    );
    let review = open(contract::OperationDeclaration::query("demo.review")).prompt().with_messages();
    let review = Operation::dynamic(review.with_input(object(json!({"path": {"type": "string"}}), json!(["path"]))))
        .with_handler(|_, input| async move {
            let said = format!("Review {}.", input["path"].as_str().unwrap_or_default());
            Ok(serde_json::to_value(PromptMessages::new([PromptMessage::user(Block::text(said))]))?)
        });
    let page = open(contract::OperationDeclaration::query("demo.page")).resource("demo://pages/{name}").with_blocks();
    let page = Operation::dynamic(page.with_input(object(json!({"name": {"type": "string"}}), json!(["name"]))))
        .with_handler(|_, input| async move {
            let text = input["name"].as_str().unwrap_or_default().to_owned();
            Ok(serde_json::to_value(Blocks::from(Block::text(text)))?)
        });
    let all = [greet, number, find, fault, undeclared, slow, once, closed, hidden, count, steps, review, page];
    let builder = all.into_iter().fold(Registry::builder(), |builder, one| builder.add(one));
    let builder = typed(builder).max_input(64 * 1024);
    let builder = if tokens { builder.identity(Tokens) } else { builder };
    builder.build().expect("the declarations are sound")
}

/// One token is good.
struct Tokens;

impl IdentityProvider for Tokens {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        Box::pin(async move {
            match token.expose() {
                TOKEN => Ok(Caller::new("ada").scope("demo:closed")),
                _ => Err(IdentityError::Invalid),
            }
        })
    }
}
