//! What can be asked of the stock.

use redress::{Events, Failure, Outcome, State, data, operation};

use crate::{Store, feed};

/// What there is of one article.
#[data]
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The name that it is ordered by.
    pub sku: String,
    /// How many there are.
    pub count: i32,
    /// How often this has changed; whoever corrects it says which version was seen.
    pub version: i64,
}

#[data]
pub struct Receive {
    /// The name that it is ordered by.
    #[schemars(regex(pattern = "^[a-z][a-z0-9-]{1,30}$"))]
    sku: String,
    /// How many came in.
    #[schemars(range(min = 1, max = 10_000))]
    count: i32,
}

#[data]
pub struct Get {
    /// The name that it is ordered by.
    #[schemars(length(min = 1, max = 40))]
    sku: String,
}

#[data]
pub struct List {
    /// How many articles at most.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: i32,
}

fn hundred() -> i32 {
    100
}

#[data]
pub struct Listed {
    items: Vec<Item>,
}

#[data]
pub struct Correct {
    /// The name that it is ordered by.
    #[schemars(length(min = 1, max = 40))]
    sku: String,
    /// How many were counted.
    #[schemars(range(min = 0, max = 1_000_000))]
    count: i32,
    /// The version that was seen before counting.
    version: i64,
}

#[data]
pub struct Watch {
    /// Only this article; all of them, if it is left out.
    #[serde(default)]
    sku: Option<String>,
}

/// What several operations end with stands in an enum of its own, and is included.
#[derive(Debug, Failure)]
pub enum ItemFailure {
    /// There is no article of this name.
    #[failure(kind = not_found, message = "no article {sku}", effect = none,
              recover(call = "stock.list", why = "see which articles there are",
                      hint = "List the articles and take the name of one."))]
    ItemNotFound { sku: String },
}

#[derive(Debug, Failure)]
#[failure(include(ItemFailure))]
pub enum CorrectFailure {
    /// Somebody else has changed the article since it was seen.
    #[failure(kind = conflict, message = "{sku} is at version {version} by now", effect = none,
              recover(call = "stock.get", bind(sku = sku), why = "see what it is now",
                      hint = "Look at the article again, and correct what it says now."))]
    ItemChanged { sku: String, version: i64 },
}

#[derive(Debug, Failure)]
pub enum WatchFailure {
    /// Changes were made that this reader was not told: it was too slow, or the database was away.
    #[failure(kind = unavailable, message = "some changes were missed", effect = none,
              recover(call = "stock.list", why = "see what there is now",
                      hint = "Look at what there is now, and watch again."))]
    ChangesMissed,
}

/// Take in what has arrived.
#[operation(
    mutation,
    name = "stock.receive",
    access(scopes = "stock:read stock:write"),
    idempotency_key,
    example(input = r#"{"sku": "lamp", "count": 5}"#, output = r#"{"sku": "lamp", "count": 5, "version": 1}"#)
)]
pub async fn receive(store: State<Store>, input: Receive) -> Outcome<Item> {
    Ok(store.receive(&input.sku, input.count).await?)
}

/// Look at one article.
#[operation(
    query,
    name = "stock.get",
    access(scopes = "stock:read"),
    example(input = r#"{"sku": "lamp"}"#, output = r#"{"sku": "lamp", "count": 5, "version": 1}"#),
    example(input = r#"{"sku": "lmap"}"#, failure = "ITEM_NOT_FOUND")
)]
pub async fn get(store: State<Store>, input: Get) -> Outcome<Item, ItemFailure> {
    store.item(&input.sku).await
}

/// List the articles by their names.
#[operation(
    query,
    name = "stock.list",
    access(scopes = "stock:read"),
    example(input = r#"{}"#, output = r#"{"items": [{"sku": "lamp", "count": 5, "version": 1}]}"#)
)]
pub async fn list(store: State<Store>, input: List) -> Outcome<Listed> {
    Ok(Listed { items: store.items(None, input.limit).await? })
}

/// Say how many were counted.
///
/// Who counts says which version of the article was seen before, so that no order in the meantime is lost.
#[operation(
    mutation,
    name = "stock.correct",
    access(scopes = "stock:read stock:write"),
    example(
        input = r#"{"sku": "lamp", "count": 4, "version": 1}"#,
        output = r#"{"sku": "lamp", "count": 4, "version": 2}"#
    ),
    example(input = r#"{"sku": "lamp", "count": 3, "version": 1}"#, failure = "ITEM_CHANGED")
)]
pub async fn correct(store: State<Store>, input: Correct) -> Outcome<Item, CorrectFailure> {
    if let Some(item) = store.correct(&input.sku, input.count, input.version).await? {
        return Ok(item);
    }
    let item = store.item(&input.sku).await.map_err(redress::Fail::widen)?;
    Err(CorrectFailure::ItemChanged { sku: item.sku, version: item.version }.into())
}

/// Watch the stock: each article as it is, then whenever it changes.
#[operation(
    subscription,
    name = "stock.watch",
    access(scopes = "stock:read"),
    example(input = r#"{"sku": "lamp"}"#, output = r#"{"sku": "lamp", "count": 4, "version": 2}"#)
)]
pub async fn watch(store: State<Store>, input: Watch) -> Outcome<Events<Item, WatchFailure>, WatchFailure> {
    // Subscribed before the first look, so that what changes in between is not lost; `feed` shows it once.
    let changes = store.changes();
    let items = store.items(input.sku.as_deref(), 1000).await?;
    Ok(Events::new(feed::from(items, changes, input.sku)))
}
