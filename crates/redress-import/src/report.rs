//! What an import gave, for people and for programs.

use std::{collections::BTreeMap, fmt};

use redress_contract::Shape;
use serde::Serialize;

use crate::{Import, NextCallOrigin, Skipped, Test, Warning};

/// How many of one thing are told in the text; programs get all of them.
const MAX_TOLD: usize = 20;

/// What an import gave: written as text for people, and as JSON for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What the service is called.
    pub title: String,
    /// The version of its interface.
    pub version: String,
    /// The version of OpenAPI that the document is written in.
    pub openapi: String,
    /// How many bytes the document has.
    pub document_bytes: usize,
    /// The operations.
    pub operations: Vec<ReportedOperation>,
    /// How many failures are declared, those told apart below a range or a default not counted.
    pub failures: usize,
    /// How many are told apart below a range or a default.
    pub derived_failures: usize,
    /// How many operations declare each code.
    pub codes: BTreeMap<String, usize>,
    /// How many bytes the schemas of all inputs, outputs and details have, cut as they are.
    pub schema_bytes: usize,
    /// What the list of all tools costs, where somebody has made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_list: Option<ToolList>,
    /// Calls that were made part of recoveries, unless an operator refuses them.
    pub next_calls: Vec<String>,
    /// Lines that an operator may add, because the document shows successes that are none.
    pub proposed_fails_when: Vec<String>,
    /// The operations that could not be imported.
    pub skipped: Vec<Skipped>,
    /// What is odd in the document.
    pub warnings: Vec<Warning>,
}

/// One operation of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedOperation {
    /// Its name.
    pub name: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Whether it reads, changes or streams.
    pub shape: Shape,
    /// The codes that it may fail with.
    pub failures: Vec<String>,
}

/// What the list of all tools costs whoever reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ToolList {
    /// How many bytes it has.
    pub bytes: usize,
    /// How many tokens that is, at four bytes each.
    pub estimated_tokens: usize,
}

impl Report {
    /// What `import` gave.
    pub fn of(import: &Import) -> Report {
        let mut codes: BTreeMap<String, usize> = BTreeMap::new();
        let (mut declared, mut derived, mut schema_bytes) = (0, 0, 0);
        let mut operations = Vec::with_capacity(import.operations.len());
        let (mut next_calls, mut fails_when) = (Vec::new(), Vec::new());
        for imported in &import.operations {
            let operation = &imported.operation;
            let failures: Vec<String> = operation.failures().iter().map(|failure| failure.code().to_string()).collect();
            for code in &failures {
                *codes.entry(code.clone()).or_default() += 1;
            }
            let apart = imported.responses.iter().filter(|plan| plan.derived && plan.code.is_some()).count();
            derived += apart;
            declared += failures.len().saturating_sub(apart);
            let schemas = [operation.input(), operation.output()].into_iter();
            let schemas = schemas.chain(operation.failures().iter().map(|failure| failure.details()));
            schema_bytes += schemas.map(|schema| schema.as_value().to_string().len()).sum::<usize>();
            for call in imported.next_calls.iter().filter(|call| !call.refused) {
                let by = match call.origin {
                    NextCallOrigin::Link => "by a link",
                    NextCallOrigin::Path => "by the paths",
                    NextCallOrigin::Override => "by an override",
                };
                let after = call.codes.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
                let after = if after.is_empty() { "a call that was cut off".to_owned() } else { after };
                let how = if call.verifies { "look with" } else { "call" };
                next_calls.push(format!("{}: after {after}, {how} {} ({by})", operation.name(), call.operation));
            }
            for when in &imported.proposed_fails_when {
                let test = match &when.test {
                    Test::Is(value) => format!("is = {value}"),
                    Test::Exists(yes) => format!("exists = {yes}"),
                    Test::Matches(pattern) => format!("matches = {pattern:?}"),
                };
                let line = format!("{{ pointer = \"{}\", {test}, code = \"{}\" }}", when.pointer, when.code);
                fails_when.push(format!("{}: fails_when = [{line}]", operation.name()));
            }
            operations.push(ReportedOperation {
                name: operation.name().to_string(),
                method: imported.request.method.clone(),
                path: imported.request.path.clone(),
                shape: operation.shape(),
                failures,
            });
        }
        Report {
            title: import.title.clone(),
            version: import.version.clone(),
            openapi: import.openapi.clone(),
            document_bytes: import.document_bytes,
            operations,
            failures: declared,
            derived_failures: derived,
            codes,
            schema_bytes,
            tool_list: None,
            next_calls,
            proposed_fails_when: fails_when,
            skipped: import.skipped.clone(),
            warnings: import.warnings.clone(),
        }
    }

    /// The same report with what a list of all tools costs that has so many bytes.
    #[must_use]
    pub fn with_tool_list(mut self, bytes: usize) -> Report {
        self.tool_list = Some(ToolList { bytes, estimated_tokens: bytes.div_ceil(4) });
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |shape| self.operations.iter().filter(|operation| operation.shape == shape).count();
        writeln!(f, "{} {} (OpenAPI {}, {} bytes)", self.title, self.version, self.openapi, self.document_bytes)?;
        writeln!(
            f,
            "operations: {} ({} queries, {} mutations, {} subscriptions)",
            self.operations.len(),
            by(Shape::Query),
            by(Shape::Mutation),
            by(Shape::Subscription)
        )?;
        writeln!(
            f,
            "failures: {} declared, {} told apart below a range or a default",
            self.failures, self.derived_failures
        )?;
        let codes: Vec<String> = self.codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        if !codes.is_empty() {
            writeln!(f, "  {}", codes.join(", "))?;
        }
        writeln!(f, "schemas: {} bytes as they are listed", self.schema_bytes)?;
        if let Some(list) = self.tool_list {
            writeln!(f, "tools: {} bytes, about {} tokens", list.bytes, list.estimated_tokens)?;
        }
        section(f, "skipped", &self.skipped, |one| {
            format!("{} {} at {}: {}", one.method, one.path, one.pointer, one.reason)
        })?;
        section(f, "warnings", &self.warnings, |one| format!("{} at {}: {}", one.rule, one.pointer, one.message))?;
        section(f, "next calls", &self.next_calls, String::clone)?;
        section(f, "successes that may be none", &self.proposed_fails_when, String::clone)
    }
}

fn section<T>(f: &mut fmt::Formatter<'_>, name: &str, all: &[T], line: impl Fn(&T) -> String) -> fmt::Result {
    writeln!(f, "{name}: {}", all.len())?;
    for one in all.iter().take(MAX_TOLD) {
        writeln!(f, "  {}", line(one))?;
    }
    match all.len().saturating_sub(MAX_TOLD) {
        0 => Ok(()),
        more => writeln!(f, "  … and {more} more"),
    }
}
