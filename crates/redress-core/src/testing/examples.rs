//! The declared examples of a registry, run through the real path.

use std::{fmt, time::Duration};

use futures_util::StreamExt as _;
use redress_contract::{Envelope, Example, ExampleEnding, Name, OperationDeclaration, Shape};
use serde_json::Value;

use super::Harness;
use crate::{Event, Request};

/// How long a stream is read for the failure that its example names.
const STREAM_TIME: Duration = Duration::from_secs(10);

/// Runs every declared example of every operation through the whole call path, and says which do not hold.
///
/// An example with an output holds when the call ends well and the answer shows all that the example shows: an object
/// may have more members than the example names, everything else is equal. An example with a failure holds when the call
/// ends with that code. Of a subscription, the output is its first item.
///
/// ```
/// use redress_core::testing::{Examples, Harness};
/// use redress_core::{Operation, Registry};
/// use redress_core::contract::{self, Caller, Example, ExampleEnding};
/// use serde_json::{Value, json};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let double = contract::OperationDeclaration::query("math.double")
///     .with_summary("Double a number.")
///     .with_input(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
///     .with_example(Example { input: json!({"n": 4}), ending: ExampleEnding::Output(json!(8)) })
///     .with_example(Example { input: json!({"n": 5}), ending: ExampleEnding::Output(json!(11)) });
/// let double = Operation::dynamic(double)
///     .with_handler(|_, input: Value| async move { Ok(json!(input["n"].as_i64().unwrap_or(0) * 2)) });
/// let harness = Harness::new(Registry::builder().add(double).build().unwrap()).as_caller(Caller::new("ada"));
///
/// let report = Examples::of(harness).run().await;
/// assert_eq!((report.held, report.broken.len()), (1, 1));
/// assert_eq!(report.broken[0].to_string(), "math.double, example 2: the answer is 10, and the example says 11");
/// # });
/// ```
#[must_use = "examples do nothing until they are run"]
pub struct Examples<'a> {
    harness: Harness,
    /// What makes the harness of the next example, where each has one of its own.
    afresh: Option<Afresh<'a>>,
    varying: Vec<(String, String)>,
}

/// What makes the harness of an example.
type Afresh<'a> = Box<dyn FnMut(&OperationDeclaration, &Example) -> Harness + 'a>;

/// What became of the examples.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExamplesReport {
    /// How many hold.
    pub held: usize,
    /// Those that do not hold.
    pub broken: Vec<BrokenExample>,
    /// Operations whose examples were not run, since nobody outside can call them.
    pub internal: Vec<Name>,
}

/// An example that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenExample {
    /// The operation that declares it.
    pub operation: Name,
    /// Which of its examples it is, counted from one.
    pub number: usize,
    /// What is otherwise than it says.
    pub says: String,
}

impl<'a> Examples<'a> {
    /// The examples of the operations that `harness` calls, run one after the other in the order in which they are
    /// declared. What a mutation has changed, the next example finds changed.
    pub fn of(harness: Harness) -> Examples<'a> {
        Examples { harness, afresh: None, varying: Vec::new() }
    }

    /// Runs each example on the harness that `make` gives for it: with what the example finds there, called by whom it
    /// is about.
    pub fn afresh(mut self, make: impl FnMut(&OperationDeclaration, &Example) -> Harness + 'a) -> Examples<'a> {
        self.afresh = Some(Box::new(make));
        self
    }

    /// Does not compare what is at `pointer` in the outputs of `operation`: it is another value each time, such as an id
    /// or the time of day. It has to be there all the same.
    pub fn varying(mut self, operation: &str, pointer: &str) -> Examples<'a> {
        self.varying.push((operation.to_owned(), pointer.to_owned()));
        self
    }

    /// Runs them all.
    pub async fn run(mut self) -> ExamplesReport {
        let mut report = ExamplesReport::default();
        let declared: Vec<OperationDeclaration> = self.harness.registry().contract().operations().to_vec();
        for operation in declared.iter().filter(|operation| !operation.examples().is_empty()) {
            if !operation.is_external() {
                report.internal.push(operation.name().clone());
                continue;
            }
            for (place, example) in operation.examples().iter().enumerate() {
                if let Some(make) = &mut self.afresh {
                    self.harness = make(operation, example);
                }
                match self.hold(operation, example).await {
                    Ok(()) => report.held += 1,
                    Err(says) => {
                        report.broken.push(BrokenExample {
                            operation: operation.name().clone(),
                            number: place + 1,
                            says,
                        });
                    }
                }
            }
        }
        report
    }

    /// Runs one, and says what is otherwise than it says.
    async fn hold(&self, operation: &OperationDeclaration, example: &Example) -> Result<(), String> {
        let name = operation.name().as_str();
        let request = Request::new(example.input.to_string().into_bytes());
        let ended = match operation.shape() {
            Shape::Query | Shape::Mutation => outcome(self.harness.send(name, request).await.envelope()),
            Shape::Subscription => self.first(name, request, &example.ending).await,
        };
        match (&example.ending, ended) {
            (ExampleEnding::Output(expected), Ok(found)) => {
                let varying: Vec<&str> =
                    self.varying.iter().filter(|(of, _)| of == name).map(|(_, pointer)| pointer.as_str()).collect();
                shows(expected, &found, &mut String::new(), &varying)
            }
            (ExampleEnding::Failure(expected), Err(found)) if *expected == found => Ok(()),
            (ExampleEnding::Output(_), Err(found)) => {
                Err(format!("the call ends with {found}, and the example with an output"))
            }
            (ExampleEnding::Failure(expected), Err(found)) => {
                Err(format!("the call ends with {found}, and the example with {expected}"))
            }
            (ExampleEnding::Failure(expected), Ok(_)) => {
                Err(format!("the call ends well, and the example with {expected}"))
            }
        }
    }

    /// The first item of a stream, or the code that it ends with.
    async fn first(&self, name: &str, request: Request<'_>, ending: &ExampleEnding) -> Result<Value, String> {
        let mut stream = match self.harness.open(name, request.with_deadline(STREAM_TIME)).await {
            Ok(stream) => stream,
            Err(envelope) => return outcome(&envelope),
        };
        let mut first = None;
        while let Some(event) = stream.next().await {
            match event {
                Event::Item(output) => {
                    let item: Value = serde_json::from_slice(output.json()).unwrap_or_default();
                    let item = first.get_or_insert(item);
                    if matches!(ending, ExampleEnding::Output(_)) {
                        return Ok(item.take());
                    }
                }
                Event::Completed(_) => break,
                Event::Failed(envelope) => return outcome(&envelope),
            }
        }
        first.ok_or_else(|| "no item at all".to_owned())
    }
}

fn outcome(envelope: &Envelope) -> Result<Value, String> {
    match envelope.output() {
        Some(output) => Ok(serde_json::from_slice(output).unwrap_or_default()),
        None => Err(envelope.code().unwrap_or("no code").to_owned()),
    }
}

/// Whether `found` shows all that `expected` shows.
fn shows(expected: &Value, found: &Value, pointer: &mut String, varying: &[&str]) -> Result<(), String> {
    if varying.contains(&pointer.as_str()) {
        return Ok(());
    }
    let length = pointer.len();
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, expected) in expected {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                let Some(found) = found.get(name) else {
                    return Err(format!("the answer has nothing at `{pointer}`"));
                };
                shows(expected, found, pointer, varying)?;
                pointer.truncate(length);
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (place, (expected, found)) in expected.iter().zip(found).enumerate() {
                pointer.push_str(&format!("/{place}"));
                shows(expected, found, pointer, varying)?;
                pointer.truncate(length);
            }
            Ok(())
        }
        (expected, found) if expected == found => Ok(()),
        (expected, found) if pointer.is_empty() => {
            Err(format!("the answer is {found}, and the example says {expected}"))
        }
        (expected, found) => Err(format!("the answer has {found} at `{pointer}`, and the example says {expected}")),
    }
}

impl ExamplesReport {
    /// Asserts that examples were run, and that every one of them holds.
    ///
    /// # Panics
    ///
    /// When one of the two is not so.
    #[track_caller]
    pub fn assert_hold(&self) {
        assert!(self.held + self.broken.len() > 0, "no example was run, so none could break");
        assert!(self.broken.is_empty(), "{self}");
    }
}

impl fmt::Display for ExamplesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} examples hold, {} do not", self.held, self.broken.len())?;
        self.broken.iter().try_for_each(|broken| write!(f, "\n  {broken}"))
    }
}

impl fmt::Display for BrokenExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, example {}: {}", self.operation, self.number, self.says)
    }
}

impl fmt::Debug for Examples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Examples").field("harness", &self.harness).finish_non_exhaustive()
    }
}
