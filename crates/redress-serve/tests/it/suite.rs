//! What is advertised is what is accepted, on every face and for every schema: the JSON Schema Test Suite
//! (draft 2020-12) goes through operations and through the schemas that the faces show of them, verdict by
//! verdict, and every fix that is offered is applied and judged.
//!
//! The files of the suite are in `tests/json-schema-suite`, with their licence and where they come from.

mod advertised;
mod groups;
mod known;

use axum::Router;
use redress_core::{
    BuildError, Operation, Registry, Request,
    contract::{self, Schema},
};
use redress_mcp::{Mcp, McpOptions};
use redress_serve::Faces;
use serde_json::Value;

use advertised::{Documents, Judge, Readers};
use groups::{Group, Mode, groups};
use known::Known;

/// One group of the suite as the input of an operation.
struct Case {
    group: Group,
    mode: Mode,
    name: String,
}

impl Case {
    fn gives_the_same(&self) -> bool {
        self.mode == Mode::Member && self.group.refers()
    }

    fn operation(&self) -> Operation {
        let mut declaration = contract::OperationDeclaration::query(self.name.as_str())
            .with_summary("Takes what the suite says.")
            .with_access(contract::Access::anyone())
            .with_input(self.group.schema(self.mode));
        // What it gives has the same schema, so that both sides can be compared.
        if self.gives_the_same() {
            declaration = declaration.with_output(self.group.schema(self.mode));
        }
        Operation::dynamic(declaration).with_handler(|_, input| async move { Ok(input) })
    }
}

/// The cases that can be registered, and those that cannot.
fn cases() -> (Vec<Case>, Vec<Case>) {
    let case = |(number, group): (usize, Group)| {
        [Mode::Whole, Mode::Member].map(|mode| Case {
            group: group.clone(),
            mode,
            name: format!("suite.{}_{number}", mode.name()),
        })
    };
    // Where nothing refers to the root of the document, a schema is no other as a whole than as a member.
    let is_of_use = |case: &Case| case.mode == Mode::Member || case.group.refers() || case.group.is_own();
    let all = groups().into_iter().enumerate().flat_map(case).filter(is_of_use);
    all.partition(|case| Schema::new(case.group.schema(case.mode)).bundled().is_ok())
}

fn registry<'a>(cases: impl Iterator<Item = &'a Case>) -> Result<Registry, BuildError> {
    let operations = cases.map(Case::operation).chain(redress_serve::discovery());
    operations.fold(Registry::builder(), |builder, operation| builder.add(operation)).build()
}

/// The faces of all operations, each of which is a tool.
fn faces(registry: &Registry) -> Router {
    let mut options = McpOptions::default();
    options.discovery_above = usize::MAX;
    Faces::new(registry.clone()).mcp(Mcp::new(registry.clone(), options).unwrap()).router()
}

/// How a call ended: whether the input was accepted, and what was said if it was not.
async fn called(registry: &Registry, name: &str, input: &Value) -> Result<(), Value> {
    let envelope = registry.call(name, Request::new(input.to_string().as_bytes())).await;
    let mut envelope: Value = serde_json::from_slice(&envelope.into_bytes()).unwrap();
    if envelope["ok"] == true {
        return Ok(());
    }
    assert_eq!(envelope["code"], "INVALID_INPUT", "{name} {input}: {envelope}");
    Err(envelope["details"].take())
}

/// Whether a tool's schema may differ from what is accepted in this input: it does not say that `null` is taken for a
/// member that is not given, and it does not say bounds that a double cannot hold.
fn is_of_dialect(said: bool, input: &Value) -> bool {
    if said {
        holds(input, &|value| value.as_f64().is_some_and(|n| n.abs() > 2f64.powi(53)))
    } else {
        holds(input, &Value::is_null)
    }
}

/// Whether any value in this one is such.
fn holds(value: &Value, such: &dyn Fn(&Value) -> bool) -> bool {
    such(value)
        || match value {
            Value::Array(items) => items.iter().any(|item| holds(item, such)),
            Value::Object(members) => members.values().any(|member| holds(member, such)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
}

#[tokio::test]
async fn every_face_advertises_what_is_accepted_and_every_fix_mends() {
    let (cases, _) = cases();
    let registry = registry(cases.iter()).unwrap();
    let documents = Documents::of(faces(&registry)).await;
    let mut known = Known::default();
    let mut readers = Readers::default();
    let (mut verdicts, mut fixes) = (0, 0);
    for case in &cases {
        let Case { group, mode, name } = case;
        documents.assert_declared_alike(case).await;
        documents.assert_outputs_as_inputs(case);
        let judges = documents.judges(case, &mut readers);
        for test in &group.tests {
            let input = mode.input(&test.data);
            let ending = called(&registry, name, &input).await;
            known.verdict(group, test, "operation", ending.is_ok() == test.valid);
            // The suite and we part where we check a format, and there the faces go with us.
            let accepted = ending.is_ok();
            for Judge { face, validator, objects_only } in &judges {
                if !objects_only || input.is_object() {
                    verdicts += 1;
                    let said = validator.is_valid(&input);
                    let agrees = said == accepted || (*face == "mcp" && is_of_dialect(said, &input));
                    known.verdict(group, test, face, agrees);
                }
            }
            let Err(details) = ending else { continue };
            let told = details["issues"][0]["rule"] != "schema";
            known.verdict(group, test, "explanation", told);
            if let Some(fix) = details.get("fix") {
                fixes += 1;
                let mended = groups::patched(input, fix);
                assert!(called(&registry, name, &mended).await.is_ok(), "{} {fix}", group.title());
                let judge = group.judge(*mode);
                assert!(judge.is_valid(&mended), "{} {fix}", group.title());
            }
        }
    }
    known.assert_verdicts_as_listed();
    assert!(verdicts > 7_000 && fixes > 30, "{verdicts} verdicts, {fixes} fixes");
}

#[test]
fn what_cannot_be_registered_is_refused_with_the_reason() {
    let (_, cases) = cases();
    let error = registry(cases.iter()).expect_err("none of them can be registered");
    let mut known = Known::default();
    for case in &cases {
        let mut findings = error.findings().iter().filter(|finding| finding.subject() == case.name);
        let finding = findings.next().unwrap_or_else(|| panic!("{}", case.group.title()));
        assert_eq!(finding.rule(), "bad-schema");
        known.refused(&case.group, finding.says());
    }
    known.assert_refused_as_listed();
}
