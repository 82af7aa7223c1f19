//! What an operation calls: whether it is there, and whether the authority that it is called with is enough.

use redress_contract::{Caller, Denied, Finding, OperationDeclaration, Rule, Shape};

use super::recoveries::{find, unregistered};
use crate::registry::rules;

pub(super) fn check(operations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for operation in operations {
        let mut say = |rule, says: String, help: String| {
            findings.push(Finding::new(rule, operation.name().as_str(), says, help));
        };
        for name in operation.calls() {
            match find(operations, name) {
                Some(target) => callable(operation, target, &mut say),
                None => say(
                    &rules::REACH_UNKNOWN,
                    format!("it declares that it calls `{name}`, and there is no such operation"),
                    unregistered(operation, name.as_str(), operations),
                ),
            }
        }
        needed(operation, &mut say);
    }
}

/// Whether a call of `target` can pass access and shape, whoever calls `operation`.
fn callable(
    operation: &OperationDeclaration,
    target: &OperationDeclaration,
    say: &mut impl FnMut(&'static Rule, String, String),
) {
    let name = target.name();
    if target.shape() == Shape::Subscription {
        say(
            &rules::REACH_SHAPE,
            format!("it calls `{name}`, which is a subscription and cannot be called once"),
            "call a query or a mutation, or read what the subscription reads".to_owned(),
        );
    }
    if target.access().needs_consent() {
        say(
            &rules::REACH_CONSENT,
            format!("it calls `{name}`, which needs a person's consent, and no person is asked below a call"),
            format!("ask for consent in `{}` itself, and call an operation that asks for none", operation.name()),
        );
    }
    if target.access().is_for_persons() {
        say(
            &rules::REACH_CONSENT,
            format!("it calls `{name}`, which is for persons alone, and whoever calls it may be an agent"),
            "leave consents to the persons who give them, by the command or with a token of their own".to_owned(),
        );
    }
    if operation.calls_as_caller() {
        if !operation.access().implies(target.access()) {
            say(
                &rules::REACH_ACCESS,
                format!("it calls `{name}` as its own caller, who may not be allowed to call that"),
                format!("ask for {} in its own access too", needs(target)),
            );
        }
        return;
    }
    let authority = Caller::new("").scopes(operation.authority().iter().cloned());
    if let Err(Denied::Scopes { missing, one_is_enough }) = target.access().admit(Some(&authority)) {
        let missing = if one_is_enough { missing.first().cloned().unwrap_or_default() } else { missing.join(" ") };
        say(
            &rules::REACH_ACCESS,
            format!("it calls `{name}`, which needs {}, and its authority does not have that", needs(target)),
            format!("add `authority(\"{missing}\")`, or `authority(caller)` to call it as its own caller"),
        );
    }
}

/// What a caller of `target` needs, in words.
fn needs(target: &OperationDeclaration) -> String {
    let access = target.access();
    let quoted =
        |scopes: &[String], word: &str| scopes.iter().map(|scope| format!("`{scope}`")).collect::<Vec<_>>().join(word);
    match (access.all_scopes(), access.any_scopes()) {
        ([], []) => "a caller".to_owned(),
        (all, []) => format!("the scope {}", quoted(all, " and ")),
        ([], any) => format!("the scope {}", quoted(any, " or ")),
        (all, any) => format!("the scope {} and {}", quoted(all, " and "), quoted(any, " or ")),
    }
}

fn needed(operation: &OperationDeclaration, say: &mut impl FnMut(&'static Rule, String, String)) {
    let declared = !operation.authority().is_empty() || operation.calls_as_caller();
    if declared && operation.calls().is_empty() {
        say(
            &rules::NEEDLESS_AUTHORITY,
            "it declares an authority and calls nothing with it".to_owned(),
            "declare what it calls, or remove the authority".to_owned(),
        );
    } else if operation.calls_as_caller() && !operation.authority().is_empty() {
        say(
            &rules::NEEDLESS_AUTHORITY,
            "it calls others as its own caller, and declares scopes of its own".to_owned(),
            "keep one of the two".to_owned(),
        );
    }
}
