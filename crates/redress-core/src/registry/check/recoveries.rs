//! Recovery plans: a next call that exists, that the same caller may make, whose fields
//! fit, and that leads nobody in a circle.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::{
    Access, Binding, CONSENT_GRANT, Finding, Name, OperationDeclaration, Rule, Schema, Shape, Verb, Verification,
};

use super::{failures::subject, fit::fits, verifications};
use crate::registry::rules;

/// Where the values come from that a next call is made with.
#[derive(Clone, Copy)]
pub(super) enum BindingSource<'a> {
    /// A failure's public fields. A call that lacks one is left out.
    Details(&'a Schema),
    /// A failure's public fields, for a call that must not be left out.
    CertainDetails(&'a Schema),
    /// The members of the input. One that the caller left out is left out of the next call too.
    Input(&'a Schema),
}

pub(super) fn check(operations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for operation in operations {
        for failure in operation.failures() {
            let mut say = |rule, says: String, help: String| {
                findings.push(Finding::new(rule, subject(operation, failure), says, help));
            };
            match failure.recovery().map(|recovery| recovery.verb()) {
                Some(Verb::Call { operation: target, bind, .. }) => {
                    if let Some(target) = known(operation, operations, target, &mut say) {
                        callable(operation, target, &mut say);
                        called_once(target, &mut say);
                        bindings(BindingSource::Details(failure.details()), target, bind, &mut say);
                    }
                }
                Some(Verb::Verify { operation: target, bind, done, .. }) => {
                    verifications::of_failure(operation, failure, &mut say);
                    if let Some(target) = known(operation, operations, target, &mut say) {
                        callable(operation, target, &mut say);
                        verifications::shown(target, done, &mut say);
                        bindings(BindingSource::CertainDetails(failure.details()), target, bind, &mut say);
                    }
                }
                Some(Verb::GetAccess { scope }) if scope.split_whitespace().any(|scope| scope == CONSENT_GRANT) => say(
                    &rules::RECOVERY_CONSENT,
                    format!("its recovery is to get the scope `{CONSENT_GRANT}`, and an agent would follow it"),
                    "let it be `ask_user`, with a hint that says what the person can do".to_owned(),
                ),
                Some(Verb::FixInput { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. } | Verb::Stop)
                | None => {}
            }
        }
        verifications::of_operation(operation, operations, findings);
    }
    cycles(operations, findings);
}

/// The operation that a recovery of `operation` calls.
pub(super) fn known<'a>(
    operation: &OperationDeclaration,
    operations: &[&'a OperationDeclaration],
    target: &Name,
    say: &mut impl FnMut(&'static Rule, String, String),
) -> Option<&'a OperationDeclaration> {
    let found = find(operations, target);
    if found.is_none() {
        say(
            &rules::RECOVERY_UNKNOWN,
            format!("its recovery calls `{target}`, and there is no such operation"),
            unregistered(operation, target.as_str(), operations),
        );
    }
    found
}

/// The operation that `name` is the name or an alias of.
pub(super) fn find<'a>(operations: &[&'a OperationDeclaration], name: &Name) -> Option<&'a OperationDeclaration> {
    operations.iter().copied().find(|known| known.name() == name || known.aliases().contains(name))
}

/// What to do where `operation` names one that is not registered. It is never told to name itself: that would be a
/// circle.
pub(super) fn unregistered(
    operation: &OperationDeclaration,
    target: &str,
    operations: &[&OperationDeclaration],
) -> String {
    let others = operations.iter().filter(|other| other.name() != operation.name());
    let names = others.map(|operation| operation.name().as_str().to_owned());
    match crate::similar::nearest(target, names).first() {
        Some(name) => format!("if `{target}` is declared, add it with `.add(…)`; or did you mean `{name}`?"),
        None => format!("if `{target}` is declared, add it with `.add(…)`; else name one that is registered"),
    }
}

pub(super) fn callable(
    operation: &OperationDeclaration,
    target: &OperationDeclaration,
    say: &mut impl FnMut(&'static Rule, String, String),
) {
    let name = target.name();
    if operation.is_external() && !target.is_external() {
        say(
            &rules::RECOVERY_HIDDEN,
            format!("its recovery calls `{name}`, which does not exist for callers from outside"),
            format!("make `{name}` external, or name another operation"),
        );
    }
    if !operation.access().implies(target.access()) {
        say(
            &rules::RECOVERY_ACCESS,
            format!("its recovery calls `{name}`, which its caller may not be allowed to call"),
            format!(
                "ask for {} in the access of `{}` too, or name an operation that asks for no more",
                lacking(operation.access(), target.access()),
                operation.name()
            ),
        );
    }
    if target.access().is_for_persons() {
        say(
            &rules::RECOVERY_CONSENT,
            format!("its recovery calls `{name}`, which is for persons alone, and an agent would follow it"),
            "let it be `ask_user`, with a hint that says what the person can do".to_owned(),
        );
    }
}

/// The scopes that whoever may call the one may lack for the other, in words.
fn lacking(own: &Access, other: &Access) -> String {
    let quoted =
        |scopes: &[&String], word: &str| scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(word);
    let all: Vec<&String> = other.all_scopes().iter().filter(|scope| !own.all_scopes().contains(scope)).collect();
    let has_any = other.any_scopes().iter().any(|scope| own.all_scopes().contains(scope));
    let any: Vec<&String> = if has_any { Vec::new() } else { other.any_scopes().iter().collect() };
    match (all.as_slice(), any.as_slice()) {
        ([], []) => "a caller".to_owned(),
        (all, []) => format!("the scope {}", quoted(all, " and ")),
        ([], any) => format!("the scope {}", quoted(any, " or ")),
        (all, any) => format!("the scope {} and {}", quoted(all, " and "), quoted(any, " or ")),
    }
}

fn called_once(target: &OperationDeclaration, say: &mut impl FnMut(&'static Rule, String, String)) {
    let name = target.name();
    if target.shape() == Shape::Subscription {
        say(
            &rules::RECOVERY_SHAPE,
            format!("its recovery calls `{name}`, which is a subscription"),
            "name a query or a mutation".to_owned(),
        );
    }
}

pub(super) fn bindings(
    source: BindingSource<'_>,
    target: &OperationDeclaration,
    bind: &[Binding],
    say: &mut impl FnMut(&'static Rule, String, String),
) {
    let name = target.name();
    let mut bound = BTreeSet::new();
    for Binding { field, from } in bind {
        if !bound.insert(field.as_str()) {
            say(
                &rules::RECOVERY_FIELD,
                format!("its recovery gives `{name}` the member `{field}` twice"),
                "bind each member once".to_owned(),
            );
        }
        let (given, wanted) = (source.schema().property(from), target.input().property(field));
        match (given, wanted) {
            (None, _) => say(
                &rules::RECOVERY_FIELD,
                format!("its recovery binds `{from}`, which is no {}", source.part()),
                format!("bind a {}", source.part()),
            ),
            (Some(_), _) if source.may_lack(from, target, field) => say(
                &rules::RECOVERY_FIELD,
                format!("its recovery binds `{from}` to `{field}` of `{name}`, and there may be no `{from}`"),
                format!("bind a {} that is always there", source.part()),
            ),
            (Some(_), None) if target.input().is_closed() => say(
                &rules::RECOVERY_FIELD,
                format!("its recovery gives `{name}` the member `{field}`, which that operation does not take"),
                format!("`{name}` takes: {}", target.input().properties().collect::<Vec<_>>().join(", ")),
            ),
            (Some(given), Some(wanted)) if !fits(given, wanted) => say(
                &rules::RECOVERY_FIELD,
                format!("`{from}` does not fit the member `{field}` of `{name}`"),
                "bind a field whose every value the member accepts".to_owned(),
            ),
            (Some(_), _) => {}
        }
    }
    for required in target.input().required() {
        if !bound.contains(required) {
            say(
                &rules::RECOVERY_FIELD,
                format!("`{name}` requires `{required}`, and the recovery binds nothing to it"),
                format!("write `bind({required} = …)`"),
            );
        }
    }
}

impl BindingSource<'_> {
    fn schema(&self) -> &Schema {
        match self {
            BindingSource::Details(schema) | BindingSource::CertainDetails(schema) | BindingSource::Input(schema) => {
                schema
            }
        }
    }

    fn part(&self) -> &'static str {
        match self {
            BindingSource::Details(_) | BindingSource::CertainDetails(_) => "public field of the failure",
            BindingSource::Input(_) => "member of the input",
        }
    }

    /// Whether the next call may have to do without what it cannot do without.
    fn may_lack(&self, from: &str, target: &OperationDeclaration, field: &str) -> bool {
        match self {
            BindingSource::Details(_) => false,
            BindingSource::CertainDetails(schema) => !schema.requires(from),
            BindingSource::Input(schema) => !schema.requires(from) && target.input().requires(field),
        }
    }
}

/// Finds operations whose recoveries lead back to themselves: an agent that follows the
/// plan would never get out.
fn cycles(operations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    let edges: BTreeMap<&str, Vec<&str>> = operations
        .iter()
        .map(|operation| {
            let targets = operation.failures().iter().filter_map(|failure| failure.recovery()?.target());
            let targets = targets.chain(operation.verification().map(Verification::target));
            // An alias leads to the same place as the name, and so into the same circle.
            let targets = targets.filter_map(|target| find(operations, target));
            (operation.name().as_str(), targets.map(|target| target.name().as_str()).collect())
        })
        .collect();
    let mut told = BTreeSet::new();
    for start in edges.keys() {
        if let Some(circle) = circle_from(start, &edges) {
            let mut members = circle.clone();
            members.sort_unstable();
            if told.insert(members) {
                findings.push(Finding::new(
                    &rules::RECOVERY_CYCLE,
                    *start,
                    format!("following the recoveries leads in a circle: {} → {start}", circle.join(" → ")),
                    "let one of them end otherwise: `fix_input`, `ask_user`, `wait` or `stop`",
                ));
            }
        }
    }
}

/// The way from `start` back to itself, if there is one.
fn circle_from<'a>(start: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> Option<Vec<&'a str>> {
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for target in edges.get(way.last()?).into_iter().flatten() {
            if *target == start {
                return Some(way);
            }
            if seen.insert(*target) {
                ways.push(way.iter().copied().chain([*target]).collect());
            }
        }
    }
    None
}
