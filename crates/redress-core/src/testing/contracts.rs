//! What every operation promises by its declaration alone, tried through the real path.

use std::fmt;

use redress_contract::{Access, Caller, ExampleEnding, Name, OperationDeclaration, Shape};
use redress_input::InputShape;
use serde_json::{Map, Value, json};

use super::{BrokenExample, Examples, ExamplesReport, Harness, coverage::comes_with_redress};
use crate::Request;

/// Tries what every operation promises by its declaration alone, so that nobody has to write it for each: a valid call
/// ends as its example says, an invalid input is INVALID_INPUT before the handler runs, and who may not call is told
/// AUTH_REQUIRED or FORBIDDEN.
///
/// Valid calls are the declared examples, which [`Examples`] runs. Invalid ones are made from the schema: something that is
/// no input at all, each required member left out, a member that nobody declared. Callers are made from the access:
/// nobody, and whoever lacks one of the scopes. Operations that come with redress itself, such as `services.list`, are
/// tested there, and need no example here.
///
/// ```
/// use redress_core::testing::{Contracts, Harness};
/// use redress_core::{Operation, Registry};
/// use redress_core::contract::{self, Access, Caller, Example, ExampleEnding};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let double = contract::OperationDeclaration::query("math.double")
///     .with_summary("Double a number.")
///     .with_access(Access::caller().scope("math"))
///     .with_input(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
///     .with_example(Example { input: json!({"n": 4}), ending: ExampleEnding::Output(json!(8)) });
/// let double = Operation::dynamic(double)
///     .with_handler(|_, input: Value| async move { Ok(json!(input["n"].as_i64().unwrap_or(0) * 2)) });
/// let harness = Harness::new(Registry::builder().add(double).build().unwrap());
///
/// let report = Contracts::of(harness.as_caller(Caller::new("ada").scope("math"))).run().await;
/// report.assert_hold();
/// // The example, no input at all, no `n`, nobody, and somebody without the scope.
/// assert_eq!(report.held, 5);
/// # });
/// ```
#[must_use = "contracts do nothing until they are run"]
#[derive(Debug)]
pub struct Contracts<'a> {
    harness: Harness,
    examples: Examples<'a>,
    excused: Vec<String>,
}

/// What became of the promises.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ContractsReport {
    /// How many hold.
    pub held: usize,
    /// Those that do not.
    pub broken: Vec<BrokenPromise>,
    /// What became of the examples, which are counted above too.
    pub examples: ExamplesReport,
    /// Operations that declare no example of a good end, so that no valid call of them was made.
    pub without_example: Vec<Name>,
}

/// A promise of a declaration that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenPromise {
    /// The operation that makes it.
    pub operation: Name,
    /// What was tried.
    pub tried: String,
    /// How it ended, and how it should have.
    pub says: String,
}

impl<'a> Contracts<'a> {
    /// The operations that `harness` calls, valid calls by its caller.
    pub fn of(harness: Harness) -> Contracts<'a> {
        Contracts { examples: Examples::of(harness.clone()), harness, excused: Vec::new() }
    }

    /// Runs the examples of these instead: with a harness of its own for each, or with what varies left out.
    pub fn examples(mut self, examples: Examples<'a>) -> Contracts<'a> {
        self.examples = examples;
        self
    }

    /// Lets `operation` have no example of a good end.
    pub fn without_example(mut self, operation: &str) -> Contracts<'a> {
        self.excused.push(operation.to_owned());
        self
    }

    /// Tries them all.
    pub async fn run(self) -> ContractsReport {
        let Contracts { harness, examples, excused } = self;
        let mut report = ContractsReport { examples: examples.run().await, ..ContractsReport::default() };
        report.held = report.examples.held;
        for BrokenExample { operation, number, says } in &report.examples.broken {
            let (operation, tried) = (operation.clone(), format!("example {number}"));
            report.broken.push(BrokenPromise { operation, tried, says: says.clone() });
        }
        let declared: Vec<OperationDeclaration> = harness.registry().contract().operations().to_vec();
        for operation in declared.iter().filter(|operation| operation.is_external()) {
            let ends_well = |example: &redress_contract::Example| matches!(example.ending, ExampleEnding::Output(_));
            let is_excused = excused.iter().any(|name| *operation.name() == **name)
                || comes_with_redress(harness.registry(), operation.name());
            if !operation.examples().iter().any(ends_well) && !is_excused {
                report.without_example.push(operation.name().clone());
            }
            for (tried, caller, input, wanted) in trials(operation) {
                let called = match caller {
                    Some(caller) => harness.as_caller(caller),
                    None => harness.anonymous(),
                };
                let found = ending(&called, operation, &input).await;
                if found == wanted {
                    report.held += 1;
                } else {
                    let says = format!("the call ends with {found}, and should with {wanted}");
                    report.broken.push(BrokenPromise { operation: operation.name().clone(), tried, says });
                }
            }
        }
        report
    }
}

type ContractTrial = (String, Option<Caller>, Value, &'static str);

fn trials(operation: &OperationDeclaration) -> Vec<ContractTrial> {
    let access = operation.access();
    let admitted = admitted(access);
    let mut trials: Vec<ContractTrial> = Vec::new();
    for (tried, input) in invalid(operation) {
        trials.push((tried, admitted.clone(), input, "INVALID_INPUT"));
    }
    if admitted.is_none() {
        return trials;
    }
    // Who may not call is told so before the input is looked at, so that any will do.
    trials.push(("a call by nobody".to_owned(), None, json!({}), "AUTH_REQUIRED"));
    for missing in access.all_scopes() {
        let others = access.all_scopes().iter().filter(|scope| *scope != missing).chain(access.any_scopes().first());
        let caller = Caller::new("contract").scopes(others.cloned());
        trials.push((format!("a call without the scope `{missing}`"), Some(caller), json!({}), "FORBIDDEN"));
    }
    if !access.any_scopes().is_empty() {
        let caller = Caller::new("contract").scopes(access.all_scopes().iter().cloned());
        let tried = format!("a call without one of the scopes `{}`", access.any_scopes().join("`, `"));
        trials.push((tried, Some(caller), json!({}), "FORBIDDEN"));
    }
    trials
}

/// A caller with just enough scopes; nobody, where nobody is enough.
fn admitted(access: &Access) -> Option<Caller> {
    if access.admit(None).is_ok() {
        return None;
    }
    let scopes = access.all_scopes().iter().chain(access.any_scopes().first());
    Some(Caller::new("contract").scopes(scopes.cloned()))
}

/// Inputs that break the schema, each with what is wrong in it. Consent comes before the input, so that what asks for it
/// has none.
fn invalid(operation: &OperationDeclaration) -> Vec<(String, Value)> {
    let Ok(shape) = InputShape::dynamic(operation.input().as_value().clone()) else { return Vec::new() };
    if operation.access().needs_consent() {
        return Vec::new();
    }
    let mut inputs = Vec::new();
    if let Some(value) = [json!("no input"), json!(7), json!([1])].into_iter().find(|value| !shape.is_valid(value)) {
        inputs.push((format!("the input {value}"), value));
    }
    // A valid input is what an example has; without one, members are left out of nothing.
    let valid = operation.examples().iter().find_map(|example| example.input.as_object().cloned()).unwrap_or_default();
    for required in operation.input().required() {
        let mut input: Map<String, Value> = valid.clone();
        input.remove(required);
        inputs.push((format!("an input without `{required}`"), Value::Object(input)));
    }
    if operation.input().is_closed() && !operation.examples().is_empty() {
        let mut input = valid;
        input.insert("not_declared_by_anybody".to_owned(), json!(true));
        inputs.push(("an input with a member that is not declared".to_owned(), Value::Object(input)));
    }
    inputs.retain(|(_, input)| !shape.is_valid(input));
    inputs
}

async fn ending(harness: &Harness, operation: &OperationDeclaration, input: &Value) -> String {
    let (name, request) = (operation.name().as_str(), Request::new(input.to_string().into_bytes()));
    let envelope = match operation.shape() {
        Shape::Query | Shape::Mutation => harness.send(name, request).await.envelope().code().map(str::to_owned),
        Shape::Subscription => match harness.open(name, request).await {
            Ok(_) => None,
            Err(envelope) => envelope.code().map(str::to_owned),
        },
    };
    envelope.unwrap_or_else(|| "an output".to_owned())
}

impl ContractsReport {
    /// Asserts that something was tried, that every promise holds, and that every operation has an example of a good end.
    ///
    /// # Panics
    ///
    /// When one of the three is not so.
    #[track_caller]
    pub fn assert_hold(&self) {
        assert!(self.held + self.broken.len() > 0, "nothing was tried, so nothing could break");
        assert!(self.broken.is_empty() && self.without_example.is_empty(), "{self}");
    }
}

impl fmt::Display for ContractsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} promises hold, {} do not", self.held, self.broken.len())?;
        self.broken.iter().try_for_each(|broken| write!(f, "\n  {broken}"))?;
        for name in &self.without_example {
            write!(f, "\n  {name} has no example of a good end: add `example(input = …, output = …)`")?;
        }
        Ok(())
    }
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.operation, self.tried, self.says)
    }
}
