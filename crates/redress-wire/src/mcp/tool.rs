//! An operation as a tool.

use redress_contract::{Gives, Name, Operation, Origin, Shape};
use serde_json::{Map, Value, json};

use super::{
    Era, FAILURES_META, OutputSchema, VERIFY_META, describe,
    output::{Form, advertised},
    schema,
};

/// An operation as a tool, as the lists of both eras hold it.
#[derive(Clone, Debug)]
pub struct Tool {
    name: String,
    operation: Name,
    streams: bool,
    admits_failure: bool,
    shows_blocks: bool,
    legacy: ToolText,
    /// Only where it differs.
    modern: Option<ToolText>,
}

/// A tool as one era sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolText {
    json: Vec<u8>,
}

impl ToolText {
    /// The tool as JSON.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

impl Tool {
    /// The tool of `operation`.
    pub fn of(operation: &Operation, form: Form) -> Tool {
        let legacy = written(operation, form, Era::Legacy);
        let modern = Some(written(operation, form, Era::Modern)).filter(|modern| *modern != legacy);
        Tool {
            name: operation.tool_name(),
            operation: operation.name().clone(),
            streams: operation.shape() == Shape::Subscription,
            // Without a schema anything may stand there.
            admits_failure: form.output_schema != OutputSchema::Success || operation.gives() == Gives::Blocks,
            shows_blocks: operation.gives() == Gives::Blocks && operation.shape() != Shape::Subscription,
            legacy,
            modern,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operation that it calls.
    pub fn operation(&self) -> &Name {
        &self.operation
    }

    /// Whether the operation streams.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Whether a bad ending may stand as `structuredContent`.
    pub fn admits_failure(&self) -> bool {
        self.admits_failure
    }

    /// Whether its output is pieces to look at.
    pub fn shows_blocks(&self) -> bool {
        self.shows_blocks
    }

    /// The tool as this era sees it.
    pub fn text(&self, era: Era) -> &ToolText {
        match (era, &self.modern) {
            (Era::Modern, Some(modern)) => modern,
            (Era::Legacy | Era::Modern, _) => &self.legacy,
        }
    }
}

fn written(operation: &Operation, form: Form, era: Era) -> ToolText {
    let mut input = schema::apart(operation.input()).rooted();
    if let Value::Object(input) = &mut input {
        of_objects(input);
    }
    let mut tool = Map::new();
    tool.insert("name".into(), operation.tool_name().into());
    tool.insert("title".into(), describe::title(operation).into());
    tool.insert("description".into(), describe::description(operation).into());
    tool.insert("inputSchema".into(), input);
    if let Some(output) = advertised(operation, form, era) {
        tool.insert("outputSchema".into(), output);
    }
    tool.insert("annotations".into(), annotations(operation));
    let mut meta = Map::new();
    if !operation.failures().is_empty() || operation.access().needs_consent() {
        meta.insert(FAILURES_META.into(), describe::failures(operation));
    }
    if let Some(verification) = operation.verification() {
        meta.insert(VERIFY_META.into(), json!(verification));
    }
    if !meta.is_empty() {
        tool.insert("_meta".into(), Value::Object(meta));
    }
    ToolText { json: Value::Object(tool).to_string().into_bytes() }
}

/// Makes a schema say in the one place where every revision wants it that it is about objects. Arguments are
/// nothing else, so what it admits of those stays the same.
fn of_objects(schema: &mut Map<String, Value>) {
    let said = schema.insert("type".into(), "object".into());
    let admits_objects = said.as_ref().is_none_or(|said| {
        said == "object" || said.as_array().is_some_and(|several| several.contains(&"object".into()))
    });
    if !admits_objects && let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([])) {
        all.push(json!({"type": said}));
    }
}

fn annotations(operation: &Operation) -> Value {
    let mut hints = match operation.shape() {
        Shape::Query | Shape::Subscription => json!({"readOnlyHint": true, "idempotentHint": true}),
        Shape::Mutation => json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false}),
    };
    // Of what runs elsewhere it is known that it reaches beyond this process.
    let elsewhere = matches!(operation.origin(), Origin::Openapi | Origin::Mcp | Origin::Call);
    if let (true, Value::Object(hints)) = (elsewhere, &mut hints) {
        hints.insert("openWorldHint".into(), true.into());
    }
    hints
}
