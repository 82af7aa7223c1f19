//! Guards: layers that may refuse, and what happens when they cannot tell.

use std::{future::Future, pin::Pin};

use redress::{
    Blocked, ContentGuard, Guard, GuardBroken, GuardedCall, Kind, Outcome, Registry, State, Veto, WhenBroken,
    contract::{self, FailureDeclaration},
    data, operation,
    testing::{CallAnswer, Harness, assert_failure, assert_ok},
};
use serde_json::{Value, json};

use crate::service::{Count, built, ends, failure, mutation};

type Verdict = Result<Option<Veto>, GuardBroken>;

/// A guard that always says the same.
struct Says {
    name: &'static str,
    verdict: fn() -> Verdict,
    when_broken: WhenBroken,
    asked: Count,
}

impl Says {
    fn new(verdict: fn() -> Verdict) -> Says {
        Says { name: "weather", verdict, when_broken: WhenBroken::default(), asked: Count::default() }
    }
}

impl Guard for Says {
    fn name(&self) -> &str {
        self.name
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        if self.name == "weather" { vec![failure("TOO_STORMY", Kind::Conflict)] } else { Vec::new() }
    }

    fn covers(&self, operation: &contract::OperationDeclaration) -> bool {
        operation.name().namespace() == "boat"
    }

    fn when_broken(&self) -> WhenBroken {
        self.when_broken
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        self.asked.up();
        Box::pin(async { (self.verdict)() })
    }
}

fn guarded(guard: Says) -> (Harness, Count) {
    let ran = Count::default();
    let counting = ran.clone();
    let sail = ends(mutation("boat.sail"), move || Ok(json!(counting.up())));
    let walk = ends(mutation("foot.walk"), || Ok(json!(1)));
    (built(Registry::builder().add(sail).add(walk).guard(guard)), ran)
}

async fn sail(guard: Says) -> (CallAnswer, usize) {
    let (harness, ran) = guarded(guard);
    (harness.call("boat.sail", json!({})).await, ran.get())
}

#[tokio::test]
async fn a_guard_refuses_with_its_own_declared_failure_and_the_handler_does_not_run() {
    let (answer, ran) = sail(Says::new(|| Ok(Some(Veto::new("TOO_STORMY", json!({"wind": 11})))))).await;
    let problem = assert_failure!(answer, TOO_STORMY);
    assert_eq!(answer.details(), json!({"wind": 11}));
    assert_eq!((ran, problem.effect), (0, redress::Effect::None));
}

#[tokio::test]
async fn a_guards_undeclared_veto_is_contained() {
    let (answer, ran) = sail(Says::new(|| Ok(Some(Veto::new("KRAKEN", json!({"seen": "hunter2"})))))).await;
    assert_failure!(answer, INTERNAL);
    assert_eq!((answer.details(), ran), (json!({"undeclared_code": "KRAKEN"}), 0));
}

#[tokio::test]
async fn a_guard_that_cannot_tell_refuses_unless_it_says_otherwise() {
    // Closed by default.
    let broken: [fn() -> Verdict; 2] = [|| Err(GuardBroken("hunter2".into())), || panic!("hunter2")];
    for verdict in broken {
        let (answer, ran) = sail(Says::new(verdict)).await;
        assert_failure!(answer, INTERNAL);
        assert!(!answer.json().to_string().contains("hunter2"));
        assert_eq!(ran, 0);
        let (answer, ran) = sail(Says { when_broken: WhenBroken::Allow, ..Says::new(verdict) }).await;
        assert_ok!(answer);
        assert_eq!(ran, 1);
    }
}

/// A guard that says nothing about what happens when it cannot tell.
struct Silent;

impl Guard for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        Vec::new()
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(async { Err(GuardBroken("it cannot tell".into())) })
    }
}

#[tokio::test]
async fn a_guard_that_does_not_say_fails_closed() {
    let sail = ends(mutation("boat.sail"), || Ok(json!(1)));
    let harness = built(Registry::builder().add(sail).guard(Silent));
    assert_failure!(harness.call("boat.sail", json!({})).await, INTERNAL);
}

#[tokio::test]
async fn a_guard_looks_only_at_what_it_covers() {
    let guard = Says::new(|| Ok(Some(Veto::new("TOO_STORMY", json!({})))));
    let asked = guard.asked.clone();
    let (harness, _) = guarded(guard);
    assert_ok!(harness.call("foot.walk", json!({})).await);
    assert_eq!(asked.get(), 0);
    assert_failure!(harness.call("boat.sail", json!({})).await, TOO_STORMY);
}

#[tokio::test]
async fn the_first_veto_wins_and_later_guards_are_not_asked() {
    let first = Says::new(|| Ok(Some(Veto::new("TOO_STORMY", json!({})))));
    let second = Says { name: "second", ..Says::new(|| panic!("asked")) };
    let asked = second.asked.clone();
    let sail = ends(mutation("boat.sail"), || Ok(json!(1)));
    let harness = built(Registry::builder().add(sail).guard(first).guard(second));
    assert_failure!(harness.call("boat.sail", json!({})).await, TOO_STORMY);
    assert_eq!(asked.get(), 0);
}

#[test]
fn a_layers_failures_are_in_the_contract_of_what_it_covers() {
    let (harness, _) = guarded(Says::new(|| Ok(None)));
    let contract = harness.registry().contract();
    let layers = |name: &str| -> Vec<_> {
        let failures = contract.operation(name).unwrap().failures();
        failures.iter().map(|failure| (failure.code().to_string(), failure.layer().map(str::to_owned))).collect()
    };
    assert_eq!(layers("boat.sail"), [("TOO_STORMY".to_owned(), Some("weather".to_owned()))]);
    assert_eq!(layers("foot.walk"), []);
}

/// Reads a toy language.
struct Toy;

impl ContentGuard for Toy {
    fn language(&self) -> &str {
        "toy"
    }

    fn check(&self, source: &str) -> Result<(), Blocked> {
        match source {
            "keyword" => Err(Blocked::Keyword("import".into())),
            "construct" => Err(Blocked::Construct("while (true)".into())),
            "unparsable" => Err(Blocked::Unparsable),
            "bomb" => panic!("hunter2"),
            _ => Ok(()),
        }
    }
}

#[tokio::test]
async fn the_content_guard_names_the_construct_and_a_hash_and_never_the_source() {
    // The hash finds the same source in a log without recording it.
    let declaration = mutation("code.run").with_eval("source", "toy").with_input(json!({
        "type": "object", "properties": {"source": {"type": "string"}}, "required": ["source"],
        "additionalProperties": false,
    }));
    let harness = built(Registry::builder().add(ends(declaration, || Ok(json!(1)))).content_guard(Toy));
    let run = async |source: &str| harness.call("code.run", json!({"source": source})).await;
    let keyword = run("keyword").await;
    assert_failure!(keyword, EVAL_BLOCKED_KEYWORD);
    assert_eq!(keyword.details()["keyword"], "import");
    let construct = run("construct").await;
    assert_failure!(construct, EVAL_BLOCKED_CONSTRUCT);
    assert_eq!(construct.details()["construct"], "while (true)");
    let unparsable = run("unparsable").await;
    assert_failure!(unparsable, EVAL_UNPARSABLE);
    assert_eq!(unparsable.details().as_object().unwrap().keys().collect::<Vec<_>>(), ["code_hash"]);
    for (answer, source) in [(&keyword, "\"keyword\":\"keyword"), (&construct, "construct\":\"construct")] {
        assert!(!answer.json().to_string().contains(source));
        assert_eq!(answer.details()["code_hash"].as_str().map(str::len), Some(8));
    }
    assert_ok!(run("fine").await);
    let bomb = run("bomb").await;
    assert_failure!(bomb, INTERNAL);
    assert_eq!(bomb.details(), Value::Null);
}

/// Code to be run, which its type would take by another name too.
#[data]
struct Run {
    #[serde(default, alias = "code")]
    source: String,
}

/// Run what is given.
#[operation(mutation, name = "code.typed", access(anyone), eval(source = "source", language = "toy"))]
async fn run_typed(State(ran): State<Count>, run: Run) -> Outcome<String> {
    ran.up();
    Ok(run.source)
}

#[tokio::test]
async fn code_under_an_alias_of_its_member_does_not_pass_the_guard_unseen() {
    let ran = Count::default();
    let harness = built(Registry::builder().state(ran.clone()).add(run_typed).content_guard(Toy));
    assert_failure!(harness.call("code.typed", json!({"source": "keyword"})).await, EVAL_BLOCKED_KEYWORD);
    for input in [json!({"code": "keyword"}), json!({"code": "fine"}), json!({"source": "fine", "code": "keyword"})] {
        assert_failure!(harness.call("code.typed", input).await, INVALID_INPUT);
    }
    assert_eq!(ran.get(), 0);
    assert_eq!(harness.call("code.typed", json!({"source": "fine"})).await.output::<String>(), "fine");
    assert_eq!(ran.get(), 1);
}

/// A guard that never comes to a verdict.
struct Hangs;

impl Guard for Hangs {
    fn name(&self) -> &str {
        "asleep"
    }

    fn failures(&self) -> Vec<FailureDeclaration> {
        Vec::new()
    }

    fn check<'a>(&'a self, _: &'a GuardedCall<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_hangs_costs_no_more_than_the_deadline() {
    let ran = Count::default();
    let counting = ran.clone();
    let sail = ends(mutation("boat.sail"), move || Ok(json!(counting.up())));
    let harness = built(Registry::builder().add(sail).guard(Hangs));
    let answer = harness.call("boat.sail", json!({})).await;
    let problem = assert_failure!(answer, TIMEOUT);
    // The handler had not started, so the call may be made again as it is.
    assert_eq!((ran.get(), problem.retry), (0, redress::Retry::Safe));
    assert!(answer.details()["deadline_ms"].as_u64() > Some(0), "{answer:?}");
}
