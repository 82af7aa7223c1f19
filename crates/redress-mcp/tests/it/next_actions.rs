//! Every next action can be made: random registries, callers and profiles, by the call path and by the MCP face.

use std::{
    collections::BTreeSet,
    io::{Cursor, Write},
    sync::{Arc, Mutex},
};

use futures_util::stream;
use redress_core::{
    DynamicFailure, Events, Fail, Operation, Registry, Request,
    contract::{
        self, Access, Caller, Effect, Envelope, FailureDeclaration, Kind, Problem, Recovery, RecoveryStep, Retry,
        Shape, Verification,
    },
};
use redress_mcp::{Mcp, McpOptions, Profile, RequestContext};
use serde_json::{Value, json};

/// How many registries are made.
const WORLDS: u64 = 24;
/// How many operations each has.
const OPERATIONS: usize = 7;
const CODE: &str = "IT_FAILED";
/// What the server may not answer to a next action.
const REFUSED: [&str; 5] = ["NOT_FOUND", "AUTH_REQUIRED", "FORBIDDEN", "INVALID_INPUT", "INVALID_OPERATION_TYPE"];
const SCOPES: [&str; 2] = ["lab:read", "lab:write"];

/// Numbers that are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

fn name(place: usize) -> String {
    format!("lab.op{place}")
}

/// The inputs that there are: each fits some operations and not others.
fn inputs() -> Vec<Value> {
    vec![
        json!({}),
        json!({"name": "ab"}),
        json!({"name": "abcdef"}),
        json!({"size": 5}),
        json!({"size": -1}),
        json!({"name": "ab", "size": 5}),
        json!({"other": 1}),
        json!([]),
    ]
}

fn schemas() -> Vec<Value> {
    let object = |properties: Value, required: Value, more: Value| {
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let closed = || json!({"additionalProperties": false});
    vec![
        object(json!({}), json!([]), closed()),
        object(json!({"name": {"type": "string"}}), json!(["name"]), closed()),
        object(json!({"name": {"type": "string", "maxLength": 3}}), json!(["name"]), closed()),
        object(json!({"size": {"type": "integer", "minimum": 0}}), json!(["size"]), json!({})),
        object(
            json!({"name": {"type": "string"}, "size": {"type": "integer"}}),
            json!([]),
            json!({"minProperties": 2}),
        ),
        object(json!({}), json!([]), json!({})),
    ]
}

/// A registry, and what is known of it.
struct World {
    registry: Registry,
    /// What the call site of each operation adds.
    added: Vec<Vec<(String, Value)>>,
}

fn access(dice: &mut Dice) -> Access {
    match dice.below(5) {
        0 | 1 => Access::anyone(),
        2 => Access::caller(),
        3 => Access::caller().scope(SCOPES[0]),
        _ => Access::caller().any_scope(SCOPES[0]).any_scope(SCOPES[1]),
    }
}

fn declared(place: usize, dice: &mut Dice) -> contract::OperationDeclaration {
    let shape = match dice.below(6) {
        0 => Shape::Subscription,
        1 | 2 => Shape::Mutation,
        _ => Shape::Query,
    };
    let operation = contract::OperationDeclaration::new(&name(place), shape)
        .with_summary("One of a random registry.")
        .with_alias(&format!("lab.alias{place}"))
        .with_access(access(dice))
        .with_input(dice.pick(&schemas()).clone())
        .with_output(json!({"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]}));
    match dice.below(8) {
        0 => operation.internal(),
        // A prompt gives messages and takes texts, and is no tool.
        1 if shape == Shape::Query => operation.prompt().with_messages().with_input(schemas().remove(1)),
        _ => operation,
    }
}

/// What helps with a failure of `operation`: to call a later one, or of a mutation to look by it whether it took place,
/// where the registry lets it.
fn recovery(
    operation: &contract::OperationDeclaration,
    later: &[contract::OperationDeclaration],
    dice: &mut Dice,
) -> Recovery {
    let may = |target: &&contract::OperationDeclaration| {
        target.shape() != Shape::Subscription
            && (target.is_external() || !operation.is_external())
            && operation.access().implies(target.access())
    };
    let targets: Vec<&contract::OperationDeclaration> = later.iter().filter(may).collect();
    let hint = "Look elsewhere first and then come again.";
    if targets.is_empty() || dice.one_in(5) {
        return Recovery::stop(hint);
    }
    let target = *dice.pick(&targets);
    let called = if dice.one_in(3) { &target.aliases()[0] } else { target.name() };
    let bound = target.input().properties().map(str::to_owned).collect::<Vec<_>>();
    if operation.shape() == Shape::Mutation && target.shape() == Shape::Query && !is_prompt(target) {
        let verification = Verification::new(called.as_str(), "/done", hint).is(true);
        return bound.iter().fold(verification, |verification, member| verification.bind(member, member)).into();
    }
    bound.into_iter().fold(Recovery::call(called.as_str(), hint), |recovery, member| {
        let from = member.clone();
        recovery.bind(member, from)
    })
}

fn is_prompt(operation: &contract::OperationDeclaration) -> bool {
    *operation.role() != contract::Role::Plain
}

/// Whether a failure of it leaves open what took place.
fn is_unsure(operation: &contract::OperationDeclaration, recovery: &Recovery) -> bool {
    operation.shape() == Shape::Mutation && matches!(recovery.verb(), contract::Verb::Verify { .. })
}

impl World {
    fn new(seed: u64) -> World {
        let dice = &mut Dice(seed);
        let mut declarations: Vec<_> = (0..OPERATIONS).map(|place| declared(place, dice)).collect();
        let details = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["name", "size"],
        });
        for place in 0..OPERATIONS {
            let recovery = recovery(&declarations[place], &declarations[place + 1..], dice);
            let effect = if is_unsure(&declarations[place], &recovery) { Effect::Unknown } else { Effect::None };
            let failure = FailureDeclaration::new(CODE, Kind::Conflict)
                .with_when("Every time.")
                .with_effect(effect)
                .with_details(details.clone())
                .with_recovery(recovery);
            declarations[place] = declarations[place].clone().fails(failure);
        }
        let mut names: Vec<String> = (0..OPERATIONS).map(name).collect();
        names.extend(["lab.alias1".to_owned(), "lab.none".to_owned(), "no name".to_owned()]);
        let mut added = Vec::new();
        let mut builder = Registry::builder();
        for declaration in declarations {
            let (name, size) = (*dice.pick(&["ab", "abcdef"]), *dice.pick(&[5, -1]));
            let next: Vec<(String, Value)> = (0..[0, 0, 2, 4][dice.below(4)])
                .map(|_| (dice.pick(&names).clone(), dice.pick(&inputs()).clone()))
                .collect();
            added.push(next.clone());
            let failed = move || {
                let failure = Fail::from(DynamicFailure::new(CODE, json!({"name": name, "size": size})));
                next.iter().fold(failure, |failure, (name, input)| failure.with_next_action(name, input, "it may help"))
            };
            builder = builder.add(match declaration.shape() {
                Shape::Subscription => Operation::dynamic(declaration)
                    .with_stream_handler(|_, _| async { Ok(Events::new(stream::empty())) }),
                Shape::Query | Shape::Mutation => Operation::dynamic(declaration).with_handler(move |_, _| {
                    let failed = failed();
                    async move { Err(failed) }
                }),
            });
        }
        let registry = builder.build().unwrap_or_else(|error| panic!("world {seed}: {error}"));
        if dice.one_in(2) {
            registry.changes().hide(&name(dice.below(OPERATIONS)));
        }
        World { registry, added }
    }

    async fn call(&self, name: &str, input: &Value, caller: Option<&Caller>) -> Envelope {
        let request = Request::new(input.to_string().into_bytes());
        let request = match caller {
            Some(caller) => request.with_caller(caller.clone()),
            None => request,
        };
        self.registry.call(name, request).await
    }

    /// An input with which the operation comes to its failure, if this caller can call it.
    async fn fails(&self, name: &str, caller: Option<&Caller>) -> Option<(Value, Problem)> {
        for input in inputs() {
            let envelope = self.call(name, &input, caller).await;
            if envelope.code() == Some(CODE) {
                return Some((input, *envelope.into_problem()?));
            }
        }
        None
    }
}

fn callers() -> Vec<Option<Caller>> {
    let ada = Caller::new("ada");
    vec![
        None,
        Some(ada.clone()),
        Some(ada.clone().scope(SCOPES[0])),
        Some(ada.clone().scope(SCOPES[1])),
        Some(Caller::local()),
    ]
}

fn is_accepted(code: Option<&str>) -> bool {
    code.is_none_or(|code| !REFUSED.contains(&code))
}

#[tokio::test]
async fn every_next_action_is_accepted_and_none_is_left_out_that_would_be() {
    let (mut kept, mut declared, mut left_out, mut turned, mut verified) = (0, 0, 0, 0, 0);
    for seed in 0..WORLDS {
        let world = World::new(seed);
        for (caller, place) in callers().iter().flat_map(|caller| (0..OPERATIONS).map(move |place| (caller, place))) {
            let caller = caller.as_ref();
            let Some((_, problem)) = world.fails(&name(place), caller).await else { continue };
            let about = format!("world {seed}, {caller:?}, {}", name(place));
            let mut expected = Vec::new();
            for (target, input) in &world.added[place] {
                match world.call(target, input, caller).await.code() {
                    code if is_accepted(code) => expected.push((target.clone(), input.clone())),
                    _ => left_out += 1,
                }
            }
            let told: Vec<(String, Value)> = problem
                .next_actions
                .iter()
                .map(|action| (action.operation.to_string(), serde_json::from_str(action.input.get()).unwrap()))
                .collect();
            if expected.is_empty() {
                // What is declared stays, if it can be made.
                for (target, input) in &told {
                    assert!(is_accepted(world.call(target, input, caller).await.code()), "{about}: {target} {input}");
                }
                declared += told.len();
            } else {
                assert_eq!(told, expected, "{about}");
                kept += told.len();
            }
            let step = problem.recovery.as_ref().unwrap();
            // To look first is advised with the query that shows it, or not at all.
            let looks = matches!(step, RecoveryStep::Verify { .. });
            assert_eq!(problem.retry == Retry::AfterVerify, looks, "{about}: {problem:?}");
            verified += usize::from(looks);
            if let Some(target) = step.target() {
                let envelope = world.call(target.as_str(), &json!({}), caller).await;
                let code = envelope.code().filter(|code| *code != "INVALID_INPUT");
                assert!(is_accepted(code), "{about}: {target} answers {code:?}");
            } else if *step == RecoveryStep::AskUser {
                turned += 1;
            } else {
                assert_eq!(*step, RecoveryStep::Stop, "{about}");
            }
        }
    }
    // The worlds have something of everything.
    let enough = kept > 50 && declared > 50 && left_out > 200 && turned > 0 && verified > 20;
    assert!(enough, "{kept} {declared} {left_out} {turned} {verified}");
}

/// What the face writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The answers to these requests, in their order.
async fn ask(face: &Mcp, caller: Option<&Caller>, requests: &[(&str, Value)]) -> Vec<Value> {
    let line = |(id, (method, params)): (usize, &(&str, Value))| {
        format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let input: String = requests.iter().enumerate().map(line).collect();
    let written = Written::default();
    let asking = RequestContext { caller: caller.cloned().map(Arc::new), ..RequestContext::default() };
    face.stdio(Cursor::new(input.into_bytes()), written.clone(), asking).await.unwrap();
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    let mut answers: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), requests.len());
    answers
}

fn tool(name: &str, arguments: &Value) -> (&'static str, Value) {
    ("tools/call", json!({"name": name, "arguments": arguments}))
}

/// The code of the failure that a tool call ended with; of a tool that does not exist, NOT_FOUND.
fn code(answer: &Value) -> Option<&str> {
    if answer.get("error").is_some() {
        return Some("NOT_FOUND");
    }
    answer["result"]["_meta"]["dev.redress/error"]["code"].as_str()
}

/// Asserts that a list of tools sends nobody to a tool that is not in it, and says how often it sends somebody.
fn sends_to_its_own(listed: &Value, about: &str) -> usize {
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: BTreeSet<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let mut sends = 0;
    for tool in tools {
        let called = tool["description"].as_str().unwrap().split("(call ").skip(1);
        for target in called.map(|rest| rest.split([')', ',']).next().unwrap()) {
            assert!(names.contains(target), "{about}: {} sends to {target}", tool["name"]);
            sends += 1;
        }
        for failure in tool["_meta"]["dev.redress/failures"].as_array().unwrap() {
            if let Some(target) = failure["recovery"]["operation"].as_str() {
                let target = target.replace("alias", "op").replace('.', "_");
                assert!(names.contains(target.as_str()), "{about}: the failures of {} name {target}", tool["name"]);
            }
        }
    }
    sends
}

/// Asserts that what a model reads of every failure names tools of its list, and their arguments.
fn assert_told_by_tools(answers: &[Value], about: &str) {
    let tools = answers[0]["result"]["tools"].as_array().unwrap();
    let names: BTreeSet<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for answer in &answers[1..] {
        let Some(text) =
            answer["result"]["content"][0]["text"].as_str().filter(|_| answer["result"]["isError"] == true)
        else {
            continue;
        };
        let told: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
        let next = &answer["result"]["_meta"]["dev.redress/error"]["next_actions"];
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        assert_eq!(count(&told["next_actions"]), count(next), "{about}: {text}");
        for action in told["next_actions"].as_array().into_iter().flatten() {
            assert!(names.contains(action["tool"].as_str().unwrap()), "{about}: {text}");
            assert!(action["arguments"].is_object() || action["arguments"].is_array(), "{about}: {text}");
            assert_eq!((action.get("operation"), action.get("input")), (None, None), "{about}: {text}");
        }
    }
}

#[tokio::test]
async fn every_next_action_of_a_profile_is_one_of_its_tools_and_is_accepted() {
    let (mut followed, mut sent, mut turned) = (0, 0, 0);
    for seed in 0..WORLDS {
        let world = World::new(seed);
        let dice = &mut Dice(seed ^ 0xabcd);
        let external = world.registry.contract().operations().iter().filter(|operation| operation.is_external());
        let external: Vec<String> = external.map(|operation| operation.name().to_string()).collect();
        for whole in [true, false] {
            let held: Vec<String> = external.iter().filter(|_| !dice.one_in(3)).cloned().collect();
            let mut options = McpOptions::default();
            options.profile = (!whole && !held.is_empty()).then(|| Profile::new("some", held));
            let face = Mcp::new(world.registry.clone(), options).unwrap();
            for caller in callers() {
                let caller = caller.as_ref();
                let about = format!("world {seed}, {caller:?}, whole: {whole}");
                let every = (0..OPERATIONS).flat_map(|place| inputs().into_iter().map(move |input| (place, input)));
                let calls = every.map(|(place, input)| tool(&name(place).replace('.', "_"), &input));
                let requests: Vec<_> = [("tools/list", json!({}))].into_iter().chain(calls).collect();
                let answers = ask(&face, caller, &requests).await;
                sent += sends_to_its_own(&answers[0], &about);
                let envelopes: Vec<&Value> = answers[1..]
                    .iter()
                    .map(|answer| &answer["result"]["_meta"]["dev.redress/error"])
                    .filter(|envelope| envelope["code"] == CODE)
                    .collect();
                assert_told_by_tools(&answers, &about);
                let next =
                    envelopes.iter().flat_map(|envelope| envelope["next_actions"].as_array().into_iter().flatten());
                let next: Vec<_> =
                    next.map(|action| tool(action["operation"].as_str().unwrap(), &action["input"])).collect();
                let recoveries = envelopes.iter().map(|envelope| &envelope["recovery"]);
                turned += recoveries.clone().filter(|recovery| recovery["verb"] == "ask_user").count();
                let named: Vec<_> = recoveries.filter_map(|recovery| recovery["operation"].as_str()).collect();
                let named: Vec<_> = named.into_iter().map(|name| tool(name, &json!({}))).collect();
                for (request, answer) in next.iter().zip(ask(&face, caller, &next).await) {
                    assert!(is_accepted(code(&answer)), "{about}: {request:?} is answered with {answer}");
                    followed += 1;
                }
                for (request, answer) in named.iter().zip(ask(&face, caller, &named).await) {
                    let code = code(&answer).filter(|code| *code != "INVALID_INPUT");
                    assert!(is_accepted(code), "{about}: {request:?} is answered with {answer}");
                }
            }
        }
    }
    assert!(followed > 200 && sent > 50 && turned > 20, "{followed} {sent} {turned}");
}
