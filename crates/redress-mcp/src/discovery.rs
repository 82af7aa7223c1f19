//! Four tools in the place of very many: find one, look at it, call it, call several.

use std::{borrow::Cow, sync::Arc};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use redress_contract::{EngineCode, OperationDeclaration, Shape};
use redress_core::{
    Refusal,
    offload::{CoopBudget, offload},
};
use redress_wire::{
    jsonrpc::Id,
    mcp::{CallParams, Era, OutputForm, OutputSchema, Tool},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    RequestContext,
    arguments::Tidy,
    call,
    client_channel::ClientChannel,
    mcp::McpInner,
    reply::Reply,
    stream::{self, CollectedStream},
};

/// How many tools a search gives at most, and how many when it does not say.
const MAX_FOUND: usize = 50;
const FOUND: usize = 10;
/// How many tools are shown, and called, at once.
const MAX_AT_ONCE: usize = 20;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryTool {
    Search,
    Schema,
    Call,
    Batch,
}

impl DiscoveryTool {
    pub(crate) fn named(name: &str) -> Option<DiscoveryTool> {
        match name {
            "redress_search" => Some(DiscoveryTool::Search),
            "redress_schema" => Some(DiscoveryTool::Schema),
            "redress_call" => Some(DiscoveryTool::Call),
            "redress_batch" => Some(DiscoveryTool::Batch),
            _ => None,
        }
    }

    /// The fields that it takes.
    fn takes(self) -> &'static [&'static str] {
        match self {
            DiscoveryTool::Search => &["query", "limit"],
            DiscoveryTool::Schema => &["tools"],
            DiscoveryTool::Call => &["tool", "arguments"],
            DiscoveryTool::Batch => &["calls"],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments<'a> {
    #[serde(borrow)]
    query: Cow<'a, str>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemaArguments<'a> {
    #[serde(borrow)]
    tools: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchArguments<'a> {
    #[serde(borrow)]
    calls: Vec<CallArguments<'a>>,
}

/// The four tools.
pub(crate) fn tools(form: OutputForm) -> [Tool; 4] {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let call = object(
        json!({
            "tool": {"type": "string", "description": "The tool, as a search gave it."},
            "arguments": {"type": "object", "description": "Its input, as its schema says."},
        }),
        json!(["tool"]),
    );
    let search = OperationDeclaration::query("redress.search")
        .with_summary("Find tools by what they do, by their names, or by the codes they fail with.")
        .with_input(object(
            json!({
                "query": {"type": "string", "maxLength": 512, "description": "A few words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_FOUND},
            }),
            json!(["query"]),
        ));
    let schema = OperationDeclaration::query("redress.schema")
        .with_summary("Show tools whole: what each takes and gives, and every way it can fail.")
        .with_input(object(
            json!({"tools": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_AT_ONCE}}),
            json!(["tools"]),
        ));
    let one = OperationDeclaration::mutation("redress.call")
        .with_summary("Call a tool. The answer is the tool's own, and so are its failures.")
        .with_input(call.clone());
    let batch = OperationDeclaration::mutation("redress.batch")
        .with_summary("Call several tools at once. Each has its own envelope in the answer, in order.")
        .with_input(object(
            json!({"calls": {"type": "array", "items": call, "minItems": 1, "maxItems": MAX_AT_ONCE}}),
            json!(["calls"]),
        ));
    // What they give depends on what they find, so no schema is promised.
    let form = OutputForm { output_schema: OutputSchema::None, ..form };
    [search, schema, one, batch].map(|operation| Tool::of(&operation, form))
}

impl McpInner {
    pub(crate) async fn discover(
        &self,
        id: Id<'_>,
        found: DiscoveryTool,
        params: &CallParams<'_>,
        era: Era,
        context: &RequestContext,
        channel: ClientChannel<'_>,
    ) -> Reply {
        let input = params.arguments.map(|arguments| arguments.get()).unwrap_or("{}");
        let input = Tidy::around(found.takes(), &self.options.host_fields).tidied(input, &self.options.dropped_fields);
        let input = input.as_ref();
        let keyed = match call::keyed(context, params.meta.as_ref()) {
            Ok(keyed) => keyed,
            Err(refusal) => {
                let envelope = self.registry.refuse(refusal, context.request(b""));
                return self.carry(id, &envelope, None, None, era, context);
            }
        };
        let answered = match found {
            DiscoveryTool::Search | DiscoveryTool::Schema if keyed.idempotency_key.is_some() => {
                Err(Refusal::needless_key())
            }
            DiscoveryTool::Search => self.search(input, context).await,
            DiscoveryTool::Schema => self.schema(input, era, context),
            DiscoveryTool::Call => match read::<CallArguments<'_>>(input) {
                Ok(call) => {
                    let inner = CallParams { name: call.tool, arguments: call.arguments, ..params.clone() };
                    return match self.catalogue.find(&inner.name) {
                        Some(_) => self.call(id, &inner, era, context, channel).await,
                        None => {
                            let refusal = self.no_tool(&inner.name, context);
                            let envelope = self.registry.refuse(refusal, context.request(b""));
                            self.carry(id, &envelope, None, None, era, context)
                        }
                    };
                }
                Err(refusal) => Err(refusal),
            },
            // The key of the message is made each member's own by its place, and refused where a member takes none.
            DiscoveryTool::Batch => self.batch(input, &keyed).await,
        };
        match answered {
            Ok(output) => self.output(id, output, era).await,
            Err(refusal) => {
                let envelope = self.registry.refuse(refusal, context.request(b""));
                self.carry(id, &envelope, None, None, era, context)
            }
        }
    }

    async fn search(&self, input: &str, context: &RequestContext) -> Result<Vec<u8>, Refusal> {
        let SearchArguments { query, limit } = read(input)?;
        let limit = limit.unwrap_or(FOUND);
        if !(1..=MAX_FOUND).contains(&limit) || query.chars().count() > 512 {
            return Err(invalid(if query.len() > 512 { "/query" } else { "/limit" }));
        }
        let visible = self.catalogue.visible(context.caller());
        let (asked, question) = (Arc::clone(&visible), query.into_owned());
        let found = offload(move || asked.search(&question)).await;
        let entries: Vec<_> = visible.entries().collect();
        let shown = found.iter().take(limit).filter_map(|place| entries.get(*place)).map(|entry| {
            let mut codes: Vec<&str> =
                entry.declaration.failures().iter().map(|failure| failure.code().as_str()).collect();
            if entry.declaration.access().needs_consent() {
                codes.push(EngineCode::ConsentRequired.as_str());
            }
            json!({
                "tool": entry.tool.name(),
                "summary": entry.declaration.summary(),
                "changes": entry.declaration.shape() == Shape::Mutation,
                "fails_with": codes,
            })
        });
        let shown: Vec<Value> = shown.collect();
        Ok(json!({"tools": shown, "found": found.len(), "of": entries.len()}).to_string().into_bytes())
    }

    fn schema(&self, input: &str, era: Era, context: &RequestContext) -> Result<Vec<u8>, Refusal> {
        let SchemaArguments { tools } = read(input)?;
        if !(1..=MAX_AT_ONCE).contains(&tools.len()) {
            return Err(invalid("/tools"));
        }
        let visible = self.catalogue.visible(context.caller());
        let mut out = br#"{"tools":["#.to_vec();
        for (place, name) in tools.iter().enumerate() {
            let open = self.catalogue.place(name).and_then(|place| visible.tool(place));
            let Some(tool) = open else { return Err(self.no_tool(name, context)) };
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.text(era).json());
        }
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    async fn batch(&self, input: &str, context: &RequestContext) -> Result<Vec<u8>, Refusal> {
        let BatchArguments { calls } = read(input)?;
        if !(1..=MAX_AT_ONCE).contains(&calls.len()) {
            return Err(invalid("/calls"));
        }
        let member = |(place, call)| async move { (place, self.member(place, call, context).await) };
        let mut running: FuturesUnordered<_> = calls.iter().enumerate().map(member).collect();
        let (mut answers, mut turn) = (vec![Vec::new(); calls.len()], CoopBudget::begin());
        while let Some((place, answer)) = running.next().await {
            if let Some(slot) = answers.get_mut(place) {
                *slot = answer;
            }
            turn.over().await;
        }
        let mut out = br#"{"results":["#.to_vec();
        for (place, answer) in answers.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(answer);
        }
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    /// One call of a batch, as its envelope. Id and key are made the member's own: two calls of
    /// one name could not be told apart, and one key for all would make them conflict.
    async fn member(&self, place: usize, call: &CallArguments<'_>, context: &RequestContext) -> Vec<u8> {
        let own = |text: &std::sync::Arc<str>| format!("{text}:{place}").into();
        let context = RequestContext {
            request_id: context.request_id.as_ref().map(own),
            idempotency_key: context.idempotency_key.as_ref().map(own),
            ..context.clone()
        };
        let Some(entry) = self.catalogue.find(&call.tool) else {
            return self.registry.refuse(self.no_tool(&call.tool, &context), context.request(b"")).into_bytes();
        };
        let arguments = call.arguments.map(RawValue::get).unwrap_or_default();
        let arguments = entry.tidy.tidied(arguments, &self.options.dropped_fields);
        let request = context.request(arguments.as_bytes());
        if !entry.tool.streams() {
            return self.registry.call(entry.tool.operation().as_str(), request).await.into_bytes();
        }
        let bounds = self.options.stream;
        match stream::collect(&self.registry, &entry.declaration, request, bounds, None).await {
            CollectedStream::Output(output) => [br#"{"ok":true,"result":"#, output.as_slice(), b"}"].concat(),
            CollectedStream::Failed(envelope, _) => envelope.into_bytes(),
        }
    }

    /// Says inside a result that there is no such tool: the four themselves exist.
    fn no_tool(&self, name: &str, context: &RequestContext) -> Refusal {
        let near = self.catalogue.visible(context.caller()).near(name);
        Refusal::new(EngineCode::NotFound)
            .expecting("/tool", "the name of a tool that redress_search gives")
            .with_similar(near)
            .with_hint("Find the tool with redress_search and use the name that it gives.")
    }
}

fn read<'a, T: Deserialize<'a>>(input: &'a str) -> Result<T, Refusal> {
    // A list in the place of an object would be read as its members, in their order.
    if !input.starts_with('{') {
        return Err(invalid(""));
    }
    serde_json::from_str(input).map_err(|_| invalid(""))
}

fn invalid(pointer: &str) -> Refusal {
    Refusal::new(EngineCode::InvalidInput)
        .with_details(&json!({"pointer": pointer}))
        .with_hint("Look at the tool's input schema and correct the arguments.")
}
