//! A service behind the gateway: its operations, and the one place where its connections are.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use parking_lot::Mutex;
use redress_contract::{EngineCode, OutputBreach, Shape};
use redress_core::{
    Ctx, DynamicFailure, Events, Operation, Outcome, Secret, UpstreamFailure,
    offload::{LARGE, offload},
};
use redress_import::{Import, Server};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value};

use crate::{
    UpstreamConfig, UpstreamError, UpstreamHealth, UpstreamStatus, address,
    breaker::Breaker,
    client::{self, Clients},
    credentials::{CredentialSet, TokenClient},
    exchange::Exchange,
    fails_when::FailsWhenRule,
    gate::Gate,
    outcome::{Ended, outcome},
    planned::Planned,
    status::{self, Counters},
    stream,
};

/// A service behind the gateway. A clone is the same service.
///
/// ```
/// use redress_core::{Registry, Request, contract::Caller};
/// use redress_import::{ReadOptions, openapi};
/// use redress_upstream::{Upstream, UpstreamConfig};
///
/// let document = br#"
/// openapi: 3.1.0
/// info: {title: Shop, version: "1"}
/// servers: [{url: "http://127.0.0.1:9"}]
/// paths:
///   /orders:
///     get: {operationId: listOrders, responses: {200: {description: The orders.}}}
/// "#;
/// let import = openapi::read(document, &ReadOptions::default())?;
/// let shop = Upstream::new(import, UpstreamConfig::new("shop"))?;
/// let registry = shop.operations().into_iter().fold(Registry::builder(), |builder, one| builder.add(one)).build()?;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let request = Request::new(&b"{}"[..]).with_caller(Caller::new("ada"));
/// let envelope = registry.call("orders.list_orders", request).await;
/// // Nothing listens there.
/// assert_eq!(envelope.code(), Some("UPSTREAM_UNREACHABLE"));
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Upstream {
    inner: Arc<Inner>,
    planned: Arc<[Arc<Planned>]>,
}

/// What every call of one upstream shares.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: UpstreamConfig,
    pub(crate) headers: HeaderMap,
    pub(crate) clients: Clients,
    pub(crate) tokens: TokenClient,
    pub(crate) credentials: CredentialSet,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) counters: Arc<Counters>,
    base: Url,
    trouble: Arc<Mutex<Option<&'static str>>>,
}

impl Inner {
    /// Counts a call that the service did not answer, or not as its document says.
    pub(crate) fn failed(&self) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts it where the service is the reason why there is no answer.
    fn counted<T>(&self, answer: Result<T, UpstreamFailure>) -> Result<T, UpstreamFailure> {
        if let Err(failure) = &answer
            && matches!(failure.code(), EngineCode::UpstreamUnreachable | EngineCode::UpstreamUndeclared)
        {
            self.failed();
        }
        answer
    }

    /// Whether as many calls may be made at once and in a second as `config` says.
    fn has_gate_of(&self, config: &UpstreamConfig) -> bool {
        let bounds = |config: &UpstreamConfig| (config.concurrency, config.rate, config.queue_timeout);
        bounds(&self.config) == bounds(config)
    }

    /// Takes note of what went wrong.
    pub(crate) fn note(&self, trouble: &'static str) {
        *self.trouble.lock() = Some(trouble);
    }
}

impl Upstream {
    /// The service that `import` describes, as `config` says. Nothing is connected to before the first call.
    pub fn new(import: Import, config: UpstreamConfig) -> Result<Upstream, UpstreamError> {
        Upstream::made(import, config, None)
    }

    /// The same service as another document, and maybe another operator's word, describes it: what is known of its health,
    /// and what runs there, stays. Calls that run end as they began.
    pub fn renewed(&self, import: Import, config: UpstreamConfig) -> Result<Upstream, UpstreamError> {
        Upstream::made(import, config, Some(&self.inner))
    }

    fn made(import: Import, config: UpstreamConfig, before: Option<&Inner>) -> Result<Upstream, UpstreamError> {
        let base = base(&import.servers, &config)?;
        let credentials = CredentialSet::new(&import, &config.credentials, &base)?;
        let trusted: Vec<String> = named_by_operator(&config).collect();
        let mut planned = Vec::with_capacity(import.operations.len());
        for imported in import.operations {
            // Where an operator says where the service is, the document says nothing of it any more.
            let own = !imported.servers.is_empty() && config.base_url.is_none();
            let base = if own { self::base(&imported.servers, &config)? } else { base.clone() };
            let rules = imported
                .fails_when
                .iter()
                .chain(&config.fails_when)
                .map(FailsWhenRule::new)
                .collect::<Result<_, _>>()?;
            planned.push(Arc::new(Planned { imported, base, rules }));
        }
        let inner = Inner {
            headers: headers(&config)?,
            clients: Clients::new(&config, trusted.clone())?,
            tokens: TokenClient(client::for_tokens(&config, &trusted)?),
            credentials,
            breaker: before.map_or_else(|| Breaker::new(config.breaker), |before| Arc::clone(&before.breaker)),
            gate: match before {
                // Two gates would let through twice as much for as long as old calls run.
                Some(before) if before.has_gate_of(&config) => Arc::clone(&before.gate),
                Some(_) | None => Gate::new(config.concurrency, config.rate, config.queue_timeout).into(),
            },
            counters: before.map(|before| Arc::clone(&before.counters)).unwrap_or_default(),
            base,
            trouble: before.map(|before| Arc::clone(&before.trouble)).unwrap_or_default(),
            config,
        };
        Ok(Upstream { inner: Arc::new(inner), planned: planned.into() })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.inner.config.name
    }

    /// Its operations, to be added to a registry. From there on they are operations like any other.
    pub fn operations(&self) -> Vec<Operation> {
        self.planned.iter().map(|planned| self.operation(planned)).collect()
    }

    fn operation(&self, planned: &Arc<Planned>) -> Operation {
        let config = &self.inner.config;
        let mut declaration = planned.imported.operation.clone();
        for rule in &planned.rules {
            declaration = rule.declared_on(declaration);
        }
        if declaration.deadline().is_none()
            && let Some(deadline) = config.deadline
        {
            declaration = declaration.with_deadline(deadline);
        }
        if declaration.narrowing().is_empty() {
            declaration = declaration.with_narrowing(planned.imported.request.narrowing.iter().cloned());
        }
        if declaration.max_output_for_agents().is_none() {
            declaration = declaration.with_max_output_for_agents(config.max_response_agents);
        }
        let breach = if config.strict { OutputBreach::Undeclared } else { OutputBreach::Marked };
        let streams = declaration.shape() == Shape::Subscription;
        let operation = Operation::dynamic(declaration.with_output_breach(breach)).with_owner(config.name.clone());
        let (inner, planned) = (Arc::clone(&self.inner), Arc::clone(planned));
        if streams {
            operation.with_stream_handler(move |ctx, input| {
                let (inner, planned) = (Arc::clone(&inner), Arc::clone(&planned));
                async move { open(&inner, &planned, &ctx, input).await }
            })
        } else {
            operation.with_json_handler(move |ctx, input| {
                let (inner, planned) = (Arc::clone(&inner), Arc::clone(&planned));
                async move { call(&inner, &planned, &ctx, input).await }
            })
        }
    }

    /// How it does, as far as the calls so far tell.
    pub fn health(&self) -> UpstreamHealth {
        let inner = &self.inner;
        let breaker = inner.breaker.state();
        UpstreamHealth {
            name: inner.config.name.clone(),
            breaker,
            state: status::state(breaker, inner.breaker.failures()),
            trouble: *inner.trouble.lock(),
            in_flight: inner.gate.in_flight(),
            sent: inner.counters.sent.load(Ordering::Relaxed),
            failed: inner.counters.failed.load(Ordering::Relaxed),
        }
    }

    /// What is known about it. Secrets are read from where they come, and nothing is connected to.
    pub async fn status(&self) -> UpstreamStatus {
        let inner = &self.inner;
        let trouble = *inner.trouble.lock();
        UpstreamStatus {
            name: inner.config.name.clone(),
            address: client::shown(inner.base.as_str()),
            operations: self.planned.len(),
            breaker: inner.breaker.state(),
            failures: inner.breaker.failures(),
            trouble,
            in_flight: inner.gate.in_flight(),
            sent: inner.counters.sent.load(Ordering::Relaxed),
            retried: inner.counters.retried.load(Ordering::Relaxed),
            credentials: inner.credentials.status().await,
        }
    }

    /// Whether a connection can be made within `time`: for whoever looks for what is wrong. Nothing is asked for.
    pub async fn is_reachable(&self, time: Duration) -> bool {
        let base = &self.inner.base;
        let Some((host, port)) = base.host_str().zip(base.port_or_known_default()) else { return false };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let connected = tokio::time::timeout(time, tokio::net::TcpStream::connect((host, port))).await;
        matches!(connected, Ok(Ok(_)))
    }
}

async fn call(inner: &Arc<Inner>, planned: &Arc<Planned>, ctx: &Ctx, input: Value) -> Ended {
    let input = members(input);
    let answer = Exchange::new(inner, planned, ctx, &input)?.answer().await;
    let answer = inner.counted(answer)?;
    if answer.bytes.len() <= LARGE {
        return outcome(inner, planned, &input, answer);
    }
    let (inner, planned) = (Arc::clone(inner), Arc::clone(planned));
    offload(move || outcome(&inner, &planned, &input, answer)).await
}

async fn open(
    inner: &Arc<Inner>,
    planned: &Arc<Planned>,
    ctx: &Ctx,
    input: Value,
) -> Outcome<Events<Value, DynamicFailure>, DynamicFailure> {
    let input = members(input);
    let answer = Exchange::new(inner, planned, ctx, &input)?.stream().await;
    match inner.counted(answer)? {
        Ok(open) => stream::events(inner, planned, open).await,
        Err(answer) => match outcome(inner, planned, &input, answer) {
            Err(failed) => Err(failed),
            // A success that is no stream has no items.
            Ok(_) => Ok(Events::new(futures_util::stream::empty())),
        },
    }
}

fn members(input: Value) -> Map<String, Value> {
    match input {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Where a service is: as the operator says, else as its document does.
fn base(servers: &[Server], config: &UpstreamConfig) -> Result<Url, UpstreamError> {
    let by_operator = config.base_url.is_some();
    let said = config.base_url.clone().or_else(|| Some(servers.first()?.address(&config.server_variables)));
    let said = said.ok_or(UpstreamError::AddressMissing)?;
    let url = match Url::parse(&said) {
        Ok(url) => url,
        Err(_) => {
            let from = config.document_url.as_deref().and_then(|from| Url::parse(from).ok());
            let from = from.ok_or(UpstreamError::AddressMissing)?;
            from.join(&said).map_err(|_| UpstreamError::AddressMissing)?
        }
    };
    let refused =
        !by_operator && address::literal(&url).is_some_and(|at| address::reach(at) == address::Reach::Refused);
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty();
    if refused || !fits || said.contains(['{', '}']) {
        return Err(UpstreamError::AddressUnsafe { address: client::shown(url.as_str()) });
    }
    Ok(url)
}

/// The names that the operator wrote down.
fn named_by_operator(config: &UpstreamConfig) -> impl Iterator<Item = String> {
    let urls = config.base_url.iter().chain(&config.proxy);
    urls.filter_map(|text| Url::parse(text).ok()?.host_str().map(str::to_owned))
}

fn headers(config: &UpstreamConfig) -> Result<HeaderMap, UpstreamError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &config.headers {
        let unfit = || UpstreamError::HeaderUnfit { name: name.clone() };
        let key = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).map_err(|_| unfit())?;
        headers.insert(key, HeaderValue::from_str(value).map_err(|_| unfit())?);
    }
    Ok(headers)
}

/// Every secret of an answer that is read bit by bit.
pub(crate) type Secrets = Arc<[Secret]>;
