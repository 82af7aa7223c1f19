//! An operation as a tool.

use redress_contract::{Gives, Holds, Name, OperationDeclaration, Origin, Shape};
use serde_json::{Map, Value, json};

use super::{
    Era, FAILURES_META, OutputSchema, VERIFY_META,
    describe::{self, ToolReader},
    dialect,
    output::{OutputForm, advertised},
    prose::spoken,
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
    shown: String,
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
    fn of(mut tool: Map<String, Value>, output: Option<Value>) -> ToolText {
        if let Some(output) = output {
            tool.insert("outputSchema".into(), output);
        }
        ToolText { json: Value::Object(tool).to_string().into_bytes() }
    }

    /// The tool as JSON.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

impl Tool {
    /// The tool of `operation`.
    pub fn of(operation: &OperationDeclaration, form: OutputForm) -> Tool {
        Tool::told(operation, form, ToolReader::ANYBODY)
    }

    /// The tool of `operation`, as it is described to `reader`.
    pub fn told(operation: &OperationDeclaration, form: OutputForm, reader: ToolReader<'_>) -> Tool {
        let (shown, tool) = described(operation, reader);
        let (legacy, modern) = (advertised(operation, form, Era::Legacy), advertised(operation, form, Era::Modern));
        let modern = (modern != legacy).then(|| ToolText::of(tool.clone(), modern));
        let legacy = ToolText::of(tool, legacy);
        Tool {
            name: operation.tool_name(),
            operation: operation.name().clone(),
            streams: operation.shape() == Shape::Subscription,
            // Without a schema anything may stand there.
            admits_failure: form.output_schema != OutputSchema::Success || operation.gives() == Gives::Blocks,
            shows_blocks: operation.gives() == Gives::Blocks && operation.shape() != Shape::Subscription,
            shown,
            legacy,
            modern,
        }
    }

    /// What hosts show a model of it, as JSON: its name, its description and what it takes.
    pub fn shown(&self) -> &str {
        &self.shown
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

/// What hosts show of the tool, and all of it that is the same in every era.
fn described(operation: &OperationDeclaration, reader: ToolReader<'_>) -> (String, Map<String, Value>) {
    let mut tool = Map::new();
    tool.insert("name".into(), operation.tool_name().into());
    tool.insert("description".into(), describe::description(operation, reader).into());
    tool.insert("inputSchema".into(), input(operation, reader));
    let shown = serde_json::to_string(&tool).expect("a map of JSON values is JSON");
    tool.insert("title".into(), describe::title(operation).into());
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
    (shown, tool)
}

/// What a tool takes, in the dialect of tools.
fn input(operation: &OperationDeclaration, reader: ToolReader<'_>) -> Value {
    let mut input = schema::apart(operation.input()).rooted();
    if let Value::Object(input) = &mut input {
        of_objects(input);
        // The tool's own title and description say what the whole is.
        input.remove("title");
        input.remove("description");
    }
    let mut input = dialect::dialect(input);
    rename(&mut input, reader);
    input
}

/// Says operations in the descriptions of a schema by the names of their tools. Only what stands as a description of a
/// schema is one, and every string under that name that is a value stays as it is.
fn rename(schema: &mut Value, reader: ToolReader<'_>) {
    let Value::Object(words) = schema else { return };
    if let Some(Value::String(text)) = words.get_mut("description")
        && let std::borrow::Cow::Owned(other) = spoken(text, reader.names)
    {
        *text = other;
    }
    for (word, value) in words.iter_mut() {
        match (Holds::by(word), value) {
            (Holds::Schema, value) => rename(value, reader),
            (Holds::List, Value::Array(several)) => several.iter_mut().for_each(|one| rename(one, reader)),
            (Holds::Named, Value::Object(named)) => named.values_mut().for_each(|one| rename(one, reader)),
            (Holds::List | Holds::Named | Holds::Data, _) => {}
        }
    }
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

fn annotations(operation: &OperationDeclaration) -> Value {
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
