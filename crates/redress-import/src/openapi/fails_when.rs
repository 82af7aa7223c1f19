//! Successes that are none: where the document's own schemas and examples show a body that says so.

use redress_contract::Code;
use serde_json::Value;

use super::{
    responses::Declared,
    schemas::{Schemas, types_of},
    status,
};
use crate::{
    BodyKind, FailsWhen, Test,
    document::{Members, Node, pointer},
};

/// Members that say whether it went well.
const FLAGS: [&str; 5] = ["ok", "success", "succeeded", "is_success", "isSuccess"];
/// Members that say why it did not.
const REASONS: [&str; 10] = [
    "error",
    "errors",
    "error_code",
    "errorCode",
    "error_message",
    "errorMessage",
    "message",
    "messages",
    "code",
    "reason",
];
/// How many examples of one response are looked at.
const MAX_EXAMPLES: usize = 32;

/// What the document suggests for the operation with these responses and this path.
pub(super) fn propose(schemas: &Schemas<'_>, responses: &[Declared<'_>], path: &str) -> Vec<FailsWhen> {
    let mut made: Vec<FailsWhen> = Vec::new();
    for response in responses.iter().filter(|response| status::is_success(response.status)) {
        for content in response.content.iter().filter(|content| content.kind == BodyKind::Json) {
            let place = pointer::joined(&pointer::joined(&response.pointer, "content"), &content.media_type);
            let found = by_schema(schemas, &content.schema, path, &place);
            let found = found.or_else(|| by_examples(response.node, &content.media_type, &place));
            if let Some(found) = found.filter(|found| !made.iter().any(|known| known.pointer == found.pointer)) {
                made.push(found);
            }
        }
    }
    made
}

fn by_schema(schemas: &Schemas<'_>, schema: &Value, path: &str, place: &str) -> Option<FailsWhen> {
    let schema = schemas.resolved(schema);
    let mut parts = vec![schema.clone()];
    for word in ["allOf", "anyOf", "oneOf"] {
        let several = schema.get(word).and_then(Value::as_array).into_iter().flatten();
        parts.extend(several.take(16).map(|part| schemas.resolved(part)));
    }
    let members: Vec<(&String, &Value)> = parts
        .iter()
        .filter_map(|part| part.get("properties")?.as_object())
        .flat_map(|members| members.iter())
        .collect();
    let has = |name: &str| members.iter().any(|(known, _)| *known == name);
    for flag in FLAGS {
        let mut said = members.iter().filter(|(name, _)| *name == flag).map(|(_, member)| schemas.resolved(member));
        if said.any(|member| may_be_false(&member)) && REASONS.into_iter().any(has) {
            return Some(when(
                &format!("/{flag}"),
                Test::Is(Value::Bool(false)),
                REASONS.into_iter().filter(|name| has(name)),
                place,
            ));
        }
    }
    // The shape of GraphQL (September 2025, 7.1): `data`, and `errors` where something went wrong.
    let is_list = |name: &str| {
        let mut named = members.iter().filter(|(known, _)| *known == name).map(|(_, member)| schemas.resolved(member));
        named.any(|member| types_of(&member).is_some_and(|types| types.contains(&"array")))
    };
    let graphql = path.split(['/', '.']).any(|word| word.eq_ignore_ascii_case("graphql"));
    if (has("data") && has("errors") && is_list("errors") && members.len() <= 4) || graphql {
        return Some(when("/errors", Test::Exists(true), ["errors"].into_iter(), place));
    }
    None
}

fn may_be_false(schema: &Value) -> bool {
    let admits = |value: &Value| *value == Value::Bool(false);
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => admits(only),
        (None, Some(several)) => several.iter().any(admits),
        (None, None) => types_of(schema).is_some_and(|types| types.contains(&"boolean")),
    }
}

fn by_examples(response: &Node, media_type: &str, place: &str) -> Option<FailsWhen> {
    let media = response.get("content")?.get(media_type)?;
    let named = media.get("examples").and_then(Node::as_object).into_iter().flat_map(Members::iter);
    let named = named.filter_map(|(_, example)| example.get("value"));
    let all = media
        .get("example")
        .into_iter()
        .chain(named)
        .chain(media.get("schema").and_then(|schema| schema.get("example")));
    for example in all.take(MAX_EXAMPLES) {
        for flag in FLAGS {
            if example.get(flag).and_then(Node::as_bool) == Some(false) {
                let told = REASONS.into_iter().filter(|name| example.get(name).is_some());
                return Some(when(&format!("/{flag}"), Test::Is(Value::Bool(false)), told, place));
            }
        }
        let errors = example.get("errors").and_then(Node::as_array).is_some_and(|errors| !errors.is_empty());
        if errors && example.get("data").is_some() {
            return Some(when("/errors", Test::Exists(true), ["errors"].into_iter(), place));
        }
    }
    None
}

fn when<'a>(pointer: &str, test: Test, told: impl Iterator<Item = &'a str>, evidence: &str) -> FailsWhen {
    FailsWhen {
        pointer: pointer.to_owned(),
        test,
        code: Code::new(FailsWhen::CODE).expect("capital letters and underscores are a code"),
        details: told.map(|name| format!("/{name}")).collect(),
        evidence: Some(evidence.to_owned()),
    }
}
