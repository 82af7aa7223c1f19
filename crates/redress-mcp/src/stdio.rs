//! The face over one input and one output: a message a line, many requests at once.

use std::{
    collections::HashMap,
    io::{self, BufRead as _, BufReader, Read, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use redress_contract::EngineCode;
use redress_core::Refusal;
use redress_wire::{
    jsonrpc::{self, Call, Id, Member, Message, Unreadable},
    mcp::{Era, ProtocolError, method, read_params},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{
    Asking, checks,
    mcp::{Asked, Inner},
    reply::Reply,
    stream::Step,
};

/// What a message may hold beside the input of its call.
const AROUND_INPUT: usize = 64 * 1024;
/// How many lines wait to be read, and how many to be written.
const LINES: usize = 64;
/// How many steps of progress of one request wait to be written.
const STEPS: usize = 16;
/// How long requests that run have to end once the input has.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// One line of the input.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The requests that run, by their ids as they were written.
type Running = Arc<Mutex<HashMap<Box<str>, CancellationToken>>>;

pub(crate) async fn serve(
    inner: &Arc<Inner>,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    asking: Asking,
) -> io::Result<()> {
    let declared = inner.registry.contract().operations().iter().filter_map(|operation| operation.max_input());
    let longest = declared.fold(inner.registry.settings().max_input, usize::max).saturating_add(AROUND_INPUT);
    let (line, mut lines) = mpsc::channel(LINES);
    // Reading and writing block, and neither may hold the other or a call back.
    std::thread::Builder::new().name("mcp-in".into()).spawn(move || read(input, longest, &line))?;
    let (out, written) = mpsc::channel(LINES);
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("mcp-out".into()).spawn(move || {
        // Nobody waits for the end any more where the service was dropped.
        let _ = ended.send(write(output, written));
    })?;
    let mut connection = Connection {
        inner: Arc::clone(inner),
        asking: Arc::new(asking),
        out,
        running: Running::default(),
        tasks: JoinSet::new(),
    };
    loop {
        tokio::select! {
            line = lines.recv() => match line {
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

struct Connection {
    inner: Arc<Inner>,
    asking: Arc<Asking>,
    out: mpsc::Sender<Vec<u8>>,
    running: Running,
    tasks: JoinSet<()>,
}

impl Connection {
    async fn take(&mut self, line: Line) {
        let Line::Whole(line) = line else {
            let says = "the message is longer than is taken";
            return self.send(Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, None)).await;
        };
        let reply = match jsonrpc::read(&line, 1) {
            Ok(Message::Single(Member::Call(Call { id: Some(id), .. }))) => match self.admit(id) {
                Ok(token) => {
                    let request = self.request(token);
                    self.tasks.spawn(request.run(line));
                    return;
                }
                Err(reply) => reply,
            },
            Ok(Message::Single(Member::Call(call))) => return self.notified(&call),
            // An answer to what was never asked.
            Ok(Message::Single(Member::Invalid(_))) if is_answer(&line) => return,
            Ok(Message::Single(Member::Invalid(id))) => {
                Reply::error(id, ProtocolError::InvalidRequest, "the message is no request", None)
            }
            Ok(Message::Batch(_)) | Err(Unreadable::EmptyBatch | Unreadable::BatchTooLarge { .. }) => {
                let says = "a line holds one request; batches are not part of the protocol";
                Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, None)
            }
            Err(Unreadable::NotJson) => Reply::error(Id::NULL, ProtocolError::Parse, "the line is not JSON", None),
        };
        self.send(reply).await;
    }

    /// Takes note of a request that starts.
    fn admit(&self, id: Id<'_>) -> Result<CancellationToken, Reply> {
        if !checks::is_id(id) {
            let says = "an id is a string or a whole number";
            return Err(Reply::error(Id::NULL, ProtocolError::InvalidRequest, says, None));
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.contains_key(id.as_json()) {
            let says = "a request of this id still runs";
            return Err(Reply::error(id, ProtocolError::InvalidRequest, says, None));
        }
        let token = CancellationToken::new();
        running.insert(id.as_json().into(), token.clone());
        Ok(token)
    }

    fn request(&self, cancelled: CancellationToken) -> Request {
        Request {
            inner: Arc::clone(&self.inner),
            asking: Arc::clone(&self.asking),
            out: self.out.clone(),
            running: Arc::clone(&self.running),
            cancelled,
        }
    }

    fn notified(&self, call: &Call<'_>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if call.method == method::CANCELLED
            && let Some(Cancelled { request_id }) = read_params(call.params)
            && let Some(token) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(request_id.get())
        {
            token.cancel();
        }
    }

    async fn send(&self, reply: Reply) {
        // Where the output is closed, the loop ends by itself.
        let _ = self.out.send(reply.body).await;
    }

    /// Lets what runs come to its end, for a while, and then calls it off.
    async fn close(mut self) {
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

/// One request that runs.
struct Request {
    inner: Arc<Inner>,
    asking: Arc<Asking>,
    out: mpsc::Sender<Vec<u8>>,
    running: Running,
    cancelled: CancellationToken,
}

impl Request {
    async fn run(self, line: Vec<u8>) {
        let Ok(Message::Single(Member::Call(Call { id: Some(id), method, params }))) = jsonrpc::read(&line, 1) else {
            return;
        };
        let reply = tokio::select! {
            biased;
            // Who calls a request off does not want an answer; dropping the call cancels it.
            () = self.cancelled.cancelled() => None,
            reply = self.answer(id, &method, params) => Some(reply),
        };
        // The id is free before the answer is out, so that it can be used at once.
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(id.as_json());
        if let Some(reply) = reply {
            let _ = self.out.send(reply.body).await;
        }
    }

    async fn answer(&self, id: Id<'_>, method: &str, params: &[u8]) -> Reply {
        let Some(asked) = Asked::read(method, params) else { return checks::unreadable(id, method) };
        let era = match checks::over_lines(id, &asked) {
            Ok(era) => era,
            Err(reply) => return reply,
        };
        if let Asked::Call(_) = &asked
            && self.running.lock().unwrap_or_else(PoisonError::into_inner).len() > self.inner.options.in_flight
        {
            let envelope = self.inner.registry.refuse(Refusal::new(EngineCode::Overloaded), self.asking.request(b""));
            return self.inner.carry(id, &envelope, None, None, era, &self.asking);
        }
        match asked.meta().and_then(|meta| meta.progress_token) {
            Some(token) => self.with_progress(id, &asked, era, token).await,
            None => self.inner.answer(id, &asked, era, &self.asking, None).await,
        }
    }

    async fn with_progress(&self, id: Id<'_>, asked: &Asked<'_>, era: Era, token: &RawValue) -> Reply {
        let (sender, mut steps) = mpsc::channel::<Step>(STEPS);
        let mut answer = std::pin::pin!(self.inner.answer(id, asked, era, &self.asking, Some(&sender)));
        let reply = loop {
            tokio::select! {
                biased;
                Some(step) = steps.recv() => {
                    let _ = self.out.send(told(token, &step)).await;
                }
                reply = &mut answer => break reply,
            }
        };
        // A call that never paused has left its steps behind.
        while let Ok(step) = steps.try_recv() {
            let _ = self.out.send(told(token, &step)).await;
        }
        reply
    }
}

/// A step as a notification.
fn told(token: &RawValue, step: &Step) -> Vec<u8> {
    let mut params = serde_json::json!({"progressToken": token, "progress": step.progress});
    if let Some(members) = params.as_object_mut() {
        members.extend(step.total.map(|total| ("total".to_owned(), total.into())));
        members.extend(step.message.clone().map(|message| ("message".to_owned(), message.into())));
    }
    let message = serde_json::json!({"jsonrpc": "2.0", "method": method::PROGRESS, "params": params});
    message.to_string().into_bytes()
}

fn is_answer(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        result: Option<IgnoredAny>,
        #[serde(default)]
        error: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Answer>(line).is_ok_and(|answer| answer.result.is_some() || answer.error.is_some())
}

/// Reads lines until the input ends or nobody takes them. What is too long is read over.
fn read(input: impl Read, longest: usize, lines: &mpsc::Sender<Line>) {
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > longest {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() && !hand_over(lines, &mut line, &mut too_long) {
            return;
        }
    }
    // The last line may have no end.
    hand_over(lines, &mut line, &mut too_long);
}

/// Hands a line over, unless it is empty; says whether anybody took it.
fn hand_over(lines: &mpsc::Sender<Line>, line: &mut Vec<u8>, too_long: &mut bool) -> bool {
    let whole = std::mem::take(line);
    if std::mem::take(too_long) {
        return lines.blocking_send(Line::TooLong).is_ok();
    }
    whole.trim_ascii().is_empty() || lines.blocking_send(Line::Whole(whole)).is_ok()
}

/// Writes lines until there are no more. What is at hand goes out together.
fn write(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(line) = lines.blocking_recv() {
        buffer.clear();
        let mut next = Some(line);
        while let Some(line) = next {
            buffer.extend_from_slice(&line);
            buffer.push(b'\n');
            next = if buffer.len() < 64 * 1024 { lines.try_recv().ok() } else { None };
        }
        output.write_all(&buffer)?;
        output.flush()?;
    }
    Ok(())
}
