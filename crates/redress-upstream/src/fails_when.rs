//! Successes that are none: HTTP says 200, and the body says no.

use redress_contract::{Effect, FailureDeclaration, Kind, OperationDeclaration, Recovery, Shape};
use redress_import::{FailsWhen, Test};
use regex::Regex;
use serde_json::{Map, Value, json};

use crate::UpstreamError;

/// A rule by which a success is none, made ready.
#[derive(Clone, Debug)]
pub(crate) struct FailsWhenRule {
    said: FailsWhen,
    pattern: Option<Regex>,
}

impl FailsWhenRule {
    pub(crate) fn new(said: &FailsWhen) -> Result<FailsWhenRule, UpstreamError> {
        let pattern = match &said.test {
            Test::Matches(pattern) => {
                Some(Regex::new(pattern).map_err(|_| UpstreamError::PatternUnfit { pattern: pattern.clone() })?)
            }
            Test::Is(_) | Test::Exists(_) => None,
        };
        Ok(FailsWhenRule { said: said.clone(), pattern })
    }

    /// The failure that it makes of a success.
    pub(crate) fn code(&self) -> &str {
        self.said.code.as_str()
    }

    /// Whether `body` is none of a success.
    pub(crate) fn is_met(&self, body: &Value) -> bool {
        let found = body.pointer(&self.said.pointer);
        match &self.said.test {
            Test::Is(value) => found == Some(value),
            Test::Exists(exists) => found.is_some_and(is_something) == *exists,
            Test::Matches(_) => {
                let text = found.and_then(Value::as_str);
                text.zip(self.pattern.as_ref()).is_some_and(|(text, pattern)| pattern.is_match(text))
            }
        }
    }

    /// What is told of the body: what the rule names, or all of it.
    pub(crate) fn told(&self, body: Value) -> Value {
        if self.said.details.is_empty() {
            return body;
        }
        let named = self.said.details.iter().filter_map(|pointer| {
            let name = pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
            Some((name, body.pointer(pointer)?.clone()))
        });
        Value::Object(named.collect::<Map<String, Value>>())
    }

    /// What the service says went wrong: the first text that the rule names, or that stands where the rule looks.
    pub(crate) fn reason(&self, body: &Value) -> Option<String> {
        let told = self.said.details.iter().chain([&self.said.pointer]);
        told.filter_map(|pointer| body.pointer(pointer)?.as_str()).next().map(str::to_owned)
    }

    /// The same operation, with the failure declared unless it is already.
    pub(crate) fn declared_on(&self, operation: OperationDeclaration) -> OperationDeclaration {
        if operation.failure(self.code()).is_some() {
            return operation;
        }
        let effect = match operation.shape() {
            Shape::Query | Shape::Subscription => Effect::None,
            Shape::Mutation => Effect::Unknown,
        };
        let failure = FailureDeclaration::new(self.code(), Kind::Unknown)
            .with_http(502)
            .with_when("The service answers as if all were well, and says in its answer that it is not.")
            .with_message("the service refused: {reason}")
            .with_effect(effect)
            .with_details(json!({
                "type": "object",
                "properties": {"status": {"type": "integer"}, "reason": {"type": "string"}, "body": {}},
                "required": ["status", "reason"],
            }))
            .with_recovery(Recovery::ask_user("Read in `details` what the service says, and tell the user."));
        operation.fails(failure)
    }
}

/// Whether a value is more than nothing in a wrapping.
fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pointer: &str, test: Test, details: &[&str]) -> FailsWhenRule {
        let code = serde_json::from_value(json!("SERVICE_SAYS_NO")).unwrap();
        let details = details.iter().map(|text| (*text).to_owned()).collect();
        FailsWhenRule::new(&FailsWhen { pointer: pointer.to_owned(), test, code, details, evidence: None }).unwrap()
    }

    #[test]
    fn a_success_that_is_none_is_known_by_what_stands_in_it() {
        let rows = [
            (json!({"ok": false}), rule("/ok", Test::Is(json!(false)), &[]), true),
            (json!({"ok": true}), rule("/ok", Test::Is(json!(false)), &[]), false),
            (json!({}), rule("/ok", Test::Is(json!(false)), &[]), false),
            (json!({"errors": [{"message": "no"}]}), rule("/errors", Test::Exists(true), &[]), true),
            (json!({"errors": []}), rule("/errors", Test::Exists(true), &[]), false),
            (json!({"errors": null, "data": {}}), rule("/errors", Test::Exists(true), &[]), false),
            (json!({"other": 1}), rule("/data", Test::Exists(false), &[]), true),
            (json!({"status": "ERR_42"}), rule("/status", Test::Matches("^ERR".into()), &[]), true),
            (json!({"status": "OK"}), rule("/status", Test::Matches("^ERR".into()), &[]), false),
            (json!({"status": 4}), rule("/status", Test::Matches(".".into()), &[]), false),
            (json!([]), rule("/status", Test::Exists(true), &[]), false),
        ];
        for (body, rule, met) in rows {
            assert_eq!(rule.is_met(&body), met, "{body} {rule:?}");
        }
    }

    #[test]
    fn what_the_rule_names_is_told() {
        let body = json!({"ok": false, "error": "channel_not_found", "warning": {"a/b": 1}, "secret": "x"});
        let named = rule("/ok", Test::Is(json!(false)), &["/error", "/warning/a~1b", "/none"]);
        assert_eq!(named.told(body.clone()), json!({"error": "channel_not_found", "a/b": 1}));
        assert_eq!(named.reason(&body).as_deref(), Some("channel_not_found"));
        let all = rule("/error", Test::Exists(true), &[]);
        assert_eq!(all.told(body.clone()), body);
        assert_eq!(all.reason(&body).as_deref(), Some("channel_not_found"));
    }
}
