//! How an operation is *spelled*: attributes are parsed, judged and written out as
//! ordinary Rust.
//!
//! **Invariant:** this crate knows tokens and never types, runs nothing, and reports every
//! mistake of an item at once, each at the token that has to change.
//!
//! Use it through the `redress` crate, whose paths the written code names.

mod attribute;
mod check;
mod data;
mod deprecation;
mod docs;
mod duration;
mod failure;
mod grammar;
mod kind;
mod mistakes;
mod nearest;
mod operation;
mod shown;
mod size;
mod template;

use proc_macro::TokenStream;

/// Declares an enum's variants as failures: every way in which an operation may end badly.
///
/// ```
/// use redress::Failure;
///
/// #[derive(Debug, Failure)]
/// enum StoreFailure {
///     /// Another thing has the name.
///     #[failure(kind = conflict, recover(ask_user, hint = "Ask which of the two should stay."))]
///     AlreadyThere { name: String },
/// }
///
/// #[derive(Debug, Failure)]
/// #[failure(include(StoreFailure))]
/// enum ReadFailure {
///     /// The file does not exist.
///     #[failure(kind = not_found, message = "no file at {path}", effect = none,
///               recover(call = "files.list", bind(path = folder), hint = "List the folder and pick a path that exists."))]
///     FileNotFound { path: String, folder: String, #[failure(private)] os_error: i32 },
///     /// The disk does not answer for now.
///     #[failure(kind = unavailable, retry_after = wait_ms, recover(wait, hint = "Wait a moment, then read again."))]
///     DiskBusy { wait_ms: u64, #[source] cause: std::io::Error },
/// }
///
/// let missing = ReadFailure::FileNotFound { path: "a/b.md".into(), folder: "a".into(), os_error: 2 };
/// assert_eq!(missing.to_string(), "no file at a/b.md");
/// let codes: Vec<_> = ReadFailure::declarations().iter().map(|failure| failure.code().to_string()).collect();
/// assert_eq!(codes, ["FILE_NOT_FOUND", "DISK_BUSY", "ALREADY_THERE"]);
/// ```
///
/// The variant's name is its code (`FILE_NOT_FOUND`), its doc comment says when it happens, and its
/// public fields are the details that the caller sees.
///
/// On the enum: `include(Other, …)` declares the failures of other enums as well, so that `?` carries them.
///
/// On a variant, in `#[failure(…)]`:
///
/// | word | meaning |
/// |---|---|
/// | `kind = not_found` | needed: one of the closed set of kinds |
/// | `recover(VERB, hint = "…")` | needed: what the caller can do, in five words or more |
/// | `message = "no file at {path}"` | what happened, over the public fields; without it, the doc comment |
/// | `effect = none`, `partial` or `unknown` | whether the side effect happened |
/// | `retryable = true` | whether time alone can heal it, where the kind says otherwise |
/// | `retry_after = field` | the unsigned field that holds the milliseconds to wait |
/// | `http = 410` | the status, where the kind's does not do |
/// | `extends = "CONFLICT"` | the more general code that this is a case of; several, nearest first: `extends("A", "B")` |
/// | `code = "GONE"` | the code, where the variant's name does not do |
/// | `since = "1.2.0"`, `deprecated(since = "…", replaced_by = "…", remove_in = "…", reason = "…")` | its life |
///
/// The verbs of `recover`: `call = "ns.operation"` with `bind(their_field = own_field, …)` and `why = "…"`, `wait`,
/// `ask_user`, `stop`, `fix_input = "/pointer"`, `get_access = "scope"`, and `verify = "ns.query"` with `bind(…)`, `done =
/// "/pointer"`, `is = value` and `why = "…"`: a query whose answer shows whether a mutation took place.
///
/// On a field: `#[failure(private)]` keeps it out of everything that leaves the program; `#[source]` does too,
/// and makes it the error's source.
#[proc_macro_derive(Failure, attributes(failure, source))]
pub fn failure(item: TokenStream) -> TokenStream {
    failure::derive(item.into()).into()
}

/// Declares an `async fn` as an operation. It stays an ordinary function that a test can call.
///
/// ```
/// use redress::{Outcome, Registry, data, operation};
///
/// #[data]
/// struct Greet {
///     name: String,
/// }
///
/// /// Greet somebody.
/// #[operation(query, name = "people.greet", access(scopes = "people:read"), deadline = "5s")]
/// async fn greet(input: Greet) -> Outcome<String> {
///     Ok(format!("Hello, {}!", input.name))
/// }
///
/// let registry = Registry::builder().add(greet).build()?;
/// assert!(registry.operation("people.greet").is_some());
/// # Ok::<(), redress::BuildError>(())
/// ```
///
/// The last argument is the input, unless it is one of those that come from the call itself: `&Ctx`, `&Caller`,
/// `Option<&Caller>` and `State<T>`. The doc comment is the operation's description, its first paragraph the summary.
///
/// | word | meaning |
/// |---|---|
/// | `query`, `mutation` or `subscription` | needed: how it is asked for and answered |
/// | `name = "files.read"` | needed |
/// | `access(anyone)`, `access(scopes = "a b")`, `access(any_scope = "a b")`, `consent` in it | who may call; without it, every known caller |
/// | `check = owns_ticket` in `access(…)` | a function with [`#[check]`](macro@check): whether this caller may have what this input asks for |
/// | `deadline = "5s"` | how long one call may take |
/// | `strict` | only declared failures compile |
/// | `internal` | only other operations may call it |
/// | `idempotency_key` | a mutation that callers may repeat safely with a key |
/// | `verify(query = "files.check", bind(path = path), done = "/exists", is = true, hint = "…")` | how callers find out whether a mutation that was cut off took place |
/// | `eval(source = "code", language = "javascript")` | it runs the code in that field of its input |
/// | `calls("files.list", …)`, `authority("scope other", …)` or `authority(caller)` | the operations it calls, and the scopes it calls them with: its own, or its caller's |
/// | `tags("a", …)`, `alias("old.name", …)` | how else it is found |
/// | `example(input = r#"{…}"#, output = r#"{…}"#)`, or `failure = "CODE"` | an example; may come again |
/// | `max_input = "64kb"` | how much input it takes |
/// | `max_output = "4mb"` | how much output it may give at once |
/// | `since = "1.2.0"`, `deprecated(since = "…", …)` | its life |
/// | `prompt` | it gives `Messages` that open a conversation with a model |
/// | `resource = "notes://{path}"`, `mime_type = "text/plain"` | it gives the document at a URI; the variables are fields of its input |
/// | `complete(path = "notes.like", …)` | the operation that says what a field may be |
/// | `buffer = 32`, `overflow = cut` or `"30s"`, `idle = "60s"`, `resumable` | how a subscription's stream is carried |
#[proc_macro_attribute]
pub fn operation(words: TokenStream, item: TokenStream) -> TokenStream {
    operation::attribute(words.into(), item.into()).into()
}

/// Makes an `async fn` the check of operations: whether this caller may have what this input asks for.
///
/// ```
/// use redress::{Caller, Failure, Outcome, Registry, State, check, data, operation};
///
/// #[data]
/// struct Read {
///     note: String,
/// }
///
/// #[derive(Debug, Failure)]
/// enum ReadFailure {
///     /// There is no such note.
///     #[failure(kind = not_found, message = "no note {note}", effect = none,
///               recover(fix_input = "/note", hint = "Give the name of a note of yours."))]
///     NoteUnknown { note: String },
/// }
///
/// /// Whose each note is.
/// struct Owners {
///     notes: Vec<(&'static str, &'static str)>,
/// }
///
/// /// Everybody reads their own notes, and nobody learns which others there are.
/// #[check]
/// async fn owns_note(caller: &Caller, owners: State<Owners>, input: &Read) -> Outcome<bool, ReadFailure> {
///     match owners.notes.iter().find(|(note, _)| *note == input.note) {
///         Some((_, owner)) if *owner == caller.id() => Ok(true),
///         _ => Err(ReadFailure::NoteUnknown { note: input.note.clone() })?,
///     }
/// }
///
/// /// Read a note.
/// #[operation(query, name = "notes.read", access(scopes = "notes:read", check = owns_note))]
/// async fn read(input: Read) -> Outcome<String, ReadFailure> {
///     Ok(format!("the text of {}", input.note))
/// }
///
/// let registry = Registry::builder().state(Owners { notes: vec![("plan", "ada")] }).add(read).build()?;
/// assert!(registry.operation("notes.read").is_some_and(|read| read.access().is_checked()));
/// # Ok::<(), redress::BuildError>(())
/// ```
///
/// It takes what an operation's function takes, the input last and by reference, and returns `Outcome<bool, E>`. `false`
/// is FORBIDDEN. A failure of `E` is the operation's own, which has to declare it; so existence does not leak. Any
/// other error, a panic and a deadline that passes refuse the call. One check serves several operations when its input
/// is a parameter: `async fn owns<T: OfNote + Sync>(caller: &Caller, input: &T)`.
#[proc_macro_attribute]
pub fn check(words: TokenStream, item: TokenStream) -> TokenStream {
    check::attribute(words.into(), item.into()).into()
}

/// Makes a struct or an enum fit for inputs, outputs and details: it is read, written and
/// described, with no further crate in the manifest.
///
/// ```
/// #[redress::data]
/// #[derive(Debug, PartialEq)]
/// struct Read {
///     path: String,
/// }
///
/// let read: Read = serde_json::from_str(r#"{"path": "a.md"}"#)?;
/// assert_eq!(read, Read { path: "a.md".into() });
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// Unknown fields of an input are refused; `#[data(open)]` accepts them. `#[serde(…)]` and `#[schemars(…)]`
/// attributes work as usual.
#[proc_macro_attribute]
pub fn data(words: TokenStream, item: TokenStream) -> TokenStream {
    data::attribute(words.into(), item.into()).into()
}
