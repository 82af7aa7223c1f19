//! A line with a schema, and an input: what the schema admits is accepted, and nothing else is.

use jsonschema::PatternOptions;
use redress::{Access, Operation, Registry, Request, contract};
use serde_json::Value;

use super::cut;
use crate::{
    oracle::{self, Ending},
    service,
};

pub(super) fn target(data: &[u8]) {
    let (schema, input) = cut(data);
    let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return };
    let operation = contract::OperationDeclaration::query("demo.any")
        .with_summary("Takes what it says.")
        .with_access(Access::anyone())
        .with_input(schema.clone());
    let operation = Operation::dynamic(operation).with_handler(|_, input| async move { Ok(input) });
    // What cannot be registered cannot be called; that it is refused with findings is all there is to say.
    let registry = match Registry::builder().add(operation).build() {
        Ok(registry) => registry,
        Err(error) => {
            assert!(!error.findings().is_empty());
            return;
        }
    };
    let ending = service::alone(async {
        oracle::envelope(&registry, &oracle::json(&registry.call("demo.any", Request::new(input)).await.into_bytes()))
    });
    let document = if input.trim_ascii().is_empty() { b"{}" } else { input };
    let Ok(value) = serde_json::from_slice::<Value>(document) else {
        assert_eq!(ending.code(), Some("PARSE_ERROR"));
        return;
    };
    let registered = registry.operation("demo.any").expect("it is registered").input().as_value();
    let options = || {
        jsonschema::draft202012::options().should_validate_formats(true).with_pattern_options(PatternOptions::regex())
    };
    let admitted = options().offline().build(registered).expect("it is registered").is_valid(&value);
    // What is registered has other references, and means what was written.
    let written = options().offline().build(&schema).expect("it is registered").is_valid(&value);
    assert_eq!(written, admitted, "{value} by {schema} and {registered}");
    match ending {
        Ending::Well(_) => assert!(admitted, "{value} by {registered}"),
        // A member that stands twice is refused, and no value shows it.
        Ending::Badly { code, details, .. } => {
            assert_eq!(code, "INVALID_INPUT", "{details}");
            let twice = details["issues"][0]["rule"] == "duplicate";
            assert!(!admitted || twice, "{value} is admitted by {registered} and refused: {details}");
        }
    }
}
