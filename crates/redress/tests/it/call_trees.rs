//! Random trees of calls: nothing restricted is reached except through its gate, whoever calls and whatever is called
//! below. The gates are judged here by a table of their own, and not by what the call path uses.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use redress::{Access, Caller, Ctx, Operation, Outcome, Registry, Request, contract};
use serde_json::{Value, json};

use crate::service::query;

/// How many registries are made.
const WORLDS: u64 = 160;
/// How many operations each has.
const OPERATIONS: usize = 7;
const SCOPES: [&str; 2] = ["lab:read", "lab:write"];

type Scopes = BTreeSet<&'static str>;

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

    fn scopes(&mut self) -> Scopes {
        SCOPES.into_iter().filter(|_| self.one_in(2)).collect()
    }
}

/// Whom an operation lets in.
#[derive(Clone, Debug)]
enum Gate {
    Anyone,
    /// Whoever has all of these, and be there none.
    All(Scopes),
    /// Whoever has one of them.
    Any,
}

impl Gate {
    fn cast(dice: &mut Dice) -> Gate {
        match dice.below(4) {
            0 => Gate::Anyone,
            1 | 2 => Gate::All(dice.scopes()),
            _ => Gate::Any,
        }
    }

    fn opens(&self, who: Option<&Scopes>) -> bool {
        match (self, who) {
            (Gate::Anyone, _) => true,
            (Gate::All(_) | Gate::Any, None) => false,
            (Gate::All(scopes), Some(who)) => scopes.is_subset(who),
            (Gate::Any, Some(who)) => !who.is_empty(),
        }
    }

    fn access(&self) -> Access {
        match self {
            Gate::Anyone => Access::anyone(),
            Gate::All(scopes) => scopes.iter().fold(Access::caller(), |access, scope| access.scope(*scope)),
            Gate::Any => SCOPES.into_iter().fold(Access::caller(), Access::any_scope),
        }
    }
}

/// As whom an operation calls others.
#[derive(Clone, Debug)]
enum Authority {
    Own(Scopes),
    Callers,
}

/// What one operation declares.
#[derive(Clone, Debug)]
struct Plan {
    gate: Gate,
    internal: bool,
    hidden: bool,
    authority: Authority,
    calls: BTreeSet<usize>,
}

/// Everybody whom a gate can tell apart.
fn everybody() -> Vec<Option<Scopes>> {
    let some = [&SCOPES[..0], &SCOPES[..1], &SCOPES[1..], &SCOPES[..]];
    let some = some.into_iter().map(|scopes| Some(scopes.iter().copied().collect()));
    [None].into_iter().chain(some).collect()
}

fn plans(dice: &mut Dice) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (0..OPERATIONS)
        .map(|place| {
            // Only later ones, so that every tree ends.
            let calls: BTreeSet<usize> = (place + 1..OPERATIONS).filter(|_| dice.one_in(3)).collect();
            let own = calls.is_empty() || dice.one_in(2);
            let authority = if own { Authority::Own(dice.scopes()) } else { Authority::Callers };
            Plan { gate: Gate::cast(dice), internal: dice.one_in(4), hidden: dice.one_in(8), authority, calls }
        })
        .collect();
    // Half of the worlds declare only what is sound, so that there are trees to walk.
    if dice.one_in(2) {
        for place in 0..OPERATIONS {
            let plan = &plans[place];
            let sound = plan.calls.iter().copied().filter(|target| is_sound(plan, &plans[*target])).collect();
            plans[place].calls = sound;
        }
    }
    for plan in &mut plans {
        if plan.calls.is_empty() {
            plan.authority = Authority::Own(Scopes::new());
        }
    }
    plans
}

/// Whether whoever is let in by `plan` has what `target` asks for, when `plan` calls it.
fn is_sound(plan: &Plan, target: &Plan) -> bool {
    match &plan.authority {
        Authority::Own(scopes) => target.gate.opens(Some(scopes)),
        Authority::Callers => {
            everybody().iter().all(|who| !plan.gate.opens(who.as_ref()) || target.gate.opens(who.as_ref()))
        }
    }
}

fn name(place: usize) -> String {
    format!("lab.op{place}")
}

fn alias(place: usize) -> String {
    format!("lab.alias{place}")
}

/// That a handler ran: which, below which call, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    place: usize,
    parent: Option<String>,
    caller: Option<String>,
    scopes: Scopes,
}

/// What ran, by the ids of the requests.
type Runs = Arc<Mutex<BTreeMap<String, Run>>>;

fn declared(place: usize, plan: &Plan) -> contract::OperationDeclaration {
    let mut operation = query(&name(place)).with_alias(&alias(place)).with_access(plan.gate.access());
    if plan.internal {
        operation = operation.internal();
    }
    for target in &plan.calls {
        operation = operation.with_call(&if target % 2 == 0 { name(*target) } else { alias(*target) });
    }
    match &plan.authority {
        Authority::Own(scopes) => scopes.iter().fold(operation, |operation, scope| operation.with_authority(scope)),
        Authority::Callers => operation.with_callers_authority(),
    }
}

/// Notes that it ran, and tries to call everything that there is, by each of its names.
async fn climb(ctx: Ctx, place: usize, runs: Runs) -> Outcome<Value, redress::DynamicFailure> {
    let scopes = |caller: &Caller| SCOPES.into_iter().filter(|scope| caller.has(scope)).collect();
    let run = Run {
        place,
        parent: ctx.parent_request_id().map(ToString::to_string),
        caller: ctx.caller().map(|caller| caller.id().to_owned()),
        scopes: ctx.caller().map(scopes).unwrap_or_default(),
    };
    runs.lock().unwrap().insert(ctx.request_id().to_string(), run);
    for target in (0..OPERATIONS).filter(|target| *target != place) {
        for called in [name(target), alias(target)] {
            // Whether it may be called is for the runs to show.
            let _ = ctx.call_dynamic(&called, json!({})).await;
        }
    }
    Ok(json!(null))
}

fn built(plans: &[Plan], runs: &Runs) -> Result<Registry, String> {
    let builder = plans.iter().enumerate().fold(Registry::builder(), |builder, (place, plan)| {
        let runs = Arc::clone(runs);
        let handler = move |ctx, _| climb(ctx, place, Arc::clone(&runs));
        builder.add(Operation::dynamic(declared(place, plan)).with_handler(handler))
    });
    let registry = builder.max_depth(16).build().map_err(|error| error.to_string())?;
    for (place, _) in plans.iter().enumerate().filter(|(_, plan)| plan.hidden) {
        registry.changes().hide(&name(place));
    }
    Ok(registry)
}

/// Asserts that each handler that ran was let run, and says how many ran below another and how many of those their
/// caller could not have called.
fn assert_gated(plans: &[Plan], runs: &BTreeMap<String, Run>, outside: Option<&Caller>, about: &str) -> (usize, usize) {
    let (mut below, mut lent) = (0, 0);
    for run in runs.values() {
        let plan = &plans[run.place];
        assert!(!plan.hidden, "{about}: {run:?} is hidden");
        assert!(plan.gate.opens(run.caller.as_ref().map(|_| &run.scopes)), "{about}: {run:?} passed {:?}", plan.gate);
        let Some(parent) = run.parent.as_ref().map(|parent| &runs[parent]) else {
            assert!(!plan.internal, "{about}: {run:?} is internal");
            assert_eq!(run.caller.as_deref(), outside.map(Caller::id), "{about}");
            continue;
        };
        let above = &plans[parent.place];
        assert!(
            above.calls.contains(&run.place),
            "{about}: {run:?} was called by {parent:?}, which does not declare it"
        );
        match &above.authority {
            Authority::Own(scopes) => {
                let as_whom = (Some(format!("operation:{}", name(parent.place))), scopes);
                assert_eq!((run.caller.clone(), &run.scopes), as_whom, "{about}");
            }
            Authority::Callers => {
                assert_eq!((&run.caller, &run.scopes), (&parent.caller, &parent.scopes), "{about}");
            }
        }
        below += 1;
        lent += usize::from(!plan.gate.opens(parent.caller.as_ref().map(|_| &parent.scopes)));
    }
    (below, lent)
}

#[tokio::test]
async fn nothing_restricted_is_reached_except_through_its_gate() {
    let (mut refused, mut shut, mut below, mut lent) = (0, 0, 0, 0);
    for seed in 0..WORLDS {
        let plans = plans(&mut Dice(seed));
        let runs = Runs::default();
        let mut calls = plans.iter().flat_map(|plan| plan.calls.iter().map(move |target| (plan, *target)));
        let registry = match (built(&plans, &runs), calls.all(|(plan, target)| is_sound(plan, &plans[target]))) {
            (Ok(registry), true) => registry,
            (Err(error), false) if error.contains("reach-access") => {
                refused += 1;
                continue;
            }
            (Ok(_), false) => panic!("world {seed} was built, and some caller cannot call what is called: {plans:?}"),
            (Err(error), _) => panic!("world {seed}: {error}"),
        };
        for (who, place) in everybody().iter().flat_map(|who| (0..OPERATIONS).map(move |place| (who, place))) {
            let caller = who.as_ref().map(|scopes| Caller::new("ada").scopes(scopes.iter().copied()));
            let request = Request::new(&b"{}"[..]);
            let request = match &caller {
                Some(caller) => request.with_caller(caller.clone()),
                None => request,
            };
            let envelope = registry.call(&name(place), request).await;
            let ran = std::mem::take(&mut *runs.lock().unwrap());
            let about = format!("world {seed}, {who:?}, {}", name(place));
            let plan = &plans[place];
            let open = !plan.hidden && !plan.internal && plan.gate.opens(who.as_ref());
            assert_eq!(envelope.code().is_none(), open, "{about}: {:?}", envelope.code());
            if !open {
                assert!(ran.is_empty(), "{about}: {ran:?}");
                shut += 1;
            }
            let found = assert_gated(&plans, &ran, caller.as_ref(), &about);
            (below, lent) = (below + found.0, lent + found.1);
            // What is declared is reached, too: by each of its two names.
            for (id, run) in &ran {
                for target in plans[run.place].calls.iter().filter(|target| !plans[**target].hidden) {
                    let reached = |other: &&Run| other.place == *target && other.parent.as_ref() == Some(id);
                    assert_eq!(ran.values().filter(reached).count(), 2, "{about}: {run:?} calls {target}");
                }
            }
        }
    }
    // The worlds have something of everything.
    assert!(refused > 20 && shut > 500 && below > 1500 && lent > 200, "{refused} {shut} {below} {lent}");
}
