//! One schema for each failure, shared by the operations that declare it alike.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use redress_contract::{
    Effect, EngineCode, Envelope, FailureDeclaration, Json, Meta, OperationDeclaration, Problem, RecoveryStep,
    RequestId, Retry, Shape, Started, Template, Verb,
};
use serde_json::{Map, Value, json};

use super::{reference, sample::sample, shared};
use crate::http::problem;

/// The schemas of all failures in a document, by the name of their component.
pub(super) struct FailureSchemas {
    declared: BTreeMap<String, FailureDeclaration>,
    /// The component of each declaration, by the declaration as it is written.
    names: HashMap<String, String>,
}

impl FailureSchemas {
    pub(super) fn of(operations: &[&OperationDeclaration]) -> FailureSchemas {
        let mut made = FailureSchemas { declared: BTreeMap::new(), names: HashMap::new() };
        for operation in operations {
            for failure in operation.failures() {
                let written = written(failure);
                if made.names.contains_key(&written) {
                    continue;
                }
                // The first to declare a code names it; the first that declares it otherwise names that.
                let shared = shared_name(failure);
                let name = if made.declared.contains_key(&shared) { own_name(operation, failure) } else { shared };
                made.declared.insert(name.clone(), failure.clone());
                made.names.insert(written, name);
            }
        }
        for code in answered(operations.iter().copied()) {
            made.declared.insert(engine_name(code), code.declaration());
        }
        made
    }

    /// The component that holds the schema of a failure.
    pub(super) fn name(&self, failure: &FailureDeclaration) -> String {
        self.names.get(&written(failure)).cloned().unwrap_or_else(|| shared_name(failure))
    }

    pub(super) fn insert_into(&self, schemas: &mut Map<String, Value>) {
        for (name, failure) in &self.declared {
            schemas.insert(name.clone(), schema(name, failure));
            schemas.insert(details_name(name), reference::moved(failure.details(), &details_name(name)));
        }
    }
}

pub(super) fn details_name(failure: &str) -> String {
    format!("{failure}.details")
}

/// A declaration as text, by which two that say the same are known to.
fn written(failure: &FailureDeclaration) -> String {
    serde_json::to_string(failure).unwrap_or_default()
}

fn shared_name(failure: &FailureDeclaration) -> String {
    format!("failure.{}", failure.code())
}

fn own_name(operation: &OperationDeclaration, failure: &FailureDeclaration) -> String {
    format!("failure.{}.{}", operation.name(), failure.code())
}

pub(super) fn engine_name(code: EngineCode) -> String {
    format!("engine.{code}")
}

fn schema(name: &str, failure: &FailureDeclaration) -> Value {
    let engine = EngineCode::parse(failure.code().as_str());
    let mut members = Map::new();
    members.insert("code".into(), json!({"const": failure.code()}));
    members.insert("details".into(), reference::to(&details_name(name)));
    if engine.is_none() {
        members.insert("kind".into(), json!({"const": failure.kind()}));
        members.insert("http".into(), json!({"const": failure.http()}));
        members.insert("extends".into(), json!({"const": failure.extends()}));
    }
    let mut required = vec!["code"];
    if failure.details().required().next().is_some() {
        required.push("details");
    }
    json!({
        "type": "object",
        "title": failure.code(),
        "description": failure.when(),
        "allOf": [reference::to(shared::PROBLEM)],
        "properties": members,
        "required": required,
    })
}

/// The engine codes that an operation can really end with, when it is called over HTTP.
pub(crate) fn engine_codes(operation: &OperationDeclaration) -> Vec<EngineCode> {
    EngineCode::ALL.into_iter().filter(|code| can_answer(operation, *code)).collect()
}

fn can_answer(operation: &OperationDeclaration, code: EngineCode) -> bool {
    use redress_contract::{Content, Origin};
    let access = operation.access();
    match code {
        EngineCode::ParseError
        | EngineCode::InvalidInput
        | EngineCode::InvalidRequest
        | EngineCode::AuthRequired
        | EngineCode::PayloadTooLarge
        | EngineCode::RateLimited
        | EngineCode::Overloaded
        | EngineCode::QuotaExhausted
        | EngineCode::Timeout
        | EngineCode::Cancelled
        | EngineCode::Internal
        | EngineCode::InvalidOutput
        | EngineCode::ResultTooLarge
        | EngineCode::UpstreamUnreachable => true,
        EngineCode::Forbidden => {
            access.is_checked() || !access.all_scopes().is_empty() || !access.any_scopes().is_empty()
        }
        EngineCode::ConsentRequired => access.needs_consent(),
        EngineCode::EvalBlockedKeyword | EngineCode::EvalBlockedConstruct | EngineCode::EvalUnparsable => {
            matches!(operation.content(), Content::Eval { .. })
        }
        EngineCode::IdempotencyConflict | EngineCode::OutcomeUnknown => operation.takes_idempotency_key(),
        EngineCode::UpstreamUndeclared | EngineCode::CredentialsRequired | EngineCode::ContractChanged => {
            match operation.origin() {
                Origin::Openapi | Origin::Mcp | Origin::Call => true,
                Origin::Local | Origin::Extension => false,
            }
        }
        // These come from another path or another way of asking; an overflow comes as the
        // last event of a stream, which has had its status long before.
        EngineCode::NotFound
        | EngineCode::InvalidOperationType
        | EngineCode::HandlerNotBound
        | EngineCode::StreamOverflow => false,
    }
}

/// The engine codes that a service of these operations can answer, whoever asks and in whatever way.
pub(crate) fn answered<'a>(operations: impl Iterator<Item = &'a OperationDeclaration> + Clone) -> Vec<EngineCode> {
    let some = |code| operations.clone().any(|operation| can_answer(operation, code));
    let streams = operations.clone().any(|operation| operation.shape() == Shape::Subscription);
    EngineCode::ALL
        .into_iter()
        .filter(|code| is_of_every_service(*code) || some(*code) || (streams && *code == EngineCode::StreamOverflow))
        .collect()
}

/// Whether every service can answer it, whatever its operations are: somebody may ask for what is not there, or send
/// what is no message.
fn is_of_every_service(code: EngineCode) -> bool {
    match code {
        EngineCode::ParseError
        | EngineCode::InvalidInput
        | EngineCode::InvalidRequest
        | EngineCode::InvalidOperationType
        | EngineCode::NotFound
        | EngineCode::AuthRequired
        | EngineCode::Forbidden
        | EngineCode::PayloadTooLarge
        | EngineCode::RateLimited
        | EngineCode::Overloaded
        | EngineCode::QuotaExhausted
        | EngineCode::Timeout
        | EngineCode::Cancelled
        | EngineCode::Internal
        | EngineCode::InvalidOutput
        | EngineCode::ResultTooLarge
        | EngineCode::UpstreamUnreachable => true,
        EngineCode::ConsentRequired
        | EngineCode::EvalBlockedKeyword
        | EngineCode::EvalBlockedConstruct
        | EngineCode::EvalUnparsable
        | EngineCode::IdempotencyConflict
        | EngineCode::OutcomeUnknown
        | EngineCode::UpstreamUndeclared
        | EngineCode::CredentialsRequired
        | EngineCode::ContractChanged
        | EngineCode::StreamOverflow
        // A registry does not build with an operation that nothing runs.
        | EngineCode::HandlerNotBound => false,
    }
}

/// How many examples a document has. They are made up from schemas, and where thousands of operations were imported they
/// would be a third of it.
const MAX_EXAMPLES: usize = 200;

/// What the answers of all operations share: each example once, and each answer.
#[derive(Default)]
pub(super) struct SharedAnswers {
    pub(super) responses: Map<String, Value>,
    pub(super) examples: Map<String, Value>,
}

impl SharedAnswers {
    /// A reference to an answer with this status. Most operations have those of the engine alike, and an operation that
    /// can be called in two ways has its own twice.
    fn response(&mut self, status: u16, answer: Value) -> Value {
        let mut number = 1_usize;
        loop {
            let name = if number == 1 { status.to_string() } else { format!("{status}.{number}") };
            match self.responses.get(&name) {
                Some(known) if *known != answer => number += 1,
                Some(_) => return json!({"$ref": format!("#/components/responses/{name}")}),
                None => {
                    self.responses.insert(name, answer.clone());
                }
            }
        }
    }

    /// A reference to the example of a failure, as it comes with this status.
    fn example(&mut self, shape: Shape, name: &str, failure: &FailureDeclaration) -> Option<Value> {
        let is_usual = EngineCode::parse(failure.code().as_str()).is_none_or(|code| code.http() == failure.http());
        let name = if is_usual { name.to_owned() } else { format!("{name}.{}", failure.http()) };
        let value = example(shape, failure)?;
        // What a mutation is told may be another thing than what a query is told.
        let told = format!("{name}.{}", value["retry"].as_str().unwrap_or_default());
        let example = json!({"summary": failure.when(), "value": value});
        if self.examples.len() >= MAX_EXAMPLES
            && ![&name, &told].into_iter().any(|name| self.examples.contains_key(name))
        {
            return None;
        }
        for name in [name, told] {
            let known = self.examples.entry(name.clone()).or_insert_with(|| example.clone());
            if *known == example {
                return Some(json!({"$ref": format!("#/components/examples/{name}")}));
            }
        }
        Some(example)
    }
}

/// The answers of an operation that ended badly, by status: its failures, the engine codes
/// that it can end with, and those that the way of asking brings.
pub(super) fn responses(
    operation: &OperationDeclaration,
    schemas: &FailureSchemas,
    asked: &[EngineCode],
    shared: &mut SharedAnswers,
) -> BTreeMap<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<(String, FailureDeclaration)>> = BTreeMap::new();
    for failure in operation.failures() {
        let name = schemas.name(failure);
        by_status.entry(failure.http()).or_default().push((name, failure.clone()));
    }
    for code in engine_codes(operation).into_iter().chain(asked.iter().copied()) {
        let declaration = code.declaration();
        if code == EngineCode::InvalidRequest {
            // A body that does not claim to be JSON has a status of its own.
            by_status.entry(415).or_default().push((engine_name(code), declaration.clone().with_http(415)));
        }
        by_status.entry(code.http()).or_default().push((engine_name(code), declaration));
    }
    by_status
        .into_iter()
        .map(|(status, mut failures)| {
            failures.sort_by(|(_, one), (_, other)| one.code().cmp(other.code()));
            let answer = response(operation.shape(), status, &failures, shared);
            (status.to_string(), shared.response(status, answer))
        })
        .collect()
}

fn response(shape: Shape, status: u16, failures: &[(String, FailureDeclaration)], shared: &mut SharedAnswers) -> Value {
    let mapping: Map<String, Value> = failures
        .iter()
        .map(|(name, failure)| (failure.code().to_string(), Value::from(format!("#/components/schemas/{name}"))))
        .collect();
    let one_of: Vec<Value> = failures.iter().map(|(name, _)| reference::to(name)).collect();
    let described: Vec<String> =
        failures.iter().map(|(_, failure)| format!("- `{}`: {}", failure.code(), failure.when())).collect();
    let examples: Map<String, Value> = failures
        .iter()
        .filter_map(|(name, failure)| Some((failure.code().to_string(), shared.example(shape, name, failure)?)))
        .collect();
    let mut headers = json!({"X-Request-Id": {"$ref": "#/components/headers/RequestId"}});
    let more: &[(&str, &str)] = match status {
        401 => &[("WWW-Authenticate", "WwwAuthenticate")],
        429 => &[("Retry-After", "RetryAfter"), ("RateLimit", "RateLimit"), ("RateLimit-Policy", "RateLimitPolicy")],
        503 => &[("Retry-After", "RetryAfter")],
        _ => &[],
    };
    for (header, component) in more {
        headers[*header] = json!({"$ref": format!("#/components/headers/{component}")});
    }
    json!({
        "description": described.join("\n"),
        "headers": headers,
        "content": {
            "application/problem+json": {
                "schema": {"oneOf": one_of, "discriminator": {"propertyName": "code", "mapping": mapping}},
                "examples": examples,
            },
        },
    })
}

/// The problem document of a failure as it might come, where its details can be made up.
pub(super) fn example(shape: Shape, failure: &FailureDeclaration) -> Option<Value> {
    let details = sample(failure.details())?;
    let fields = details.as_object()?;
    let error = Template::new(failure.message()).ok()?.render(fields);
    let started = if failure.effect() == Effect::None { Started::No } else { Started::Yes };
    let retry = Retry::advise(failure.retryable(), failure.effect(), shape, started, failure.recovery());
    let mut ending = Problem {
        error: error.into(),
        code: failure.code().clone(),
        kind: failure.kind(),
        extends: failure.extends().into(),
        hint: failure.recovery().map_or("", |recovery| recovery.hint()).into(),
        retryable: failure.retryable() && retry.says_yes(),
        retry,
        retry_after_ms: failure.retry_after().and_then(|field| fields.get(field)).and_then(Value::as_u64),
        effect: failure.effect(),
        http: failure.http(),
        recovery: failure.recovery().map(|recovery| step(recovery.verb())),
        next_actions: Vec::new(),
        similar: Vec::new(),
        details: if fields.is_empty() { None } else { Json::of(&details).ok() },
        docs_url: failure.code().docs_url().into(),
    };
    if ending.ask_where_unsafe() && EngineCode::parse(failure.code().as_str()).is_none() {
        ending.hint = Problem::FIND_OUT.into();
    }
    let request_id = RequestId::given("0199b3f2-4df1-7249-9d5f-3c8e41f239d9")?;
    let meta = Meta { elapsed_ms: 3, ..Meta::new(request_id) };
    let document = problem(Envelope::failure(ending, None, meta)).ok()?;
    serde_json::from_slice(&document.body).ok()
}

fn step(verb: &Verb) -> RecoveryStep {
    match verb {
        Verb::FixInput { pointer } => RecoveryStep::FixInput { pointer: Arc::from(pointer.as_str()) },
        Verb::Call { operation, .. } => RecoveryStep::Call { operation: operation.clone() },
        Verb::Verify { operation, done, .. } => {
            RecoveryStep::Verify { operation: operation.clone(), done: Arc::new(done.clone()) }
        }
        Verb::Wait => RecoveryStep::Wait,
        Verb::AskUser => RecoveryStep::AskUser,
        Verb::GetAccess { scope } => RecoveryStep::GetAccess { scope: Arc::from(scope.as_str()) },
        Verb::Stop => RecoveryStep::Stop,
    }
}
