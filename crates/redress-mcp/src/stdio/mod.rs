//! The face over one input and one output: a message a line, many requests at once.

mod client;
mod lines;
mod out;
#[cfg(target_os = "linux")]
mod pipes;
mod request;

use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::Duration,
};

use redress_core::{Account, Budget, BudgetLimits};
use redress_wire::{
    jsonrpc::{self, Id, Member, RpcCall, RpcMessage, Unreadable},
    mcp::{InitializeParams, method, read_params},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    RequestContext,
    mcp::McpInner,
    refusal::Unfit,
    reply::Reply,
    requests::Requests,
    session::{notification, unguessable},
    stdout::own_stdout,
};
use client::StdioClient;
use lines::InputLine;
use out::Out;
use request::StdioRequest;

/// What a message may hold beside the input of its call: what it says of itself, the state of a
/// call that asks, and the answers to it.
const AROUND_INPUT: usize = 256 * 1024;
/// How many lines wait to be read.
const LINES: usize = 64;
/// How long requests that run have to end once the input has.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Where lines come from.
enum LineSource {
    Thread(mpsc::Receiver<InputLine>),
    #[cfg(target_os = "linux")]
    Pipe(pipes::PipeLines),
}

impl LineSource {
    async fn next(&mut self) -> Option<InputLine> {
        match self {
            LineSource::Thread(lines) => lines.recv().await,
            #[cfg(target_os = "linux")]
            LineSource::Pipe(lines) => lines.next().await,
        }
    }
}

/// The way out: where lines go, and how writing them ended.
struct LineSink {
    out: Out,
    end: oneshot::Receiver<io::Result<()>>,
}

/// Speaks over the input and output of this process.
pub(crate) async fn serve_process(inner: &Arc<McpInner>, context: RequestContext) -> io::Result<()> {
    let output = own_stdout()?;
    #[cfg(target_os = "linux")]
    if let Some((reads, writes)) = pipes::open(&output) {
        let (out, written) = Out::new();
        let (ended, end) = oneshot::channel();
        tokio::spawn(async move {
            // Nobody waits for the end any more where the service was dropped.
            let _ = ended.send(pipes::write(writes, written).await);
        });
        let lines = pipes::PipeLines::new(reads, longest(inner));
        // As a task of its own it runs where its requests do: a message that changed threads
        // would cost more than the call.
        let running = tokio::spawn(run(Arc::clone(inner), LineSource::Pipe(lines), LineSink { out, end }, context));
        return tokio_util::task::AbortOnDropHandle::new(running).await.map_err(io::Error::other)?;
    }
    serve(inner, io::stdin(), output, context).await
}

pub(crate) async fn serve(
    inner: &Arc<McpInner>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    context: RequestContext,
) -> io::Result<()> {
    let (line, lines) = mpsc::channel(LINES);
    let longest = longest(inner);
    // Reading and writing block, and neither may hold the other or a call back.
    std::thread::Builder::new().name("mcp-in".into()).spawn(move || lines::read(input, longest, &line))?;
    let (out, written) = Out::new();
    let (ended, end) = oneshot::channel();
    std::thread::Builder::new().name("mcp-out".into()).spawn(move || {
        // Nobody waits for the end any more where the service was dropped.
        let _ = ended.send(lines::write(output, written));
    })?;
    run(Arc::clone(inner), LineSource::Thread(lines), LineSink { out, end }, context).await
}

/// The longest line that is taken.
fn longest(inner: &McpInner) -> usize {
    let declared = inner.registry.contract().operations().iter().filter_map(|operation| operation.max_input());
    declared.fold(inner.registry.settings().max_input, usize::max).saturating_add(AROUND_INPUT)
}

async fn run(inner: Arc<McpInner>, mut source: LineSource, sink: LineSink, context: RequestContext) -> io::Result<()> {
    let LineSink { out, end } = sink;
    let mut connection = StdioConnection {
        inner,
        account: context.account.clone().unwrap_or_else(|| Budget::new(BudgetLimits::default()).connection()).of_many(),
        context,
        client: Arc::new(StdioClient::new(out.clone())),
        out,
        running: Requests::default(),
        ending: CancellationToken::new(),
        tasks: JoinSet::new(),
        announcer: JoinSet::new(),
    };
    loop {
        // What is not read weighs on the host, and not on this process. Whoever waits for an answer of the client's has
        // asked for it by a line that the client has still to read.
        let full = connection.out.is_full();
        tokio::select! {
            () = connection.out.drained(), if full => {}
            line = source.next(), if !full => match line {
                Some(line) => connection.take(line).await,
                None => break,
            },
            Some(_) = connection.tasks.join_next() => {}
            () = connection.out.closed() => break,
        }
    }
    connection.close().await;
    // Who keeps the output open and does not read it is not waited for.
    match tokio::time::timeout(LAST_WORDS, end).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

struct StdioConnection {
    inner: Arc<McpInner>,
    context: RequestContext,
    /// What answers are charged to.
    account: Account,
    client: Arc<StdioClient>,
    out: Out,
    running: Requests,
    /// What ends requests that would never end by themselves.
    ending: CancellationToken,
    tasks: JoinSet<()>,
    /// Tells a client of the legacy era what changes.
    announcer: JoinSet<()>,
}

impl StdioConnection {
    async fn take(&mut self, line: InputLine) {
        let InputLine::Whole(line) = line else {
            let limit = longest(&self.inner);
            return self.send(self.inner.refuse(&Unfit::TooLarge(limit), Id::NULL, &self.context)).await;
        };
        let reply = match jsonrpc::read(&line, 1) {
            Ok(RpcMessage::Single(Member::Call(RpcCall { id: Some(id), method, params }))) => {
                match self.running.admit(id) {
                    Ok(token) => {
                        // What follows may come from a client that can be asked because of this.
                        if method == method::INITIALIZE
                            && let Some(params) = read_params::<InitializeParams<'_>>(params)
                        {
                            StdioClient::greeted(&self.client, params.client_can());
                            // A client of the modern era has no sessions, and does not greet.
                            if self.context.session_id.is_none() {
                                self.context.session_id = unguessable();
                            }
                        }
                        let request = self.request(token);
                        self.tasks.spawn(request.run(line));
                        return;
                    }
                    Err(unfit) => self.inner.refuse(&unfit, id, &self.context),
                }
            }
            Ok(RpcMessage::Single(Member::Call(call))) => return self.notified(&call),
            Ok(RpcMessage::Single(Member::Invalid(_))) if self.client.questions().answered(&line) => return,
            Ok(RpcMessage::Single(Member::Invalid(id))) => self.inner.refuse(&Unfit::NoRequest, id, &self.context),
            Ok(RpcMessage::Batch(_)) | Err(Unreadable::EmptyBatch | Unreadable::BatchTooLarge { .. }) => {
                self.inner.refuse(&Unfit::Batch, Id::NULL, &self.context)
            }
            Err(Unreadable::NotJson) => self.inner.refuse(&Unfit::NotJson, Id::NULL, &self.context),
        };
        self.send(reply).await;
    }

    fn request(&self, cancelled: CancellationToken) -> StdioRequest {
        StdioRequest {
            inner: Arc::clone(&self.inner),
            context: RequestContext { account: Some(self.account.clone()), ..self.context.clone() },
            client: Arc::clone(&self.client),
            out: self.out.clone(),
            running: self.running.clone(),
            cancelled,
            ending: self.ending.clone(),
        }
    }

    fn notified(&mut self, call: &RpcCall<'_>) {
        if call.method == method::CANCELLED {
            self.running.cancel(call.params);
        }
        if call.method == method::INITIALIZED && self.announcer.is_empty() {
            let mut changes = self.inner.registry.changes().subscribe();
            let (client, out) = (Arc::clone(&self.client), self.out.clone());
            self.announcer.spawn(async move {
                while let Some(change) = changes.next().await {
                    for notice in client.session().notices(&change) {
                        let (method, params) = notice.message();
                        if out.send(notification(method, &params)).await.is_err() {
                            return;
                        }
                    }
                }
            });
        }
    }

    async fn send(&self, reply: Reply) {
        // Where the output is closed, the loop ends by itself.
        let _ = self.out.send(reply.body).await;
    }

    /// Lets what runs come to its end, for a while, and then calls it off.
    async fn close(mut self) {
        self.announcer.shutdown().await;
        // Nobody answers any more.
        self.client.questions().gone();
        self.ending.cancel();
        let gone = self.out.clone();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        tokio::select! {
            () = ended => {}
            () = gone.closed() => {}
            () = tokio::time::sleep(LAST_WORDS) => {}
        }
        self.tasks.shutdown().await;
    }
}
