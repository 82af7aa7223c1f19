//! What an operator says about an upstream.

use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf, time::Duration};

use redress_import::FailsWhen;

use crate::{BreakerConfig, Credential};

/// Gives the headers by which a request joins the trace of its call, by name and value.
pub type TraceHeaders = fn() -> Vec<(&'static str, String)>;

/// What an operator says about an upstream. Every number has a default.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamConfig {
    /// What it is called in details, in the log and in metrics.
    pub name: String,
    /// Where the service is, in the place of what its document says.
    pub base_url: Option<String>,
    /// Where the document was got from, for addresses in it that are relative.
    pub document_url: Option<String>,
    /// The values of variables in the addresses of the document.
    pub server_variables: BTreeMap<String, String>,
    /// How long one call may take, all tries together, where the operation has no deadline of its own.
    pub deadline: Option<Duration>,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// For how long nothing may come while an answer is read.
    pub read_timeout: Duration,
    /// How many calls may be in flight at once.
    pub concurrency: usize,
    /// How many calls may be sent in a second.
    pub rate: Option<NonZeroU32>,
    /// How long a call waits for its turn.
    pub queue_timeout: Duration,
    /// When nothing is sent any more.
    pub breaker: BreakerConfig,
    /// How often a call is sent again, where that is safe.
    pub retries: u32,
    /// How long is waited before the first of these, and twice as long before each next one.
    pub backoff: Duration,
    /// The most bytes of an answer that are read, as they are after decompression.
    pub max_response: usize,
    /// The most bytes of an answer that an agent is given.
    pub max_response_agents: usize,
    /// What is given for the security schemes of the document, by their names.
    pub credentials: BTreeMap<String, Credential>,
    /// What turns a success of HTTP into a failure, for every operation.
    pub fails_when: Vec<FailsWhen>,
    /// Whether an answer that breaks its own document is refused, and not delivered and marked.
    pub strict: bool,
    /// Certificates of authorities that are trusted beside those of the system: PEM files.
    pub roots: Vec<PathBuf>,
    /// Headers that are sent with every request.
    pub headers: BTreeMap<String, String>,
    /// A proxy through which requests go.
    pub proxy: Option<String>,
    /// Gives the headers by which a request joins the trace of its call.
    pub trace_headers: Option<TraceHeaders>,
}

impl UpstreamConfig {
    /// What holds where an operator says nothing.
    pub fn new(name: impl Into<String>) -> UpstreamConfig {
        UpstreamConfig {
            name: name.into(),
            base_url: None,
            document_url: None,
            server_variables: BTreeMap::new(),
            deadline: None,
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(30),
            concurrency: 64,
            rate: None,
            queue_timeout: Duration::from_secs(2),
            breaker: BreakerConfig::default(),
            retries: 2,
            backoff: Duration::from_millis(100),
            max_response: 16 * 1024 * 1024,
            max_response_agents: 128 * 1024,
            credentials: BTreeMap::new(),
            fails_when: Vec::new(),
            strict: false,
            roots: Vec::new(),
            headers: BTreeMap::new(),
            proxy: None,
            trace_headers: None,
        }
    }
}
