//! Prompts, documents and completions: whether an operation can be what it says.

use std::collections::BTreeMap;

use redress_contract::{Finding, Gives, OperationDeclaration, Role, Shape, UriTemplate};
use serde_json::json;

use super::fit::fits;
use crate::registry::rules;

pub(super) fn check(declarations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for operation in declarations {
        match operation.role() {
            Role::Plain => {}
            Role::Prompt => prompt(operation, findings),
            Role::Resource { uri, .. } => resource(operation, uri, findings),
        }
        completions(operation, declarations, findings);
    }
    duplicates(declarations, findings);
}

/// Whether this member can be filled in by somebody who can only send texts: it takes any text, or
/// nothing but texts.
fn takes_text(operation: &OperationDeclaration, member: &str) -> bool {
    operation.input().property(member).is_some_and(|schema| {
        fits(&json!({"type": "string"}), schema) || fits(schema, &json!({"type": ["string", "null"]}))
    })
}

fn prompt(operation: &OperationDeclaration, findings: &mut Vec<Finding>) {
    let mut say = |says: String, help: &str| {
        findings.push(Finding::new(&rules::BAD_PROMPT, operation.name().as_str(), says, help));
    };
    if operation.gives() != Gives::Messages {
        say("it is a prompt, and does not give messages".to_owned(), "let it return `Messages`");
    }
    if operation.shape() == Shape::Subscription {
        say("it is a prompt, and answers with a stream".to_owned(), "make it a query");
    }
    for member in operation.input().properties().filter(|member| !takes_text(operation, member)) {
        say(
            format!("it is a prompt, whose arguments are texts, and `{member}` is none"),
            "let the input hold texts only, and read them in the handler",
        );
    }
}

fn resource(operation: &OperationDeclaration, uri: &UriTemplate, findings: &mut Vec<Finding>) {
    let mut say = |says: String, help: &str| {
        findings.push(Finding::new(&rules::BAD_RESOURCE, operation.name().as_str(), says, help));
    };
    if let Some(error) = uri.error() {
        say(format!("`{uri}` is no URI or template of URIs: {error}"), "write it as in `notes://{folder}/{name}`");
        return;
    }
    if operation.shape() != Shape::Query {
        say("a document is only read, and it is no query".to_owned(), "make it a query");
    }
    for variable in uri.variables().filter(|variable| !takes_text(operation, variable)) {
        say(
            format!("`{variable}` stands in its URI, and is no text of its input"),
            "let the input have a member of that name which takes a text",
        );
    }
    for member in operation.input().required().filter(|member| uri.variables().all(|variable| variable != *member)) {
        say(
            format!("its input needs `{member}`, which does not stand in its URI"),
            "put it into the URI as a variable, or make it optional",
        );
    }
}

fn duplicates(declarations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in declarations {
        if let Some(uri) = operation.uri() {
            seen.entry(uri.as_str()).or_default().push(operation.name().as_str());
        }
    }
    for (uri, names) in seen.into_iter().filter(|(_, names)| names.len() > 1) {
        findings.push(Finding::new(
            &rules::DUPLICATE_RESOURCE,
            uri,
            format!("{} would be the same document", names.join(" and ")),
            "give each of them a URI of its own",
        ));
    }
}

fn completions(operation: &OperationDeclaration, declarations: &[&OperationDeclaration], findings: &mut Vec<Finding>) {
    for (argument, source) in operation.completions() {
        let mut say = |says: String, help: &str| {
            findings.push(Finding::new(&rules::BAD_COMPLETION, operation.name().as_str(), says, help));
        };
        if operation.input().property(argument).is_none() {
            say(format!("it completes `{argument}`, which its input does not have"), "name a member of the input");
        }
        let Some(found) = declarations.iter().find(|other| other.name() == source) else {
            say(format!("`{argument}` is completed by `{source}`, which does not exist"), "register the operation");
            continue;
        };
        let gives = fits(found.output().as_value(), &json!({"type": "array"}));
        let takes = ["argument", "value", "given"].iter().all(|member| found.input().may_hold(&format!("/{member}")));
        if found.shape() != Shape::Query || !gives || !takes {
            say(
                format!("`{argument}` is completed by `{source}`, which cannot do that"),
                "let it be a query that takes `argument`, `value` and `given` and gives a list of texts",
            );
        }
    }
}
