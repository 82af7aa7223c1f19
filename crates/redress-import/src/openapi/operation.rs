//! One operation of a document: what it takes, gives and may fail with, and how it is asked for.

use redress_contract::{Deprecation, FailureDeclaration, Name, OperationDeclaration, Origin, Shape};

use super::{
    about, fails_when,
    failures::{Makes, output, told_apart},
    input::{self, Operated},
    responses::{Declared, is_stream, measure, responses, wanted},
    schemas::{Direction, Measure, Schemas, shortened},
    source::Source,
    status,
};
use crate::{
    ImportedOperation, ReadOptions, RequestPlan, ResponsePlan, SecurityRequirement, SecurityScheme, StatusPattern,
    document::Node,
};

/// How many letters a description has; all of it stands in the document.
const LONGEST_DESCRIPTION: usize = 1_000;
/// How many letters a summary has.
const LONGEST_SUMMARY: usize = 160;
/// How many media types are asked for.
const MAX_ACCEPTED: usize = 6;

/// An operation where it was found.
pub(super) struct Found<'d> {
    pub(super) method: String,
    pub(super) path: &'d str,
    pub(super) node: &'d Node,
    pub(super) pointer: String,
    pub(super) item: &'d Node,
    pub(super) item_pointer: String,
}

impl Found<'_> {
    pub(super) fn operated(&self) -> Operated<'_> {
        Operated {
            node: self.node,
            place: &self.pointer,
            item: self.item,
            item_place: &self.item_pointer,
            path: self.path,
        }
    }
}

/// What all operations of a document share.
pub(super) struct Shared<'a> {
    pub(super) version: &'a str,
    pub(super) schemes: &'a [SecurityScheme],
    pub(super) security: &'a [SecurityRequirement],
}

/// The operation that was found, under its name.
pub(super) fn imported(
    source: &Source,
    schemas: &Schemas<'_>,
    found: &Found<'_>,
    name: &Name,
    shared: &Shared<'_>,
    options: &ReadOptions,
) -> ImportedOperation {
    let budget = options.budget;
    let node = found.node;
    let declared = responses(source, schemas, node, &found.pointer);
    let taken = input::input(source, schemas, found.operated(), shared.schemes);
    let shape = shape(&found.method, &declared);
    let request_measure = Measure { depth: budget.depth, bytes: budget.input, direction: Direction::Request };
    let mut operation = OperationDeclaration::new(name.as_str(), shape)
        .with_origin(Origin::Openapi)
        .with_summary(summary(node, found))
        .with_description(description(node))
        .with_input(schemas.cut(&taken.schema, request_measure))
        .with_output(schemas.cut(&output(&declared), measure(budget.depth, budget.output)));
    for tag in node.get("tags").and_then(Node::as_array).unwrap_or_default().iter().filter_map(Node::as_str) {
        operation = operation.with_tag(tag);
    }
    if node.says("deprecated") {
        operation =
            operation.with_deprecated(Deprecation { since: shared.version.to_owned(), ..Deprecation::default() });
    }
    if taken.idempotency_header.is_some() && shape == Shape::Mutation {
        operation = operation.with_idempotency_key();
    }
    let (plans, failures) = endings(&Makes { schemas, budget, shape }, &declared);
    ImportedOperation {
        operation: operation.with_failures(failures),
        pointer: found.pointer.clone(),
        operation_id: node.text("operationId").map(str::to_owned),
        request: RequestPlan {
            method: found.method.clone(),
            path: taken.path,
            fields: taken.fields,
            body: taken.body,
            idempotency_header: taken.idempotency_header,
            fixed: Vec::new(),
            narrowing: taken.narrowing,
            accept: accept(&declared),
        },
        responses: plans,
        security: about::security(node).unwrap_or_else(|| shared.security.to_vec()),
        servers: Some(about::servers(node))
            .filter(|servers| !servers.is_empty())
            .unwrap_or_else(|| about::servers(found.item)),
        next_calls: Vec::new(),
        fails_when: Vec::new(),
        proposed_fails_when: fails_when::propose(schemas, &declared, found.path),
        profiles: Vec::new(),
        overridden: false,
    }
}

/// The plans of all responses, and the failures among them.
fn endings(makes: &Makes<'_, '_>, declared: &[Declared<'_>]) -> (Vec<ResponsePlan>, Vec<FailureDeclaration>) {
    let mut plans: Vec<ResponsePlan> = Vec::new();
    let mut failures: Vec<FailureDeclaration> = Vec::new();
    for response in declared {
        let (plan, failure) = makes.response(response);
        plans.push(plan);
        failures.extend(failure);
    }
    for (status, below) in told_apart(declared, makes.shape) {
        let wide = status::code(below);
        let plan = plans.iter().find(|plan| plan.status == below).cloned();
        let parent = failures.iter().find(|failure| *failure.code() == *wide).cloned();
        if let (Some(plan), Some(parent)) = (plan, parent) {
            let (plan, failure) = makes.derived(status, &plan, &parent);
            plans.push(plan);
            failures.push(failure);
        }
    }
    // Where only a default is declared, it is what a success looks like as well.
    let says_success = declared.iter().any(|response| status::is_success(response.status));
    if let (false, Some(default)) =
        (says_success, plans.iter().find(|plan| plan.status == StatusPattern::Default).cloned())
    {
        let (code, reasons) = (None, Vec::new());
        plans.push(ResponsePlan { status: StatusPattern::Range(2), code, reasons, derived: true, ..default });
    }
    (plans, failures)
}

/// Reads, changes or streams. What reads by its method reads; what gives nothing but streams, streams.
fn shape(method: &str, declared: &[Declared<'_>]) -> Shape {
    let successes = declared.iter().filter(|response| status::is_success(response.status));
    let content: Vec<_> = successes.flat_map(|response| &response.content).collect();
    if !content.is_empty() && content.iter().all(|content| is_stream(content)) {
        return Shape::Subscription;
    }
    match method {
        "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => Shape::Query,
        _ => Shape::Mutation,
    }
}

fn accept(declared: &[Declared<'_>]) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    let successes = declared.iter().filter(|response| status::is_success(response.status));
    let failures = declared.iter().filter(|response| !status::is_success(response.status));
    for response in successes.chain(failures) {
        for content in wanted(&response.content) {
            if !types.contains(&content.media_type) && types.len() < MAX_ACCEPTED {
                types.push(content.media_type.clone());
            }
        }
    }
    types
}

fn summary(node: &Node, found: &Found<'_>) -> String {
    let first = |text: &str| {
        let line = text.trim_start().lines().next().unwrap_or_default();
        let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
        shortened(sentence, LONGEST_SUMMARY)
    };
    let said = node.text("summary").and_then(|text| shortened(text, LONGEST_SUMMARY));
    let item = || found.item.text("summary").and_then(|text| shortened(text, LONGEST_SUMMARY));
    said.or_else(|| node.text("description").and_then(first))
        .or_else(item)
        .unwrap_or_else(|| shortened(&format!("{} {}", found.method, found.path), LONGEST_SUMMARY).unwrap_or_default())
}

/// What it does, its lines as they are, ended where it would be too long.
fn description(node: &Node) -> String {
    let text = node.text("description").unwrap_or_default().trim();
    let Some((end, _)) = text.char_indices().nth(LONGEST_DESCRIPTION) else { return text.to_owned() };
    let kept = text.get(..end).unwrap_or_default();
    let stops = [". ", ".\n", "\n"];
    let place = stops.iter().filter_map(|stop| kept.rfind(stop)).max().filter(|place| place * 2 >= end);
    match place.and_then(|place| kept.get(..=place)) {
        Some(kept) => kept.trim_end().to_owned(),
        None => format!("{}…", kept.trim_end()),
    }
}
