//! The operations that the soak calls: one for each way in which a call can begin, last and end.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use redress::{
    BuildError, Ctx, Events, Failure, Operation, Outcome, Registry, State, consent_grant, contract, data, operation,
};
use serde_json::json;
use tokio::time::sleep;

use crate::{
    hostile::union_schema,
    watchdog::{Watchdog, stalls},
};

/// Where the effects of `soak.add` are written, one line each.
///
/// A line goes out with one `write(2)` to a file opened to be appended to. So it is there whole or not at all, it
/// outlives the process that wrote it, and effects can be counted whatever became of that process.
pub(crate) struct Effects(File);

impl Effects {
    pub(crate) fn open(path: &Path) -> io::Result<Effects> {
        Ok(Effects(OpenOptions::new().create(true).append(true).open(path)?))
    }

    fn append(&self, entry: &str) -> io::Result<()> {
        (&self.0).write_all(format!("{entry}\n").as_bytes())
    }
}

/// Every operation, with effects that go to `effects`.
pub(crate) fn registry(effects: Effects) -> Result<Registry, BuildError> {
    let builder = Registry::builder().state(Arc::new(effects)).deadline(Duration::from_secs(20));
    let builder = builder.state(Arc::new(Watchdog::default())).add(stalls).add(take).add(keep).add(union());
    let builder =
        builder.add(read).add(counted).add(large).add(wait).add(add).add(refuse).add(fault).add(follow).add(agreed);
    builder.add(consent_grant()).build()
}

#[data]
struct Number {
    n: u64,
}

#[data]
struct Square {
    n: u64,
    square: u64,
}

/// Square a number.
#[operation(query, name = "soak.read", access(scopes = "soak"))]
async fn read(input: Number) -> Outcome<Square> {
    Ok(Square { n: input.n, square: input.n.wrapping_mul(input.n) })
}

/// Square a number for who has some of its quota left.
#[operation(query, name = "soak.counted", access(scopes = "soak"))]
async fn counted(input: Number) -> Outcome<Square> {
    Ok(Square { n: input.n, square: input.n.wrapping_mul(input.n) })
}

#[data]
struct Size {
    #[schemars(range(max = 4_194_304))]
    bytes: usize,
}

/// A text of so many bytes, made off the workers as files are read: an operation's own work is its author's to place.
async fn text(bytes: usize) -> String {
    tokio::task::spawn_blocking(move || "x".repeat(bytes)).await.unwrap_or_default()
}

#[data]
struct Text {
    text: String,
}

/// Give a text of a wanted size.
#[operation(query, name = "soak.large", access(scopes = "soak"))]
async fn large(ctx: &Ctx, input: Size) -> Outcome<Text> {
    // The text, and the answer that is made of it.
    ctx.reserve(input.bytes * 2).await;
    Ok(Text { text: text(input.bytes).await })
}

/// Take a list and a text, and count them.
#[operation(query, name = "soak.take", access(scopes = "soak"), max_input = "1mb")]
async fn take(input: Taken) -> Outcome<Counted> {
    Ok(Counted { items: input.list.len(), bytes: input.text.len() })
}

#[data]
struct Taken {
    text: String,
    list: Vec<u64>,
}

#[data]
struct Counted {
    items: usize,
    bytes: usize,
}

/// Give a text of a wanted size, under a key.
#[operation(mutation, name = "soak.keep", access(scopes = "soak"), idempotency_key)]
async fn keep(input: Size) -> Outcome<Text> {
    Ok(Text { text: text(input.bytes).await })
}

/// An operation whose input is explained with the most work that a schema can ask for.
fn union() -> Operation {
    let declaration = contract::OperationDeclaration::query("soak.union")
        .with_summary("Take one of many.")
        .with_access(contract::Access::caller().scope("soak"))
        .with_max_input(1024 * 1024)
        .with_input(union_schema())
        .with_output(json!({"type": "boolean"}));
    Operation::dynamic(declaration).with_handler(|_, _| async { Ok(json!(true)) })
}

#[data]
struct Pause {
    #[schemars(range(max = 60_000))]
    ms: u64,
}

/// Wait for a while.
#[operation(query, name = "soak.wait", access(scopes = "soak"))]
async fn wait(input: Pause) -> Outcome<Pause> {
    sleep(Duration::from_millis(input.ms)).await;
    Ok(input)
}

#[data]
struct Add {
    entry: String,
    /// How long to wait before the effect.
    #[schemars(range(max = 10_000))]
    before_ms: u64,
    /// How long to wait between the effect and the answer.
    #[schemars(range(max = 10_000))]
    after_ms: u64,
    /// Whether to refuse in the place of the effect.
    refuse: bool,
}

#[data]
struct Added {
    entry: String,
    /// Differs between two runs of the handler, so that a repeated answer can be told from a repeated run.
    run: String,
}

#[derive(Debug, Failure)]
enum AddFailure {
    /// The entry is one that is never added.
    #[failure(kind = validation, message = "`{entry}` is not added", effect = none,
              recover(fix_input = "/entry", hint = "Give an entry that can be added."))]
    EntryRefused { entry: String },
}

/// Add one entry to the file of effects.
#[operation(mutation, name = "soak.add", access(scopes = "soak"), idempotency_key)]
async fn add(ctx: &Ctx, effects: State<Arc<Effects>>, input: Add) -> Outcome<Added, AddFailure> {
    sleep(Duration::from_millis(input.before_ms)).await;
    if input.refuse {
        return Err(AddFailure::EntryRefused { entry: input.entry }.into());
    }
    effects.append(&input.entry)?;
    sleep(Duration::from_millis(input.after_ms)).await;
    Ok(Added { entry: input.entry, run: ctx.request_id().to_string() })
}

#[derive(Debug, Failure)]
enum RefuseFailure {
    /// There is nothing under this number.
    #[failure(kind = not_found, message = "there is nothing under {n}", effect = none,
              recover(fix_input = "/n", hint = "Give a number that something is under."))]
    NothingThere { n: u64 },
}

/// Fail as declared.
#[operation(query, name = "soak.refuse", access(scopes = "soak"))]
async fn refuse(input: Number) -> Outcome<Square, RefuseFailure> {
    Err(RefuseFailure::NothingThere { n: input.n }.into())
}

#[data]
struct How {
    panic: bool,
}

/// Fail as nobody declared.
#[operation(query, name = "soak.fault", access(scopes = "soak"))]
async fn fault(input: How) -> Outcome<Square> {
    assert!(!input.panic, "a panic that the soak asked for");
    let n: u64 = "an error that the soak asked for".parse()?;
    Ok(Square { n, square: n })
}

#[data]
struct Follow {
    items: u64,
    #[schemars(range(max = 10_000))]
    every_ms: u64,
    #[schemars(range(max = 262_144))]
    bytes: usize,
}

#[data]
struct Item {
    number: u64,
    text: String,
}

/// Follow a counted stream.
#[operation(subscription, name = "soak.follow", access(scopes = "soak"), buffer = 4, overflow = "5s")]
async fn follow(input: Follow) -> Outcome<Events<Item>> {
    let text = "x".repeat(input.bytes);
    let every = Duration::from_millis(input.every_ms);
    Ok(Events::new(stream::iter(0..input.items).then(move |number| {
        let text = text.clone();
        async move {
            sleep(every).await;
            Ok(Item { number, text })
        }
    })))
}

/// Square a number for who has agreed to it.
#[operation(query, name = "soak.agreed", access(scopes = "soak", consent))]
async fn agreed(input: Number) -> Outcome<Square> {
    Ok(Square { n: input.n, square: input.n.wrapping_mul(input.n) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_are_sound() {
        let folder = tempfile::tempdir().unwrap();
        let built = registry(Effects::open(&folder.path().join("effects")).unwrap());
        assert!(built.is_ok(), "{:?}", built.err());
    }
}
