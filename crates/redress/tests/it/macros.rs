//! What the derive and the attributes write, seen from a user's side.

use std::{error::Error, io};

use redress::{
    __private::{AnyFailure, Declared},
    Caller, Ctx, DynamicFailure, Effect, Events, Fail, Failure, Kind, NoFailure, Outcome, State, contract, data,
    operation,
};
use serde_json::{Value, json};

mod deeper {
    #[derive(Debug, redress::Failure)]
    pub(super) enum Disk {
        /// The disk is full.
        #[failure(kind = unavailable, recover(wait, hint = "Wait until the disk has room again."))]
        DiskFull,
    }
}

#[derive(Debug, Failure)]
#[failure(include(deeper::Disk))]
enum Store {
    /// Already there.
    #[failure(kind = conflict, recover(ask_user, hint = "Ask which of the two should stay."))]
    AlreadyThere { name: String },
}

#[derive(Debug, Failure)]
#[failure(include(Store))]
enum Reading {
    /// The file does not exist,
    /// or is hidden.
    ///
    /// Folders count as files.
    #[failure(kind = not_found, message = "no file at {path} ({{{tries}}} of {seen})", effect = none, http = 410,
              extends("MISSING", "GONE"), since = "1.2.0",
              deprecated(since = "2.0.0", replaced_by = "LOST", remove_in = "3.0.0", reason = "one word is enough"),
              recover(call = "files.list", bind(path = folder), why = "see what is there",
                      hint = "List the folder and pick a path that exists."))]
    FileNotFound {
        path: String,
        folder: String,
        tries: u8,
        seen: Vec<String>,
        r#type: Option<u8>,
        #[failure(private)]
        os_error: i32,
    },
    /// Disk busy.
    #[failure(kind = unavailable, retry_after = wait_ms, effect = unknown,
              recover(wait, hint = "Wait for as long as it says."))]
    DiskBusy {
        wait_ms: u32,
        #[source]
        cause: io::Error,
    },
    /// Boxed.
    #[failure(kind = database, retryable = true, code = "LOST_WRITE", recover(get_access = "files:write", hint = "Ask for the scope that it names."))]
    Boxed(#[source] Box<dyn Error + Send + Sync>),
    /// HTTPS only.
    #[failure(kind = validation, recover(fix_input = "/path", hint = "Give a path inside the workspace folder."))]
    HTTPSOnly,
}

fn missing() -> Reading {
    Reading::FileNotFound {
        path: "a\"b".into(),
        folder: "notes".into(),
        tries: 2,
        seen: vec!["x".into()],
        r#type: None,
        os_error: 1234567,
    }
}

fn busy() -> Reading {
    Reading::DiskBusy { wait_ms: 250, cause: io::Error::other("secret") }
}

fn declared(code: &str) -> contract::FailureDeclaration {
    Reading::declarations().into_iter().find(|failure| *failure.code() == *code).unwrap()
}

fn json_of(raw: Option<contract::Json>) -> Option<String> {
    raw.map(|raw| raw.get().to_owned())
}

#[test]
fn codes_come_from_the_variants_and_included_ones_come_last() {
    let codes: Vec<String> = Reading::declarations().iter().map(|failure| failure.code().to_string()).collect();
    assert_eq!(codes, ["FILE_NOT_FOUND", "DISK_BUSY", "LOST_WRITE", "HTTPS_ONLY", "ALREADY_THERE", "DISK_FULL"]);
    assert_eq!(missing().code(), "FILE_NOT_FOUND");
    assert_eq!(Reading::Boxed("x".into()).code(), "LOST_WRITE");
}

#[test]
fn when_is_the_doc_comment_or_the_name_as_a_sentence() {
    assert_eq!(declared("FILE_NOT_FOUND").when(), "The file does not exist, or is hidden.\n\nFolders count as files.");
    assert_eq!(declared("DISK_BUSY").when(), "Disk busy.");
    assert_eq!(declared("HTTPS_ONLY").when(), "HTTPS only.");
}

#[test]
fn everything_that_the_attribute_says_is_in_the_declaration() {
    insta::assert_json_snapshot!(declared("FILE_NOT_FOUND"));
    let busy = declared("DISK_BUSY");
    assert_eq!((busy.retry_after(), busy.effect(), busy.retryable()), (Some("wait_ms"), Effect::Unknown, true));
    let lost = declared("LOST_WRITE");
    assert_eq!((lost.kind(), lost.retryable(), lost.http()), (Kind::Database, true, 500));
    assert_eq!(serde_json::to_value(lost.recovery()).unwrap()["scope"], "files:write");
    assert_eq!(serde_json::to_value(declared("HTTPS_ONLY").recovery()).unwrap()["pointer"], "/path");
}

#[test]
fn the_message_is_made_from_public_fields_as_a_client_would_make_it() {
    let failure = missing();
    assert_eq!(failure.to_string(), "no file at a\"b ({2} of [\"x\"])");
    let details: Value = serde_json::from_str(&json_of(failure.details().unwrap()).unwrap()).unwrap();
    let template = contract::Template::new(declared("FILE_NOT_FOUND").message()).unwrap();
    assert_eq!(template.render(details.as_object().unwrap()), failure.to_string());
    assert_eq!(busy().to_string(), "Disk busy.");
}

#[test]
fn a_brace_in_a_doc_comment_stands_for_itself() {
    #[derive(Debug, Failure)]
    enum Braced {
        /// The template `{id}` is open.
        #[failure(kind = validation, recover(stop, hint = "There is nothing left to try."))]
        Open,
    }
    let declared = Braced::declarations().remove(0);
    assert_eq!(declared.when(), "The template `{id}` is open.");
    let template = contract::Template::new(declared.message()).unwrap();
    assert_eq!(template.render(&serde_json::Map::new()), Braced::Open.to_string());
}

#[test]
fn the_details_are_the_public_fields_in_their_order_and_fit_the_schema() {
    assert_eq!(
        json_of(missing().details().unwrap()).unwrap(),
        r#"{"path":"a\"b","folder":"notes","tries":2,"seen":["x"],"type":null}"#
    );
    assert_eq!(json_of(busy().details().unwrap()).unwrap(), r#"{"wait_ms":250}"#);
    assert!(Reading::HTTPSOnly.details().unwrap().is_none() && Reading::Boxed("x".into()).details().unwrap().is_none());
    let schema = declared("FILE_NOT_FOUND").details().clone();
    assert_eq!(schema.required().collect::<Vec<_>>(), ["path", "folder", "tries", "seen", "type"]);
    assert_eq!(schema.as_value()["additionalProperties"], false);
    assert!(schema.property("os_error").is_none() && declared("DISK_BUSY").details().property("cause").is_none());
}

/// A field, as it goes into the input of the next call.
fn written(failure: &Reading, field: &str) -> Option<String> {
    let mut json = Vec::new();
    failure.write_field(field, &mut json).then(|| String::from_utf8(json).unwrap())
}

#[test]
fn a_private_field_and_a_source_are_in_nothing_that_leaves() {
    for failure in [missing(), busy()] {
        let details = json_of(failure.details().unwrap()).unwrap();
        let declared = serde_json::to_string(&Reading::declarations()).unwrap();
        for text in [details, failure.to_string(), declared] {
            for secret in ["os_error", "1234567", "cause", "secret"] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
    assert_eq!((written(&missing(), "os_error"), written(&busy(), "cause")), (None, None));
    assert_eq!(written(&missing(), "folder").unwrap(), "\"notes\"");
    assert_eq!(written(&busy(), "folder"), None);
}

#[test]
fn a_source_is_the_errors_source_boxed_or_not() {
    assert_eq!(busy().source().unwrap().to_string(), "secret");
    assert_eq!(Reading::Boxed("inner".into()).source().unwrap().to_string(), "inner");
    assert!(missing().source().is_none());
}

#[test]
fn a_failure_knows_how_long_to_wait() {
    assert_eq!((busy().retry_after_ms(), missing().retry_after_ms()), (Some(250), None));
}

#[test]
fn an_enum_may_do_nothing_but_include_others() {
    #[derive(Debug, Failure)]
    #[failure(include(Store, deeper::Disk))]
    enum Resolving {}

    let codes: Vec<String> = Resolving::declarations().iter().map(|failure| failure.code().to_string()).collect();
    assert_eq!(codes, ["ALREADY_THERE", "DISK_FULL"]);
    let raised: Fail<Resolving> = deeper::Disk::DiskFull.into();
    assert_eq!(raised.code(), Some("DISK_FULL"));
}

#[test]
fn what_two_included_enums_share_is_declared_once() {
    #[derive(Debug, Failure)]
    #[failure(include(Store, deeper::Disk))]
    enum Both {
        /// Broken.
        #[failure(kind = internal, recover(stop, hint = "There is nothing left to try."))]
        Broken,
    }
    let codes: Vec<String> = Both::declarations().iter().map(|failure| failure.code().to_string()).collect();
    assert_eq!(codes, ["BROKEN", "ALREADY_THERE", "DISK_FULL"]);
    assert_eq!(Both::Broken.to_string(), "Broken.");
}

#[test]
fn a_question_mark_carries_own_and_included_failures_and_contains_the_rest() {
    fn raise<X: Error + Send + Sync + 'static>(error: X) -> Fail<Reading> {
        (|| -> Outcome<(), Reading> { Err(error)? })().unwrap_err()
    }
    let own = raise(missing());
    assert!(matches!(own.failure(), Some(Reading::FileNotFound { .. })));
    assert_eq!(raise(Store::AlreadyThere { name: "a".into() }).code(), Some("ALREADY_THERE"));
    assert_eq!(raise(deeper::Disk::DiskFull).code(), Some("DISK_FULL"));
    let foreign = raise(io::Error::other("boom"));
    assert!(foreign.code().is_none() && foreign.cause().is_some());
    let undeclared = raise(DynamicFailure::new("ELSEWHERE", json!({})));
    assert!(undeclared.code().is_none());
}

#[test]
fn every_kind_can_be_spelled() {
    macro_rules! every {
        ($($variant:ident = $kind:ident),*) => {
            #[derive(Debug, Failure)]
            enum Every {
                $(#[doc = "It happens."] #[failure(kind = $kind, recover(ask_user, hint = "Ask somebody what to do now."))] $variant,)*
            }
        };
    }
    every!(
        A = parse,
        B = invalid_request,
        C = method_not_found,
        D = invalid_params,
        E = internal,
        F = unavailable,
        G = not_found,
        H = conflict,
        I = rate_limited,
        J = timeout,
        K = forbidden,
        L = unauthorized,
        M = validation,
        N = configuration,
        O = initialization,
        P = database,
        Q = cancelled,
        R = serialization,
        S = unknown
    );
    let kinds: Vec<Kind> = Every::declarations().iter().map(contract::FailureDeclaration::kind).collect();
    assert_eq!(kinds, Kind::ALL);
    let constructed = [
        Every::A,
        Every::B,
        Every::C,
        Every::D,
        Every::E,
        Every::F,
        Every::G,
        Every::H,
        Every::I,
        Every::J,
        Every::K,
        Every::L,
        Every::M,
        Every::N,
        Every::O,
        Every::P,
        Every::Q,
        Every::R,
        Every::S,
    ];
    assert_eq!(constructed.len(), 19);
}

#[data]
#[derive(Debug, PartialEq)]
struct Read {
    path: String,
    #[serde(default)]
    lines: Option<u32>,
}

#[data(open)]
struct Loose {
    path: String,
}

#[data]
#[derive(Debug, PartialEq)]
enum Order {
    Up,
    Down { by: u8 },
}

struct App {
    root: String,
}

/// Read a text file
/// from the workspace.
///
/// Binary files are refused.
#[operation(
    mutation,
    name = "files.read",
    access(scopes = "files:read files:list", any_scope = "a b", consent),
    deadline = "250ms",
    internal,
    idempotency_key,
    eval(source = "path", language = "javascript"),
    calls("files.list", "files.stat"),
    authority("files:list"),
    tags("files", "text"),
    alias("fs.read"),
    example(input = r#"{"path": "a.md"}"#, output = r#""text""#),
    example(input = r#"{"path": "b.md"}"#, failure = "FILE_NOT_FOUND"),
    max_input = "64kb",
    since = "1.0.0",
    deprecated(since = "2.0.0")
)]
async fn read(
    State(app): State<App>,
    caller: &Caller,
    _ctx: &Ctx,
    Read { path, .. }: Read,
) -> Outcome<String, Reading> {
    if path.is_empty() {
        return Err(missing().into());
    }
    Ok(format!("{}/{path} for {}", app.root, caller.id()))
}

/// Read strictly.
#[operation(query, name = "files.strictly", access(anyone), strict)]
async fn strictly(input: Read) -> Outcome<String, Reading> {
    match input.path.as_str() {
        "" => Err(missing())?,
        "full" => Err(Store::AlreadyThere { name: "full".into() })?,
        other => Ok(other.to_owned()),
    }
}

/// Tell the time.
#[operation(query, name = "clock.now", access(anyone))]
async fn now(who: Option<&Caller>) -> Outcome<bool> {
    Ok(who.is_some())
}

/// Watch a file.
#[operation(subscription, name = "files.watch", buffer = 8, overflow = cut, idle = "60s", resumable)]
async fn watch(_ctx: &Ctx, input: Read) -> Outcome<Events<Order, Reading>, Reading> {
    let by = u8::try_from(input.path.len())?;
    Ok(Events::new(futures_util::stream::iter([Ok(Order::Up), Ok(Order::Down { by }), Err(missing().into())])))
}

/// Watch in the usual way.
#[operation(subscription, name = "files.tail", overflow = "5s")]
async fn tail() -> Outcome<Events<Order>> {
    Ok(Events::new(futures_util::stream::iter([])))
}

fn declaration<D: Declared>() -> contract::OperationDeclaration {
    D::operation().declaration().clone()
}

#[test]
fn everything_that_the_words_say_is_in_the_operation() {
    insta::assert_json_snapshot!(declaration::<__operation_read>());
    insta::assert_json_snapshot!(declaration::<__operation_watch>().streaming());
    assert_eq!(
        serde_json::to_value(declaration::<__operation_tail>().streaming()).unwrap()["overflow"],
        json!({"wait": 5000})
    );
    let now = declaration::<__operation_now>();
    assert!(now.access().is_open() && now.failures().is_empty());
    assert_eq!((now.input().properties().count(), &now.input().as_value()["additionalProperties"]), (0, &json!(false)));
    assert_eq!(<__operation_now as Declared>::NAME, "clock.now");
}

#[test]
fn the_state_that_arguments_need_is_known() {
    let needs: Vec<&str> = __operation_read::needs().into_iter().map(|(_, name)| name).collect();
    assert_eq!(needs.len(), 1);
    assert!(needs[0].ends_with("App"), "{needs:?}");
}

#[tokio::test]
async fn an_annotated_function_is_still_a_function() {
    let full = strictly(Read { path: "full".into(), lines: None }).await.unwrap_err();
    assert_eq!(full.code(), Some("ALREADY_THERE"));
    let own = strictly(Read { path: String::new(), lines: None }).await.unwrap_err();
    assert!(matches!(own.failure(), Some(Reading::FileNotFound { .. })));
    assert_eq!(strictly(Read { path: "a".into(), lines: None }).await.unwrap(), "a");
    let ada = Caller::new("ada");
    assert!(now(Some(&ada)).await.unwrap());
}

#[test]
fn data_is_read_written_and_described_without_another_crate() {
    let order: Order = serde_json::from_value(json!({"Down": {"by": 3}})).unwrap();
    assert_eq!(order, Order::Down { by: 3 });
    assert_eq!(serde_json::to_value(Order::Up).unwrap(), "Up");
    let schema = <Read as redress::__private::Input>::schema();
    assert_eq!(schema.as_value()["additionalProperties"], false);
    assert_eq!(schema.required().collect::<Vec<_>>(), ["path"]);
    let loose = <Loose as redress::__private::Input>::schema();
    assert_eq!(loose.as_value()["additionalProperties"], true);
    assert_eq!(Loose { path: "a".into() }.path, "a");
}

#[test]
fn an_operation_without_failures_has_none() {
    assert!(NoFailure::declarations().is_empty());
    assert!(!Reading::includes(std::any::TypeId::of::<NoFailure>()));
    assert!(Reading::includes(std::any::TypeId::of::<deeper::Disk>()));
}

/// How something is sorted.
#[data]
enum Sorted {
    /// The least first.
    Up,
    /// The most first.
    Down,
}

#[data]
struct Sorting {
    order: Sorted,
    #[schemars(range(max = 9))]
    limit: u8,
}

/// Sort something.
#[operation(query, name = "things.sort", access(anyone))]
async fn sort(input: Sorting) -> Outcome<u8> {
    let _ = input.order;
    Ok(input.limit)
}

#[tokio::test]
async fn a_refused_input_says_where_to_change_it_what_is_missing_and_a_fix_where_there_is_one() {
    const PLAIN: &str = "Change what `details.issues` points at, and call again.";
    const WITH_FIX: &str = "Change what `details.issues` points at, or apply `details.fix`, and call again.";
    let harness = redress::testing::Harness::new(crate::service::registry(redress::Registry::builder().add(sort)));
    let refused = async |input: Value| {
        let answer = harness.call("things.sort", input).await;
        let problem = answer.problem();
        let pointer = serde_json::to_value(&problem.recovery).unwrap()["pointer"].clone();
        (problem.hint.to_string(), pointer, answer.details())
    };
    let (hint, pointer, details) = refused(json!({"order": "Up", "limit": 10})).await;
    assert_eq!((hint.as_str(), pointer), (PLAIN, json!("/limit")));
    assert!(details.get("fix").is_none(), "{details}");

    let (hint, pointer, details) = refused(json!({"limit": 1})).await;
    assert_eq!((hint.as_str(), pointer), (PLAIN, json!("/order")));
    let expected = details["issues"][0]["expected"].as_str().unwrap();
    assert!(expected.contains(r#""Up""#) && expected.contains(r#""Down""#), "{expected}");

    let (hint, pointer, details) = refused(json!({"order": "Upp", "limit": 1})).await;
    assert_eq!((hint.as_str(), pointer), (WITH_FIX, json!("/order")), "{details}");

    // Of two places neither is the one to change.
    let (_, pointer, _) = refused(json!({"order": "Upp", "limit": 10})).await;
    assert_eq!(pointer, json!(""));
}

/// Call with scopes of its own.
#[operation(query, name = "things.own", access(anyone), calls("things.sort"), authority("a b", "c"))]
async fn own() -> Outcome<u8> {
    Ok(1)
}

/// Call as its own caller.
#[operation(query, name = "things.theirs", access(anyone), calls("things.sort"), authority(caller))]
async fn theirs() -> Outcome<u8> {
    Ok(1)
}

#[test]
fn an_authority_is_scopes_of_its_own_or_its_callers() {
    let registry = redress::Registry::builder().add(sort).add(own).add(theirs).build().unwrap();
    let declared = |name: &str| registry.contract().operation(name).unwrap().clone();
    assert_eq!(declared("things.own").authority(), ["a", "b", "c"]);
    assert!(!declared("things.own").calls_as_caller());
    assert!(declared("things.theirs").calls_as_caller() && declared("things.theirs").authority().is_empty());
}
