//! Questions: asked live, asked in rounds, and where nobody can be asked.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use redress::{
    Access, Answer, AskError, Asker, Asks, Builder, Caller, Conversation, Ctx, DynamicFailure, Field, Form, Guard,
    GuardBroken, GuardedCall, Kind, Operation, Outcome, PromptMessage, Question, QuestionKind, Registry, Request,
    Sample, Turn, Veto, contract, data, operation, testing::TestCtx,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::service::{Watch, fails, failure, mutation, query, registry};

/// An asker that answers from a script, and keeps what it was asked.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<(String, Question)>>>,
    cannot: Option<QuestionKind>,
}

impl Script {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Script {
        Script { answers: Arc::new(Mutex::new(answers.into_iter().collect())), ..Script::default() }
    }

    fn keys(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(key, _)| key.clone()).collect()
    }
}

impl Asker for Script {
    fn can(&self, kind: QuestionKind) -> bool {
        self.cannot != Some(kind)
    }

    fn ask<'a>(&'a self, key: &'a str, question: &'a Question) -> BoxFuture<'a, Result<Answer, AskError>> {
        self.asked.lock().unwrap().push((key.to_owned(), question.clone()));
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            match answer {
                Some(answer) => Ok(answer),
                None => std::future::pending().await,
            }
        })
    }
}

fn name_form() -> Question {
    Question::form("Who is there?", Form::new().field("name", Field::text()))
}

fn named(name: &str) -> Answer {
    Answer::Accepted(json!({"name": name}))
}

async fn greet(ctx: Ctx, _: Value) -> Outcome<Value, DynamicFailure> {
    let answer = ctx.ask("name", name_form()).await?;
    Ok(match answer {
        Answer::Accepted(form) => json!(format!("Hello, {}!", form["name"].as_str().unwrap_or_default())),
        Answer::Declined => json!("Hello, stranger!"),
        Answer::Cancelled => json!("Good bye!"),
    })
}

fn greeting() -> Builder {
    Registry::builder().add(Operation::dynamic(query("door.greet")).with_handler(greet))
}

fn asks(turn: Turn) -> Asks {
    match turn {
        Turn::Asks(asks) => asks,
        Turn::Ended(envelope) => panic!("{}", String::from_utf8_lossy(&envelope.into_bytes())),
    }
}

fn output(turn: Turn) -> Value {
    match turn {
        Turn::Ended(envelope) => serde_json::from_slice(envelope.output().expect("the call ends well")).unwrap(),
        Turn::Asks(asks) => panic!("{asks:?}"),
    }
}

fn code(turn: Turn) -> String {
    match turn {
        Turn::Ended(envelope) => envelope.code().expect("the call fails").to_owned(),
        Turn::Asks(asks) => panic!("{asks:?}"),
    }
}

fn keys(asks: &Asks) -> Vec<&str> {
    asks.questions.iter().map(|(key, _)| key.as_str()).collect()
}

fn first() -> Conversation {
    Conversation::new(QuestionKind::ALL)
}

fn next(asks: &Asks) -> Conversation {
    Conversation::resumed(QuestionKind::ALL, &asks.state).unwrap()
}

#[tokio::test]
async fn a_face_with_a_way_back_answers_while_the_handler_waits() {
    let registry = registry(greeting());
    for (answer, said) in
        [(named("Ada"), "Hello, Ada!"), (Answer::Declined, "Hello, stranger!"), (Answer::Cancelled, "Good bye!")]
    {
        let request = Request::default().with_asker(Arc::new(Script::new([answer])));
        let envelope = registry.call("door.greet", request).await;
        assert_eq!(envelope.output().unwrap(), json!(said).to_string().as_bytes());
    }
}

#[tokio::test]
async fn a_live_answer_that_does_not_fit_is_asked_for_again_and_given_up_in_the_end() {
    let registry = registry(greeting());
    let wrong = || Answer::Accepted(json!({"name": 7}));
    let script = Script::new([wrong(), named("Ada")]);
    assert!(registry.call("door.greet", Request::default().with_asker(Arc::new(script.clone()))).await.is_ok());
    assert_eq!(script.keys(), ["name", "name"]);
    let script = Script::new([wrong(), wrong(), wrong(), named("Ada")]);
    let envelope = registry.call("door.greet", Request::default().with_asker(Arc::new(script.clone()))).await;
    assert_eq!(envelope.code(), Some("INVALID_INPUT"));
    assert_eq!(envelope.problem().unwrap().details.as_ref().unwrap().get(), r#"{"answer":"name"}"#);
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_failure_says_so() {
    let registry = registry(greeting());
    let plain = registry.call("door.greet", Request::default()).await;
    let script = Script { cannot: Some(QuestionKind::Form), ..Script::default() };
    let unable = registry.call("door.greet", Request::default().with_asker(Arc::new(script))).await;
    for envelope in [plain, unable] {
        assert_eq!(envelope.code(), Some("INVALID_OPERATION_TYPE"));
        let problem = envelope.problem().unwrap();
        assert_eq!(QuestionKind::missing_in(problem), Some(QuestionKind::Form));
        assert!(problem.hint.contains("a client that can be asked"));
    }
    let turn = registry.converse("door.greet", Request::default(), Conversation::new([QuestionKind::Roots])).await;
    assert_eq!(code(turn), "INVALID_OPERATION_TYPE");
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_composed_question_says_so_too() {
    let above = Operation::dynamic(query("door.open").with_call("door.greet"))
        .with_handler(|ctx, _| async move { Ok(ctx.call_dynamic("door.greet", json!({})).await?) });
    let registry = registry(greeting().add(above));
    let envelope = registry.call("door.open", Request::default()).await;
    assert_eq!(envelope.code(), Some("INVALID_OPERATION_TYPE"));
    let problem = envelope.problem().unwrap();
    assert_eq!(problem.details.as_ref().unwrap().get(), r#"{"asks":"form","operation":"door.open"}"#);
    assert_eq!(QuestionKind::missing_in(problem), Some(QuestionKind::Form));
}

#[tokio::test]
async fn a_failure_that_has_details_of_the_same_name_asks_nothing() {
    let declared = failure("DOOR_SHUT", Kind::Conflict);
    let shut = fails(query("door.shut").fails(declared), "DOOR_SHUT", json!({"asks": "form"}));
    let envelope = registry(Registry::builder().add(shut)).call("door.shut", Request::default()).await;
    assert_eq!(envelope.code(), Some("DOOR_SHUT"));
    assert_eq!(QuestionKind::missing_in(envelope.problem().unwrap()), None);
}

#[tokio::test]
async fn a_call_in_rounds_ends_with_its_questions_and_goes_on_with_the_answers() {
    let watch = Watch::default();
    let registry = registry(greeting().observer(watch.clone()));
    let round = asks(registry.converse("door.greet", Request::default(), first()).await);
    assert_eq!(round.questions, [("name".to_owned(), name_form())]);
    let turn = registry.converse("door.greet", Request::default(), next(&round).answer("name", named("Ada"))).await;
    assert_eq!(output(turn), "Hello, Ada!");
    // Each round is told of once; the first has no outcome.
    assert_eq!(watch.codes(), ["asks", "ok"]);
}

#[tokio::test]
async fn an_answer_that_is_missing_foreign_or_unfit_is_asked_for_again() {
    let registry = registry(greeting());
    let round = asks(registry.converse("door.greet", Request::default(), first()).await);
    for conversation in [
        next(&round),
        next(&round).answer("other", named("Ada")),
        next(&round).answer("name", Answer::Accepted(json!({"name": 7}))),
    ] {
        let again = asks(registry.converse("door.greet", Request::default(), conversation).await);
        assert_eq!(keys(&again), ["name"]);
    }
    // An answer that comes before its question is none.
    let early = first().answer("name", named("Ada"));
    asks(registry.converse("door.greet", Request::default(), early).await);
}

#[tokio::test]
async fn several_questions_go_out_together_and_several_rounds_follow_each_other() {
    let tour = Operation::dynamic(query("door.tour")).with_handler(|ctx, _| async move {
        let both = ctx.ask_all([("name", name_form()), ("place", Question::roots())]).await?;
        let round: u64 = ctx.recall("round").unwrap_or_default();
        ctx.remember("round", round + 1);
        let said = ctx.ask("poem", Sample::text("Say a poem.", 100)).await?;
        let (roots, said) = (both[1].roots(), said.sampled());
        Ok(json!([both[0].accepted(), roots.map(|roots| roots.len()), said.map(|said| said.model), round]))
    });
    let registry = registry(Registry::builder().add(tour));
    let call = |conversation| registry.converse("door.tour", Request::default(), conversation);
    let one = asks(call(first()).await);
    assert_eq!(keys(&one), ["name", "place"]);
    let roots = Answer::Accepted(json!([{"uri": "file:///home"}]));
    let two = asks(call(next(&one).answer("name", named("Ada")).answer("place", roots)).await);
    assert_eq!(keys(&two), ["poem"]);
    assert!(matches!(&two.questions[0].1, Question::Sample(sample) if sample.max_tokens == 100));
    let poem = json!({"role": "assistant", "content": {"type": "text", "text": "…"}, "model": "m"});
    let three = call(next(&two).answer("poem", Answer::Accepted(poem))).await;
    assert_eq!(output(three), json!([{"name": "Ada"}, 1, "m", 1]));
}

#[tokio::test]
async fn nobody_is_asked_the_half_of_what_is_asked_at_once() {
    let both = Operation::dynamic(query("door.both")).with_handler(|ctx, _| async move {
        ctx.ask_all([("name", name_form()), ("place", Question::roots())]).await?;
        Ok(json!(null))
    });
    let registry = registry(Registry::builder().add(both));
    let script = Script { cannot: Some(QuestionKind::Roots), ..Script::new([named("Ada")]) };
    let envelope = registry.call("door.both", Request::default().with_asker(Arc::new(script.clone()))).await;
    assert_eq!(QuestionKind::missing_in(envelope.problem().unwrap()), Some(QuestionKind::Roots));
    assert!(script.keys().is_empty());
    let turn = registry.converse("door.both", Request::default(), Conversation::new([QuestionKind::Form])).await;
    assert_eq!(code(turn), "INVALID_OPERATION_TYPE");
}

#[tokio::test]
async fn one_of_two_answers_leaves_the_other_question_open() {
    let both = Operation::dynamic(query("door.both")).with_handler(|ctx, _| async move {
        let answers = ctx.ask_all([("a", name_form()), ("b", Question::url("Pay.", "https://pay.example"))]).await?;
        Ok(json!(answers.len()))
    });
    let registry = registry(Registry::builder().add(both));
    let call = |conversation| registry.converse("door.both", Request::default(), conversation);
    let one = asks(call(first()).await);
    let two = asks(call(next(&one).answer("b", Answer::Accepted(Value::Null))).await);
    assert_eq!(keys(&two), ["a"]);
    assert_eq!(output(call(next(&two).answer("a", named("Ada"))).await), 2);
}

#[tokio::test]
async fn an_answer_to_one_question_is_never_taken_for_another_of_the_same_id() {
    // As a handler does that asks in a loop.
    let wipe = Operation::dynamic(mutation("files.wipe")).with_handler(|ctx, _| async move {
        let mut gone = Vec::new();
        for file in ["a", "b"] {
            if ctx.ask("sure", Question::form(format!("Delete {file}?"), Form::new())).await?.accepted().is_some() {
                gone.push(file);
            }
        }
        Ok(json!(gone))
    });
    let registry = registry(Registry::builder().add(wipe));
    let call = |conversation| registry.converse("files.wipe", Request::default(), conversation);
    let one = asks(call(first()).await);
    let two = asks(call(next(&one).answer("sure", Answer::Accepted(json!({})))).await);
    assert_eq!(keys(&two), ["sure.2"]);
    assert_eq!(output(call(next(&two).answer("sure.2", Answer::Declined)).await), json!(["a"]));
}

#[tokio::test]
async fn a_state_belongs_to_one_operation_caller_and_input() {
    let builder = greeting().add(Operation::dynamic(query("door.other")).with_handler(greet));
    let registry = registry(builder);
    let ada = |input: &'static str| Request::new(input.as_bytes()).with_caller(Caller::new("ada"));
    let round = asks(registry.converse("door.greet", ada(r#"{"a":1,"b":2}"#), first()).await);
    let again = || next(&round).answer("name", named("Ada"));
    let eve = Request::new(br#"{"a":1,"b":2}"#.as_slice()).with_caller(Caller::new("eve"));
    for (name, request) in
        [("door.greet", eve), ("door.greet", ada(r#"{"a":1}"#)), ("door.other", ada(r#"{"a":1,"b":2}"#))]
    {
        assert_eq!(code(registry.converse(name, request, again()).await), "INVALID_REQUEST");
    }
    // The same input, written in another order, is the same input.
    assert_eq!(output(registry.converse("door.greet", ada(r#"{ "b":2, "a":1 }"#), again()).await), "Hello, Ada!");
    // What a double takes for the same number is another input.
    let max = r#"{"a":340282366920938463463374607431768211455}"#;
    let round = asks(registry.converse("door.greet", ada(max), first()).await);
    let again = || next(&round).answer("name", named("Ada"));
    for other in [r#"{"a":340282366920938463463374607431768211454}"#, r#"{"a":3.4028236692093846e38}"#] {
        assert_eq!(code(registry.converse("door.greet", ada(other), again()).await), "INVALID_REQUEST");
    }
    assert_eq!(output(registry.converse("door.greet", ada(max), again()).await), "Hello, Ada!");
    assert!(Conversation::resumed([], b"{}").is_err() && Conversation::resumed([], &[b' '; 100_000]).is_err());
}

#[tokio::test]
async fn a_composed_call_asks_the_same_caller_and_puts_down_the_whole_tree() {
    let watch = Watch::default();
    let outer = Operation::dynamic(query("door.open").with_call("door.greet")).with_handler(|ctx, _| async move {
        let answer = ctx.ask("name", name_form()).await?;
        let said = ctx.call_dynamic("door.greet", json!({})).await?;
        Ok(json!([answer.accepted(), said]))
    });
    let registry = registry(greeting().add(outer).observer(watch.clone()));
    let call = |conversation| registry.converse("door.open", Request::default(), conversation);
    let one = asks(call(first()).await);
    let two = asks(call(next(&one).answer("name", named("Ada"))).await);
    assert_eq!(keys(&two), ["door.greet/name"]);
    let three = call(next(&two).answer("door.greet/name", named("Bob"))).await;
    assert_eq!(output(three), json!([{"name": "Ada"}, "Hello, Bob!"]));
    assert_eq!(watch.codes(), ["asks", "asks", "asks", "ok", "ok"]);
}

#[tokio::test]
async fn a_question_asked_by_a_spawned_task_puts_the_call_down_too() {
    let spawning = Operation::dynamic(query("door.spawn")).with_handler(|ctx, _| async move {
        let inner = ctx.clone();
        let answer = tokio::spawn(async move { inner.ask("name", name_form()).await }).await?;
        Ok(json!(answer?.accepted()))
    });
    let registry = registry(Registry::builder().add(spawning));
    let call = |conversation| registry.converse("door.spawn", Request::default(), conversation);
    let one = asks(call(first()).await);
    assert_eq!(output(call(next(&one).answer("name", named("Ada"))).await), json!({"name": "Ada"}));
}

/// A guard that takes its time with `door.slow`.
struct SlowGuard;

impl Guard for SlowGuard {
    fn name(&self) -> &str {
        "slow"
    }

    fn failures(&self) -> Vec<contract::FailureDeclaration> {
        Vec::new()
    }

    fn covers(&self, operation: &contract::OperationDeclaration) -> bool {
        *operation.name() == *"door.slow"
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> BoxFuture<'a, Result<Option<Veto>, GuardBroken>> {
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(None)
        })
    }
}

#[tokio::test]
async fn a_question_of_one_composed_call_does_not_fail_the_one_beside_it() {
    let watch = Watch::default();
    let slow = Operation::dynamic(query("door.slow")).with_handler(|_, _| async { Ok(json!("slow")) });
    let declaration = query("door.both").with_call("door.greet").with_call("door.slow");
    let both = Operation::dynamic(declaration).with_handler(|ctx, _| async move {
        let greet = ctx.call_dynamic("door.greet", json!({}));
        let (greeted, slow) = tokio::try_join!(greet, ctx.call_dynamic("door.slow", json!({})))?;
        Ok(json!([greeted, slow]))
    });
    let registry = registry(greeting().add(slow).add(both).guard(SlowGuard).observer(watch.clone()));
    let call = |conversation| registry.converse("door.both", Request::default(), conversation);
    let one = asks(call(first()).await);
    assert_eq!(keys(&one), ["door.greet/name"]);
    assert_eq!(watch.codes(), ["asks", "asks", "asks"]);
    let two = call(next(&one).answer("door.greet/name", named("Ada"))).await;
    assert_eq!(output(two), json!(["Hello, Ada!", "slow"]));
}

#[tokio::test]
async fn a_task_that_asks_does_not_outlive_the_round() {
    let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let spawning = Operation::dynamic(query("door.spawn")).with_handler(move |ctx, _| {
        let sender = sender.clone();
        async move {
            let waits = tokio::spawn(async move { sender.send(ctx.ask("name", name_form()).await) });
            waits.await??;
            Ok(json!(null))
        }
    });
    let registry = registry(Registry::builder().add(spawning));
    asks(registry.converse("door.spawn", Request::default(), first()).await);
    let ended = tokio::time::timeout(Duration::from_secs(5), ended.recv()).await.expect("the task ends");
    assert_eq!(ended, Some(Err(AskError::Gone)));
}

/// An asker whose person takes a while.
struct Slowly(Script);

impl Asker for Slowly {
    fn can(&self, kind: QuestionKind) -> bool {
        self.0.can(kind)
    }

    fn ask<'a>(&'a self, key: &'a str, question: &'a Question) -> BoxFuture<'a, Result<Answer, AskError>> {
        let answer = self.0.ask(key, question);
        Box::pin(async {
            tokio::task::yield_now().await;
            answer.await
        })
    }
}

#[tokio::test]
async fn a_live_question_that_two_tasks_have_is_asked_once() {
    let both = Operation::dynamic(query("door.both")).with_handler(|ctx, _| async move {
        let answers = ctx.ask_all([("name", name_form()), ("name", name_form())]).await?;
        Ok(json!([answers[0].accepted(), answers[1].accepted()]))
    });
    let registry = registry(Registry::builder().add(both));
    let script = Script::new([named("Ada"), named("Bob")]);
    let asker = Arc::new(Slowly(script.clone()));
    let envelope = registry.call("door.both", Request::default().with_asker(asker)).await;
    assert_eq!(envelope.output(), Some(br#"[{"name":"Ada"},{"name":"Ada"}]"#.as_slice()));
    assert_eq!(script.keys(), ["name"]);
}

#[tokio::test]
async fn an_input_that_is_left_out_is_the_same_as_an_empty_one() {
    let registry = registry(greeting());
    let round = asks(registry.converse("door.greet", Request::default(), first()).await);
    let answered = next(&round).answer("name", named("Ada"));
    assert_eq!(output(registry.converse("door.greet", Request::new(b"{}".as_slice()), answered).await), "Hello, Ada!");
}

#[tokio::test]
async fn a_round_that_asks_gives_its_idempotency_key_up_and_the_last_one_keeps_it() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let declaration = mutation("door.paint").with_idempotency_key();
    let paint = Operation::dynamic(declaration).with_handler(move |ctx, _| {
        let runs = Arc::clone(&counted);
        async move {
            ctx.ask("name", name_form()).await?;
            Ok(json!(runs.fetch_add(1, Ordering::SeqCst)))
        }
    });
    let registry = registry(Registry::builder().add(paint));
    let call =
        |conversation| registry.converse("door.paint", Request::default().with_idempotency_key("k"), conversation);
    let one = asks(call(first()).await);
    let answered = || next(&one).answer("name", named("Ada"));
    assert_eq!(output(call(answered()).await), 0);
    assert_eq!(output(call(answered()).await), 0);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_live_answer_ends_with_the_deadline_and_with_a_cancellation() {
    let slow = Operation::dynamic(query("door.slow").with_deadline(Duration::from_secs(5))).with_handler(greet);
    let registry = registry(Registry::builder().add(slow));
    let silent = || Request::default().with_asker(Arc::new(Script::default()));
    assert_eq!(registry.call("door.slow", silent()).await.code(), Some("TIMEOUT"));
    let token = CancellationToken::new();
    let (envelope, ()) = tokio::join!(registry.call("door.slow", silent().with_cancellation(token.clone())), async {
        tokio::task::yield_now().await;
        token.cancel();
    });
    assert_eq!(envelope.code(), Some("CANCELLED"));
}

fn wiping(watch: &Watch) -> Registry {
    let declaration = contract::OperationDeclaration::mutation("disk.wipe")
        .with_summary("Erase the disk.")
        .with_access(Access::caller().consent());
    let wipe = Operation::dynamic(declaration).with_handler(|_, _| async { Ok(json!("wiped")) });
    registry(Registry::builder().add(wipe).observer(watch.clone()))
}

#[tokio::test]
async fn a_face_that_can_ask_asks_for_consent_before_it_refuses() {
    let watch = Watch::default();
    let registry = wiping(&watch);
    let ada = || Request::default().with_caller(Caller::new("ada"));
    let call = |conversation| registry.converse("disk.wipe", ada(), conversation);
    let agree = |yes: bool| Answer::Accepted(json!({"agree": yes}));
    let one = asks(call(first()).await);
    let (key, Question::Form { message, .. }) = &one.questions[0] else { panic!("{one:?}") };
    assert_eq!(message, "Do you agree to `disk.wipe`, this once? Erase the disk.\nIts input: {}");
    for (no, told, says) in [
        (agree(false), "declined", "said no"),
        (Answer::Declined, "declined", "said no"),
        (Answer::Cancelled, "none", "gave no answer"),
    ] {
        let Turn::Ended(envelope) = call(next(&one).answer(key.as_str(), no)).await else { panic!("it asks again") };
        let problem = envelope.problem().unwrap();
        assert_eq!(problem.code.as_str(), "CONSENT_REQUIRED");
        // Nobody who has said no is to be asked once more, or to be told how to agree.
        assert!(problem.hint.contains(says) && !problem.hint.contains("redress consent"), "{}", problem.hint);
        assert!(problem.details.as_ref().unwrap().get().contains(&format!(r#""answer":"{told}""#)));
    }
    assert_eq!(output(call(next(&one).answer(key.as_str(), agree(true))).await), "wiped");
    // It was for this call, and nothing of it is kept.
    assert_eq!(registry.call("disk.wipe", ada()).await.code(), Some("CONSENT_REQUIRED"));
    assert!(registry.consent().list(None).await.unwrap().is_empty());
    let no = "CONSENT_REQUIRED";
    assert_eq!(watch.codes(), ["asks", no, no, no, "ok", no]);
    let live = Request::default().with_caller(Caller::new("bob")).with_asker(Arc::new(Script::new([agree(true)])));
    assert!(registry.call("disk.wipe", live).await.is_ok());
}

#[tokio::test]
async fn one_call_can_neither_ask_nor_remember_without_bound() {
    let curious = Operation::dynamic(query("door.curious")).with_handler(|ctx, _| async move {
        let many: Vec<String> = (0..40).map(|number| format!("q{number}")).collect();
        ctx.ask_all(many.iter().map(|id| (id.as_str(), name_form()))).await?;
        Ok(json!(null))
    });
    let hoarding = Operation::dynamic(query("door.hoarding")).with_handler(|ctx, _| async move {
        ctx.remember("all", "x".repeat(70_000));
        ctx.ask("name", name_form()).await?;
        Ok(json!(null))
    });
    let registry = registry(Registry::builder().add(curious).add(hoarding));
    assert_eq!(code(registry.converse("door.hoarding", Request::default(), first()).await), "INTERNAL");
    let request = Request::default().with_asker(Arc::new(Script::new((0..40).map(|_| named("Ada")))));
    assert_eq!(registry.call("door.curious", request).await.code(), Some("INTERNAL"));
}

/// What a new member is asked.
#[data]
struct Member {
    name: String,
    age: u8,
    newsletter: Option<bool>,
}

/// Take a new member in.
#[operation(mutation, name = "club.join", access(anyone))]
async fn join(ctx: &Ctx) -> Outcome<String> {
    let answer = ctx.ask("member", Question::form("Who are you?", Form::of::<Member>())).await?;
    Ok(answer.read::<Member>().map_or("nobody".to_owned(), |member| format!("{}, {}", member.name, member.age)))
}

#[tokio::test]
async fn a_form_can_be_a_type_and_a_unit_test_answers_it() {
    let script = Script::new([
        Answer::Accepted(json!({"name": "Ada", "age": 300})),
        Answer::Accepted(json!({"name": "Ada", "age": 36})),
    ]);
    let ctx = TestCtx::new().asker(script).build();
    assert_eq!(join(&ctx).await.unwrap(), "Ada, 36");
    assert!(ctx.can_ask(QuestionKind::Url));
    assert!(!redress::testing::ctx().can_ask(QuestionKind::Url));
}

#[test]
fn a_form_says_what_each_field_takes() {
    let form = Form::new()
        .field("name", Field::text().titled("Name").described("Yours.").with_default("Ada"))
        .field("age", Field::integer().with("minimum", 0).with_default(36))
        .field("score", Field::number().optional())
        .field("agree", Field::boolean().with_default(true))
        .field("one", Field::choice(["a", "b"]))
        .field("one_titled", Field::titled_choice([("a", "A")]))
        .field("many", Field::choices(["a", "b"]).with_default(json!(["a"])))
        .field("many_titled", Field::titled_choices([("a", "A")]).optional());
    let expected = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "Yours.", "default": "Ada"},
            "age": {"type": "integer", "minimum": 0, "default": 36},
            "score": {"type": "number"},
            "agree": {"type": "boolean", "default": true},
            "one": {"type": "string", "enum": ["a", "b"]},
            "one_titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "default": ["a"]},
            "many_titled": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
        },
        "required": ["name", "age", "agree", "one", "one_titled", "many"],
    });
    assert_eq!(*form.schema(), expected);
    let question = Question::form("Fill this in.", form);
    let whole = json!({"name": "x", "age": 1, "agree": true, "one": "a", "one_titled": "a", "many": ["b"]});
    assert!(question.takes(&Answer::Accepted(whole.clone())));
    let mut wrong = whole;
    wrong["one_titled"] = json!("A");
    assert!(!question.takes(&Answer::Accepted(wrong)));
    let sample = Question::sample([PromptMessage::user(redress::Block::text("Hello."))], 10);
    assert!(!sample.takes(&Answer::Accepted(json!("hello"))) && sample.takes(&Answer::Declined));
}
