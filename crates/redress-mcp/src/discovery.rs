//! Four tools in the place of very many: find one, look at it, call it, call several.

use std::borrow::Cow;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use redress_contract::{EngineCode, Operation, Shape};
use redress_core::{Refusal, offload::Turn};
use redress_wire::{
    jsonrpc::Id,
    mcp::{CallParams, Era, Form, OutputSchema, Tool},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    Asking,
    arguments::Tidy,
    call,
    mcp::Inner,
    reply::Reply,
    stream::{self, Collected},
    way::Way,
};

/// How many tools a search gives at most, and how many when it does not say.
const MOST_FOUND: usize = 50;
const FOUND: usize = 10;
/// How many tools are shown, and called, at once.
const MOST_AT_ONCE: usize = 20;

/// One of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Search,
    Schema,
    Call,
    Batch,
}

impl Found {
    pub(crate) fn named(name: &str) -> Option<Found> {
        match name {
            "redress_search" => Some(Found::Search),
            "redress_schema" => Some(Found::Schema),
            "redress_call" => Some(Found::Call),
            "redress_batch" => Some(Found::Batch),
            _ => None,
        }
    }

    /// The fields that it takes.
    fn takes(self) -> &'static [&'static str] {
        match self {
            Found::Search => &["query", "limit"],
            Found::Schema => &["tools"],
            Found::Call => &["tool", "arguments"],
            Found::Batch => &["calls"],
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search<'a> {
    #[serde(borrow)]
    query: Cow<'a, str>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Schema<'a> {
    #[serde(borrow)]
    tools: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'a> {
    #[serde(borrow)]
    calls: Vec<Call<'a>>,
}

/// The four tools.
pub(crate) fn tools(form: Form) -> [Tool; 4] {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let call = object(
        json!({
            "tool": {"type": "string", "description": "The tool, as a search gave it."},
            "arguments": {"type": "object", "description": "Its input, as its schema says."},
        }),
        json!(["tool"]),
    );
    let search = Operation::query("redress.search")
        .with_summary("Find tools by what they do, by their names, or by the codes they fail with.")
        .with_input(object(
            json!({
                "query": {"type": "string", "maxLength": 512, "description": "A few words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND},
            }),
            json!(["query"]),
        ));
    let schema = Operation::query("redress.schema")
        .with_summary("Show tools whole: what each takes and gives, and every way it can fail.")
        .with_input(object(
            json!({"tools": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_AT_ONCE}}),
            json!(["tools"]),
        ));
    let one = Operation::mutation("redress.call")
        .with_summary("Call a tool. The answer is the tool's own, and so are its failures.")
        .with_input(call.clone());
    let batch = Operation::mutation("redress.batch")
        .with_summary("Call several tools at once. Each has its own envelope in the answer, in order.")
        .with_input(object(
            json!({"calls": {"type": "array", "items": call, "minItems": 1, "maxItems": MOST_AT_ONCE}}),
            json!(["calls"]),
        ));
    // What they give depends on what they find, so no schema is promised.
    let form = Form { output_schema: OutputSchema::None, ..form };
    [search, schema, one, batch].map(|operation| Tool::of(&operation, form))
}

impl Inner {
    pub(crate) async fn discover(
        &self,
        id: Id<'_>,
        found: Found,
        params: &CallParams<'_>,
        era: Era,
        asking: &Asking,
        way: Way<'_>,
    ) -> Reply {
        let input = params.arguments.map(|arguments| arguments.get()).unwrap_or("{}");
        let input = Tidy::around(found.takes(), &self.options.host_fields).tidied(input, &self.options.dropped_fields);
        let input = input.as_ref();
        let keyed = match call::keyed(asking, params.meta.as_ref()) {
            Ok(keyed) => keyed,
            Err(refusal) => {
                let envelope = self.registry.refuse(refusal, asking.request(b""));
                return self.carry(id, &envelope, None, None, era, asking);
            }
        };
        let answered = match found {
            Found::Search | Found::Schema if keyed.idempotency_key.is_some() => Err(Refusal::needless_key()),
            Found::Search => self.search(input, asking),
            Found::Schema => self.schema(input, era, asking),
            Found::Call => match read::<Call<'_>>(input) {
                Ok(call) => {
                    let inner = CallParams { name: call.tool, arguments: call.arguments, ..params.clone() };
                    return match self.catalogue.find(&inner.name) {
                        Some(_) => self.call(id, &inner, era, asking, way).await,
                        None => {
                            let refusal = self.no_tool(&inner.name, asking);
                            let envelope = self.registry.refuse(refusal, asking.request(b""));
                            self.carry(id, &envelope, None, None, era, asking)
                        }
                    };
                }
                Err(refusal) => Err(refusal),
            },
            // The key of the message is made each member's own by its place, and refused where a member takes none.
            Found::Batch => self.batch(input, &keyed).await,
        };
        match answered {
            Ok(output) => self.output(id, output, era).await,
            Err(refusal) => {
                let envelope = self.registry.refuse(refusal, asking.request(b""));
                self.carry(id, &envelope, None, None, era, asking)
            }
        }
    }

    fn search(&self, input: &str, asking: &Asking) -> Result<Vec<u8>, Refusal> {
        let Search { query, limit } = read(input)?;
        let limit = limit.unwrap_or(FOUND);
        if !(1..=MOST_FOUND).contains(&limit) || query.chars().count() > 512 {
            return Err(invalid(if query.len() > 512 { "/query" } else { "/limit" }));
        }
        let visible = self.catalogue.visible(asking.caller());
        let entries: Vec<_> = visible.entries().collect();
        let found = visible.index().search(&query);
        let shown = found.iter().take(limit).filter_map(|(place, _)| entries.get(*place)).map(|entry| {
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

    fn schema(&self, input: &str, era: Era, asking: &Asking) -> Result<Vec<u8>, Refusal> {
        let Schema { tools } = read(input)?;
        if !(1..=MOST_AT_ONCE).contains(&tools.len()) {
            return Err(invalid("/tools"));
        }
        let visible = self.catalogue.visible(asking.caller());
        let mut out = br#"{"tools":["#.to_vec();
        for (place, name) in tools.iter().enumerate() {
            let open = self.catalogue.place(name).and_then(|place| visible.tool(place));
            let Some(tool) = open else { return Err(self.no_tool(name, asking)) };
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.text(era).json());
        }
        out.extend_from_slice(b"]}");
        Ok(out)
    }

    async fn batch(&self, input: &str, asking: &Asking) -> Result<Vec<u8>, Refusal> {
        let Batch { calls } = read(input)?;
        if !(1..=MOST_AT_ONCE).contains(&calls.len()) {
            return Err(invalid("/calls"));
        }
        let member = |(place, call)| async move { (place, self.member(place, call, asking).await) };
        let mut running: FuturesUnordered<_> = calls.iter().enumerate().map(member).collect();
        let (mut answers, mut turn) = (vec![Vec::new(); calls.len()], Turn::begin());
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
    async fn member(&self, place: usize, call: &Call<'_>, asking: &Asking) -> Vec<u8> {
        let own = |text: &std::sync::Arc<str>| format!("{text}:{place}").into();
        let asking = Asking {
            request_id: asking.request_id.as_ref().map(own),
            idempotency_key: asking.idempotency_key.as_ref().map(own),
            ..asking.clone()
        };
        let Some(entry) = self.catalogue.find(&call.tool) else {
            return self.registry.refuse(self.no_tool(&call.tool, &asking), asking.request(b"")).into_bytes();
        };
        let arguments = call.arguments.map(RawValue::get).unwrap_or_default();
        let arguments = entry.tidy.tidied(arguments, &self.options.dropped_fields);
        let request = asking.request(arguments.as_bytes());
        if !entry.tool.streams() {
            return self.registry.call(entry.tool.operation().as_str(), request).await.into_bytes();
        }
        let bounds = self.options.stream;
        match stream::collect(&self.registry, &entry.declaration, request, bounds, None).await {
            Collected::Output(output) => [br#"{"ok":true,"result":"#, output.as_slice(), b"}"].concat(),
            Collected::Failed(envelope, _) => envelope.into_bytes(),
        }
    }

    /// Says inside a result that there is no such tool: the four themselves exist.
    fn no_tool(&self, name: &str, asking: &Asking) -> Refusal {
        let near = self.catalogue.visible(asking.caller()).index().near(name);
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
