//! Calls that help after a failure, as links and paths show them.
//!
//! A 404 of `/things/{id}` leads to `GET /things`; a write whose effect nobody knows, or that met another state than it
//! expected, leads to `GET /things/{id}`. Only queries are led to, and from a query only to one with a shorter path, so that
//! no chain of them comes back to where it began.

use std::collections::{BTreeSet, HashMap};

use redress_contract::{
    Binding, Code, Done, Effect, FailureDeclaration, Kind, Name, OperationDeclaration, Recovery, Shape, Verification,
};
use serde_json::{Value, json};

use super::{
    failures::{OWN_MEMBERS, recovery},
    source::Source,
};
use crate::{
    BoundDetail, ImportedOperation, NextCall, NextCallOrigin, Place,
    document::{Members, Node, pointer},
};

/// How far up the path somebody looks for what exists.
const MAX_UP: usize = 6;

/// Gives every operation the calls that help after its failures.
pub(super) fn propose(source: &Source, operations: &mut [ImportedOperation]) {
    let known = Known::of(operations);
    let proposed: Vec<Vec<NextCall>> = operations
        .iter()
        .map(|operation| {
            let mut calls = by_links(source, operation, &known);
            calls.extend(by_paths(operation, &known));
            calls
        })
        .collect();
    for (operation, calls) in operations.iter_mut().zip(proposed) {
        operation.next_calls = calls;
    }
}

/// Puts what was proposed, and not refused, into the recoveries. What had been put there before is taken out first.
pub(crate) fn apply(operations: &mut [ImportedOperation]) {
    let names: BTreeSet<Name> = operations.iter().map(|operation| operation.operation.name().clone()).collect();
    for imported in operations {
        let calls = imported.next_calls.clone();
        let holds = |call: &&NextCall| !call.refused && names.contains(&call.operation);
        let mut failures = Vec::with_capacity(imported.operation.failures().len());
        for failure in imported.operation.failures() {
            let plan = imported.responses.iter_mut().find(|plan| plan.code.as_ref() == Some(failure.code()));
            let call = calls.iter().filter(holds).find(|call| call.codes.contains(failure.code()));
            failures.push(match (plan, call) {
                (Some(plan), call) => rebuilt(failure, call, &imported.operation, plan),
                (None, _) => failure.clone(),
            });
        }
        let verification = calls.iter().filter(holds).find_map(verification);
        let operation = imported.operation.clone().without_failures().with_failures(failures);
        imported.operation = match verification {
            Some(verification) => operation.with_verification(verification),
            None => operation,
        };
    }
}

/// The failure with the recovery that the call is, or with the one of its kind.
fn rebuilt(
    failure: &FailureDeclaration,
    call: Option<&NextCall>,
    operation: &OperationDeclaration,
    plan: &mut crate::ResponsePlan,
) -> FailureDeclaration {
    let mut details = failure.details().as_value().clone();
    for bound in plan.bound.drain(..) {
        if let Some(members) = details.get_mut("properties").and_then(Value::as_object_mut) {
            members.remove(&bound.member);
        }
        if let Some(required) = details.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| *name != *bound.member);
        }
    }
    let Some(call) = call else {
        let plain = match failure.recovery().and_then(Recovery::target) {
            Some(_) => recovery(failure.kind(), failure.when()),
            None => return failure.clone().with_details(details),
        };
        return failure.clone().with_details(details).with_recovery(plain);
    };
    let mut made = match &call.done {
        Some(done) if call.verifies && failure.effect() != Effect::None => {
            let hint = "Find out first whether it took place, and call again only if it did not.";
            Recovery::from(with_done(Verification::new(call.operation.as_str(), done.pointer.as_str(), hint), done))
        }
        Some(_) | None => Recovery::call(call.operation.as_str(), hint(failure, call)),
    };
    for Binding { field, from } in &call.bind {
        let taken = OWN_MEMBERS.contains(&from.as_str()) || details.pointer(&format!("/properties/{from}")).is_some();
        let member = if taken { format!("input_{from}") } else { from.clone() };
        let schema = operation.input().property(from).map(without_notes).unwrap_or_else(|| json!({}));
        if let Some(members) = details.get_mut("properties").and_then(Value::as_object_mut) {
            members.insert(member.clone(), schema);
        }
        if let Some(required) = details.get_mut("required").and_then(Value::as_array_mut)
            && operation.input().requires(from)
        {
            required.push(member.as_str().into());
        }
        made = made.bind(field, &member);
        plan.bound.push(BoundDetail { member, field: from.clone() });
    }
    failure.clone().with_details(details).with_recovery(made.why(&call.why))
}

fn with_done(verification: Verification, done: &Done) -> Verification {
    match &done.is {
        Some(is) => verification.is(is.clone()),
        None => verification,
    }
}

fn hint(failure: &FailureDeclaration, call: &NextCall) -> String {
    let plain = recovery(failure.kind(), failure.when());
    if call.verifies && failure.effect() != Effect::None {
        return "Look first whether it took place, and make the same call again only if it did not.".to_owned();
    }
    let what = if failure.kind() == Kind::NotFound {
        "List what exists and pick one of those."
    } else {
        "Look at what is there now, and change the input to fit it."
    };
    format!("{what} {}", said(plain.hint())).trim_end().to_owned()
}

/// The document's own words in a hint.
fn said(hint: &str) -> &str {
    hint.find("The service says:").and_then(|place| hint.get(place..)).unwrap_or_default()
}

/// How to find out whether the operation took place, where its failures are those of the engine.
fn verification(call: &NextCall) -> Option<Verification> {
    let done = call.done.as_ref().filter(|_| call.verifies)?;
    let hint = "Find out first whether it took place, and call again only if it did not.";
    let made = with_done(Verification::new(call.operation.as_str(), done.pointer.as_str(), hint), done).why(&call.why);
    Some(call.bind.iter().fold(made, |made, bind| made.bind(&bind.field, &bind.from)))
}

/// A schema without what is for readers only, which the details need not repeat.
fn without_notes(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Value::Object(words) = &mut schema {
        for note in ["description", "default", "deprecated", "title"] {
            words.remove(note);
        }
    }
    schema
}

/// The queries of a document, by their paths and by their ids.
struct Known<'o> {
    gets: HashMap<String, &'o ImportedOperation>,
    by_id: HashMap<&'o str, &'o ImportedOperation>,
    by_pointer: HashMap<&'o str, &'o ImportedOperation>,
}

impl<'o> Known<'o> {
    fn of(operations: &'o [ImportedOperation]) -> Known<'o> {
        let queries = operations.iter().filter(|imported| imported.operation.shape() == Shape::Query);
        let gets = queries.filter(|imported| imported.request.method == "GET");
        Known {
            gets: gets.map(|imported| (plain_path(&imported.request.path), imported)).collect(),
            by_id: operations.iter().filter_map(|one| one.operation_id.as_deref().map(|id| (id, one))).collect(),
            by_pointer: operations.iter().map(|one| (one.pointer.as_str(), one)).collect(),
        }
    }
}

/// A path without a slash at its end; what its parameters are called counts, because that is how they are bound.
fn plain_path(path: &str) -> String {
    path.trim_end_matches('/').to_owned()
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty()).collect()
}

fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{') && segment.ends_with('}')
}

fn by_paths(operation: &ImportedOperation, known: &Known<'_>) -> Vec<NextCall> {
    let mut calls = Vec::new();
    let way = segments(&operation.request.path);
    let codes = |wanted: &dyn Fn(&FailureDeclaration) -> bool| -> Vec<Code> {
        let wanted = operation.operation.failures().iter().filter(|failure| wanted(failure));
        wanted.map(|failure| failure.code().clone()).collect()
    };
    let missing = codes(&|failure| failure.kind() == Kind::NotFound);
    if !missing.is_empty()
        && let Some(call) = above(operation, &way, known)
    {
        calls.push(NextCall { codes: missing, ..call });
    }
    if operation.operation.shape() != Shape::Mutation {
        return calls;
    }
    let uncertain = codes(&|failure| failure.effect() != Effect::None && failure.kind() != Kind::NotFound);
    let other_state = codes(&|failure| failure.kind() == Kind::Conflict || failure.http() == 412);
    if let Some(call) = beside(operation, &way, known) {
        if !other_state.is_empty() {
            let why = "see the present state".to_owned();
            calls.push(NextCall { codes: other_state, why, verifies: false, done: None, ..call.clone() });
        }
        // An operation that has no failure of its own may still be cut off.
        calls.push(NextCall { codes: uncertain, ..call });
    }
    calls
}

/// The list in which what is missing would stand.
fn above(operation: &ImportedOperation, way: &[&str], known: &Known<'_>) -> Option<NextCall> {
    for length in (1..way.len()).rev().take(MAX_UP) {
        let up = way.get(..length)?;
        if up.last().is_some_and(|last| is_parameter(last)) {
            continue;
        }
        let found = known.gets.get(&format!("/{}", up.join("/")));
        if let Some(bind) = found.and_then(|target| bindings(operation, target)) {
            let target = found?;
            return Some(call(target, bind, "see which ones exist", false));
        }
    }
    None
}

/// The query that shows what a write changes: of the same path, or of the thing that the path acts upon.
fn beside(operation: &ImportedOperation, way: &[&str], known: &Known<'_>) -> Option<NextCall> {
    let same = known.gets.get(&plain_path(&operation.request.path));
    let of_thing = || {
        let up = way.get(..way.len().checked_sub(1)?).filter(|up| up.last().is_some_and(|last| is_parameter(last)))?;
        known.gets.get(&format!("/{}", up.join("/")))
    };
    let target = same.copied().or_else(|| of_thing().copied())?;
    let bind = bindings(operation, target)?;
    let mut made = call(target, bind, "see whether it took place", true);
    made.done = creates(operation, target);
    Some(made)
}

/// How an answer shows that a write took place, where the document leaves no doubt: what is made under a name that the
/// caller chose is there, and was not before.
fn creates(operation: &ImportedOperation, target: &ImportedOperation) -> Option<Done> {
    let successes: Vec<String> =
        operation.responses.iter().filter(|plan| plan.is_success()).map(|plan| plan.status.to_string()).collect();
    let only_made = operation.request.method == "PUT" && successes == ["201"];
    let is_item = segments(&target.request.path).last().is_some_and(|last| is_parameter(last));
    if !only_made || !is_item {
        return None;
    }
    // Something that is not in every answer would show nothing, and something that is, shows nothing either: the value has
    // to be one that the answer of a thing that exists has and that need not be there.
    let output = target.operation.output();
    let pointer =
        ["id", "name", "key"].into_iter().find(|name| output.property(name).is_some() && !output.requires(name))?;
    Some(Done { pointer: format!("/{pointer}"), is: None })
}

fn call(target: &ImportedOperation, bind: Vec<Binding>, why: &str, verifies: bool) -> NextCall {
    NextCall {
        codes: Vec::new(),
        operation: target.operation.name().clone(),
        bind,
        why: why.to_owned(),
        origin: NextCallOrigin::Path,
        verifies,
        done: None,
        refused: false,
    }
}

/// What of the input goes into that of `target`: everything that it requires, by the names on the wire. None where
/// something would be lacking, or would not fit.
fn bindings(operation: &ImportedOperation, target: &ImportedOperation) -> Option<Vec<Binding>> {
    if target.operation.name() == operation.operation.name() {
        return None;
    }
    let mut bind = Vec::new();
    for wanted in target.request.fields.iter().filter(|field| field.required) {
        let same_place = |field: &&crate::Field| field.name == wanted.name && field.place == wanted.place;
        let given = operation.request.fields.iter().filter(|field| field.required).find(same_place)?;
        fits(&operation.operation, &given.field, &target.operation, &wanted.field)?;
        bind.push(Binding { field: wanted.field.clone(), from: given.field.clone() });
    }
    Some(bind)
}

/// Whether a member of one input fits a member of another: where both say the same.
fn fits(from: &OperationDeclaration, given: &str, to: &OperationDeclaration, wanted: &str) -> Option<()> {
    let (given, wanted) = (from.input().property(given)?, to.input().property(wanted)?);
    (without_notes(given) == without_notes(wanted) || is_wider(wanted, given)).then_some(())
}

/// Whether a schema says no more than the type that the other says too.
fn is_wider(wanted: &Value, given: &Value) -> bool {
    let wanted = without_notes(wanted);
    let only_type = wanted.as_object().is_some_and(|words| words.keys().all(|word| word == "type"));
    only_type && wanted.get("type").is_some() && wanted.get("type") == given.get("type")
}

fn by_links(source: &Source, operation: &ImportedOperation, known: &Known<'_>) -> Vec<NextCall> {
    let mut calls = Vec::new();
    let Some(responses) = source.root.at(&pointer::joined(&operation.pointer, "responses")).and_then(Node::as_object)
    else {
        return calls;
    };
    for (key, response) in responses.iter() {
        let Some(status) = crate::StatusPattern::parse(key) else { continue };
        let plan = operation.responses.iter().find(|plan| plan.status == status && !plan.derived);
        let Some(code) = plan.and_then(|plan| plan.code.clone()) else { continue };
        let Ok(found) = source.follow(response, "") else { continue };
        let links = found.node.get("links").and_then(Node::as_object).into_iter().flat_map(Members::iter);
        for (_, link) in links.take(8) {
            let Ok(link) = source.follow(link, "") else { continue };
            let Some(call) = by_link(source, operation, link.node, known) else { continue };
            calls.push(NextCall { codes: vec![code.clone()], ..call });
        }
    }
    calls
}

fn by_link(source: &Source, operation: &ImportedOperation, link: &Node, known: &Known<'_>) -> Option<NextCall> {
    let target = match (link.text("operationId"), link.text("operationRef")) {
        (Some(id), _) => known.by_id.get(id).copied()?,
        (None, Some(reference)) => known.by_pointer.get(source.target(reference).ok()?.as_str()).copied()?,
        (None, None) => return None,
    };
    let leads_on = operation.operation.shape() == Shape::Mutation
        || segments(&target.request.path).len() < segments(&operation.request.path).len();
    if target.operation.shape() != Shape::Query || !leads_on || target.operation.name() == operation.operation.name() {
        return None;
    }
    let mut bind = Vec::new();
    for (name, expression) in link.get("parameters").and_then(Node::as_object).into_iter().flat_map(Members::iter) {
        let name = name
            .rsplit_once('.')
            .filter(|(place, _)| ["path", "query", "header", "cookie"].contains(place))
            .map_or(name, |(_, name)| name);
        let wanted = target.request.fields.iter().find(|field| field.name == name)?;
        let given = given_by(operation, expression.as_str()?)?;
        fits(&operation.operation, given, &target.operation, &wanted.field)?;
        bind.push(Binding { field: wanted.field.clone(), from: given.to_owned() });
    }
    let bound = |field: &str| bind.iter().any(|bind| bind.field == field);
    if target.request.fields.iter().any(|field| field.required && !bound(&field.field)) {
        return None;
    }
    let why = link.text("description").and_then(|text| super::schemas::shortened(text, 80));
    let mut made = call(target, bind, why.as_deref().unwrap_or("the document links to it"), false);
    made.origin = NextCallOrigin::Link;
    Some(made)
}

/// The member of the input that an expression of a link stands for.
fn given_by<'o>(operation: &'o ImportedOperation, expression: &str) -> Option<&'o str> {
    let (place, name) = expression.strip_prefix("$request.")?.split_once(['.', '#'])?;
    let place = match place {
        "path" => Place::Path,
        "query" => Place::Query,
        "header" => Place::Header,
        "body" => Place::BodyMember,
        _ => return None,
    };
    let name = name.trim_start_matches('/');
    let field =
        operation.request.fields.iter().find(|field| field.place == place && field.name == name && field.required)?;
    Some(&field.field)
}
