//! How an outcome looks on every face: one JSON object, told apart by `ok`.
//!
//! Why so: docs/decisions/0002-envelope-in-contract.md.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    Allowance, Breach, Code, Done, Effect, Json, Kind, Name, Printed, RequestId, Reservation, Retry,
    encode::{BoundedBuffer, EncodeError},
    members::{BEFORE_ERROR, Members},
    reservation::HeldReservation,
};

/// The outcome of one call, ready for any face: the output or the [`Problem`], and what
/// is known about the call itself.
///
/// The JSON is written once, into one buffer, up to `_meta`; faces that want only the
/// output or the problem take a slice of it.
#[derive(Clone, Debug)]
pub struct Envelope {
    body: Vec<u8>,
    problem: Option<Box<Problem>>,
    /// Where in the body the message of a bad ending ends.
    error_end: usize,
    meta: Meta,
    held: HeldReservation,
    /// Few calls have any of it, so that it takes no room in every envelope.
    aside: Option<Box<EnvelopeExtras>>,
}

/// What few envelopes have.
#[derive(Clone, Debug, Default)]
struct EnvelopeExtras {
    /// What is left of the allowances that the call was taken from.
    allowances: Box<[Allowance]>,
    /// Where the output breaks its schema, of one that is delivered all the same.
    breach: Option<Breach>,
}

/// An output, already written as JSON.
#[derive(Clone, Debug)]
pub struct OutputJson {
    /// The envelope up to the end of the output.
    buffer: Vec<u8>,
    /// How many characters the buffer has, where they were counted.
    characters: Option<u64>,
    held: HeldReservation,
    /// Where it breaks its schema, of one that is delivered all the same.
    breach: Option<Box<Breach>>,
}

/// What is known about the call itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The name of the call, the same as in the log.
    pub request_id: RequestId,
    /// How long it took.
    pub elapsed_ms: u64,
    /// About how many tokens a model reads, `_meta` not counted.
    pub estimated_tokens: u64,
    /// The session that the call belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Arc<str>>,
}

impl Meta {
    /// What is known of a call that took no time yet.
    pub fn new(request_id: RequestId) -> Meta {
        Meta { request_id, elapsed_ms: 0, estimated_tokens: 0, session_id: None }
    }
}

/// A bad ending, as the caller sees it. It holds nothing that was not declared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// What happened, for a person. Programs go by `code`.
    pub error: Cow<'static, str>,
    /// The stable name of what happened.
    pub code: Code,
    /// What sort of bad ending it is.
    pub kind: Kind,
    /// The more general codes, nearest first.
    pub extends: Arc<[Code]>,
    /// What to do, for a person or a model.
    pub hint: Arc<str>,
    /// Whether a program may make the same call again without asking anybody.
    pub retryable: bool,
    /// Whether, and how, the same call may be made again.
    pub retry: Retry,
    /// How long to wait first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether the side effect happened.
    pub effect: Effect,
    /// The status that goes with it.
    pub http: u16,
    /// What to do, for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryStep>,
    /// Calls that help, ready to be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
    /// What exists and is near to what was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub similar: Vec<Similar>,
    /// The failure's public fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
    /// Where the page about the code is.
    pub docs_url: Arc<str>,
}

impl Problem {
    /// What is left to say where nobody knows what a call did, and no query is known that shows it.
    pub const FIND_OUT: &str = "Find out what the call has done before you make it again.";

    /// Takes back what would have the same call made again where `retry` says that this is not safe: a step that leads
    /// to a repetition asks the person behind the call instead, and there is no time after which to come again. Says
    /// whether there was such a step.
    ///
    /// ```
    /// use redress_contract::{Code, Effect, Kind, Problem, RecoveryStep, Retry};
    ///
    /// let mut problem = Problem {
    ///     error: "the bank did not answer".into(),
    ///     code: Code::new("BANK_SILENT").unwrap(),
    ///     kind: Kind::Unavailable,
    ///     extends: [].into(),
    ///     hint: "Wait a minute, then pay again.".into(),
    ///     retryable: false,
    ///     retry: Retry::Unsafe,
    ///     retry_after_ms: Some(60_000),
    ///     effect: Effect::Unknown,
    ///     http: 503,
    ///     recovery: Some(RecoveryStep::Wait),
    ///     next_actions: Vec::new(),
    ///     similar: Vec::new(),
    ///     details: None,
    ///     docs_url: "/errors/BANK_SILENT".into(),
    /// };
    /// assert!(problem.ask_where_unsafe());
    /// assert_eq!((problem.recovery, problem.retry_after_ms), (Some(RecoveryStep::AskUser), None));
    /// ```
    pub fn ask_where_unsafe(&mut self) -> bool {
        if self.retry != Retry::Unsafe {
            return false;
        }
        self.retry_after_ms = None;
        let repeats = self.recovery.as_ref().is_some_and(RecoveryStep::repeats);
        if repeats {
            self.recovery = Some(RecoveryStep::AskUser);
        }
        repeats
    }
}

/// The verb of a recovery, as the caller sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum RecoveryStep {
    /// Change the input at `pointer` and call again.
    FixInput {
        /// An RFC 6901 pointer into the input.
        pointer: Arc<str>,
    },
    /// Call another operation; the next action holds its input.
    Call {
        /// The operation to call.
        operation: Name,
    },
    /// Call a query that shows whether the effect took place; the next action holds its input.
    Verify {
        /// The query to call.
        operation: Name,
        /// How its answer shows that the effect took place.
        done: Arc<Done>,
    },
    /// Wait, then call again.
    Wait,
    /// Ask the person on whose behalf the call is made.
    AskUser,
    /// Obtain a scope.
    GetAccess {
        /// The scope that is missing.
        scope: Arc<str>,
    },
    /// Do not go on.
    Stop,
}

/// A call that helps, ready to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NextAction {
    /// The operation to call.
    pub operation: Name,
    /// Its input, as far as the failure knows it.
    pub input: Json,
    /// Why, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
}

/// Something that exists and is near to what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similar {
    /// What would have been found.
    pub value: String,
}

const OK: &[u8] = br#"{"ok":true,"result":"#;

/// Room for `_meta` without a session.
const META_ROOM: usize = 160;

impl OutputJson {
    /// Writes `value` as JSON.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<OutputJson, serde_json::Error> {
        let mut buffer = Vec::with_capacity(256);
        buffer.extend_from_slice(OK);
        serde_json::to_writer(&mut buffer, value)?;
        Ok(OutputJson { buffer, characters: None, held: HeldReservation::default(), breach: None })
    }

    /// Writes `value` as JSON, if it has `max` bytes at most. Beyond `room` bytes, `grow` is asked whether there is
    /// room for this many; where there is none, the value is only measured.
    pub fn encode_within<T: Serialize + ?Sized>(
        value: &T,
        max: usize,
        room: usize,
        grow: impl FnMut(usize) -> bool,
    ) -> Result<OutputJson, EncodeError> {
        let buffer = BoundedBuffer::encode(value, OK, max, room, grow)?;
        Ok(OutputJson { buffer, characters: None, held: HeldReservation::default(), breach: None })
    }

    /// The same output with its characters counted, so that whoever puts it into an envelope need not.
    #[must_use]
    pub fn counted(mut self) -> OutputJson {
        self.characters = Some(characters(&self.buffer));
        self
    }

    /// The same output, marked as one that breaks its schema there.
    #[must_use]
    pub fn marked(mut self, breach: Breach) -> OutputJson {
        self.breach = Some(Box::new(breach));
        self
    }

    /// Where it breaks its schema, of one that is delivered all the same.
    pub fn breach(&self) -> Option<&Breach> {
        self.breach.as_deref()
    }

    /// The output as JSON.
    pub fn json(&self) -> &[u8] {
        self.buffer.get(OK.len()..).unwrap_or_default()
    }

    /// How many characters the output has as JSON.
    ///
    /// ```
    /// use redress_contract::OutputJson;
    ///
    /// assert_eq!(OutputJson::encode("né").unwrap().characters(), 4);
    /// assert_eq!(OutputJson::encode("né").unwrap().counted().characters(), 4);
    /// ```
    pub fn characters(&self) -> u64 {
        match self.characters {
            Some(all) => all.saturating_sub(OK.len() as u64),
            None => characters(self.json()),
        }
    }

    /// How many bytes of memory it takes.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Holds `reservation` for as long as it is there. A clone does not.
    #[must_use]
    pub fn with_reservation(mut self, reservation: Reservation) -> OutputJson {
        self.held = HeldReservation(Some(reservation));
        self
    }

    /// Whether it holds a reservation.
    pub fn is_reserved(&self) -> bool {
        self.held.0.is_some()
    }

    /// The reservation, now the caller's to hold.
    pub fn take_reservation(&mut self) -> Option<Reservation> {
        self.held.0.take()
    }
}

impl Envelope {
    /// A success. The estimate of tokens is filled in here.
    pub fn success(output: OutputJson, mut meta: Meta) -> Envelope {
        let OutputJson { buffer: body, characters, held, breach } = output;
        meta.estimated_tokens = estimate(characters.unwrap_or_else(|| self::characters(&body)));
        let aside =
            breach.map(|breach| Box::new(EnvelopeExtras { breach: Some(*breach), ..EnvelopeExtras::default() }));
        Envelope { body, problem: None, error_end: 0, meta, held, aside }
    }

    /// A bad ending, partly printed before where that is at hand. The estimate of tokens is
    /// filled in here.
    pub fn failure(problem: Problem, printed: Option<&Printed>, mut meta: Meta) -> Envelope {
        let mut body = Vec::with_capacity(1024);
        body.extend_from_slice(BEFORE_ERROR);
        // Writing a string to a `Vec` cannot fail.
        let _ = serde_json::to_writer(&mut body, &problem.error);
        let error_end = body.len();
        if !printed.is_some_and(|printed| printed.append(&mut body, &problem)) {
            append_members(&mut body, &problem);
        }
        meta.estimated_tokens = estimate(characters(&body));
        let (problem, held) = (Some(Box::new(problem)), HeldReservation::default());
        Envelope { body, problem, error_end, meta, held, aside: None }
    }

    /// The same outcome, with what is left of the allowances that its call was taken from.
    #[must_use]
    pub fn with_allowances(mut self, allowances: Box<[Allowance]>) -> Envelope {
        self.aside.get_or_insert_default().allowances = allowances;
        self
    }

    /// What is left of the allowances that the call was taken from, for a face that has a place for it. It is no part
    /// of the JSON.
    pub fn allowances(&self) -> &[Allowance] {
        self.aside.as_ref().map_or(&[], |aside| &aside.allowances)
    }

    /// Where the output breaks its schema, of one that is delivered all the same. It is told in `_meta`.
    pub fn output_breach(&self) -> Option<&Breach> {
        self.aside.as_ref()?.breach.as_ref()
    }

    /// Whether the call ended well.
    pub fn is_ok(&self) -> bool {
        self.problem.is_none()
    }

    /// The output as JSON, if the call ended well.
    pub fn output(&self) -> Option<&[u8]> {
        if self.is_ok() { self.body.get(OK.len()..) } else { None }
    }

    /// The bad ending, if it was one.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_deref()
    }

    /// The bad ending itself, if it was one.
    pub fn into_problem(self) -> Option<Box<Problem>> {
        self.problem
    }

    /// The code of the bad ending, if it was one.
    pub fn code(&self) -> Option<&str> {
        self.problem().map(|problem| problem.code.as_str())
    }

    /// The message of the bad ending as JSON, if it was one.
    pub fn error_json(&self) -> Option<&[u8]> {
        self.body.get(BEFORE_ERROR.len()..self.error_end)
    }

    /// What the output holds of a budget, now the caller's to hold: for as long as the bytes of the output, or copies
    /// of them, are in memory.
    pub fn take_reservation(&mut self) -> Option<Reservation> {
        self.held.0.take()
    }

    /// What is known about the call itself.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The buffer that ends with the output, where in it the output begins, and what is known
    /// about the call: for a face that sends the output alone, and does not want to copy it. A
    /// bad ending comes back.
    pub fn into_output(self) -> Result<(Vec<u8>, usize, Meta), Envelope> {
        if self.is_ok() { Ok((self.body, OK.len(), self.meta)) } else { Err(self) }
    }

    /// The whole envelope as JSON.
    pub fn into_bytes(self) -> Vec<u8> {
        let Envelope { mut body, meta, aside, .. } = self;
        close(&mut body, &meta, breach_in(aside.as_deref()));
        body
    }

    /// The whole envelope as JSON, with further members before `_meta`. `more` is asked only
    /// about a bad ending.
    ///
    /// ```
    /// # use redress_contract::{EngineCode, Envelope, Meta, Problem, RequestId};
    /// # let page = EngineCode::Timeout.page();
    /// # let example = page.split("```json").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    /// # let problem: Problem = serde_json::from_str(example).unwrap();
    /// # let meta = Meta::new(RequestId::given("a").unwrap());
    /// let bytes = Envelope::failure(problem, None, meta).into_bytes_with(|members| {
    ///     let status = members.problem().http.to_string();
    ///     members.json("status", status.as_bytes());
    /// });
    /// let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    /// assert_eq!((json["code"].as_str(), json["status"].as_u64()), (Some("TIMEOUT"), Some(504)));
    /// ```
    pub fn into_bytes_with(self, more: impl FnOnce(&mut Members<'_>)) -> Vec<u8> {
        let Envelope { mut body, problem, error_end, meta, aside, .. } = self;
        if let Some(problem) = &problem {
            more(&mut Members::new(problem, &mut body, error_end));
        }
        close(&mut body, &meta, breach_in(aside.as_deref()));
        body
    }

    /// How much room the whole envelope takes as JSON, at least where its session has no long name.
    pub fn room(&self) -> usize {
        self.body.len() + META_ROOM
    }

    /// Appends the whole envelope, as JSON, to `bytes`.
    pub fn write_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.body);
        close(bytes, &self.meta, self.output_breach());
    }

    /// The whole envelope as JSON, copied.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.clone().into_bytes()
    }
}

/// Appends `_meta`, the last member.
fn close(body: &mut Vec<u8>, meta: &Meta, breach: Option<&Breach>) {
    body.extend_from_slice(br#","_meta":"#);
    write_meta(body, meta, breach);
    body.push(b'}');
}

/// Appends the members of `problem` to an object that is already open and has its message.
fn append_members(body: &mut Vec<u8>, problem: &Problem) {
    let start = body.len();
    let mut members = Vec::new();
    if serde_json::to_writer(&mut members, problem).is_ok() {
        // The message is the first member and begins behind the brace; without it, the rest
        // begins with a comma. The closing brace makes room for `_meta`.
        let error = start - BEFORE_ERROR.len() + br#"{"error":"#.len();
        body.extend_from_slice(members.get(error..members.len() - 1).unwrap_or_default());
    }
}

fn breach_in(aside: Option<&EnvelopeExtras>) -> Option<&Breach> {
    aside?.breach.as_ref()
}

fn write_meta(body: &mut Vec<u8>, meta: &Meta, breach: Option<&Breach>) {
    // Room for the members below, so that the buffer grows once at most.
    body.reserve(128);
    body.extend_from_slice(br#"{"request_id":""#);
    meta.request_id.write_to(body);
    body.extend_from_slice(br#"","elapsed_ms":"#);
    write_number(body, meta.elapsed_ms);
    body.extend_from_slice(br#","estimated_tokens":"#);
    write_number(body, meta.estimated_tokens);
    if let Some(session) = &meta.session_id {
        body.extend_from_slice(br#","session_id":"#);
        // Writing a string to a `Vec` cannot fail.
        let _ = serde_json::to_writer(&mut *body, session);
    }
    if let Some(breach) = breach {
        body.extend_from_slice(br#","output_breach":"#);
        let _ = serde_json::to_writer(&mut *body, breach);
    }
    body.push(b'}');
}

/// Writes `number` in digits. `write!` would cost more than the rest of `_meta`.
fn write_number(body: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        start -= 1;
        if number == 0 {
            break;
        }
    }
    body.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// A quarter of the characters, rounded up, for a body that lacks nothing but its closing brace. Characters are
/// Unicode scalar values, so the figure is the same in every language that reads the envelope.
fn estimate(characters: u64) -> u64 {
    (characters + 1).div_ceil(4)
}

fn characters(json: &[u8]) -> u64 {
    if json.is_ascii() {
        json.len() as u64
    } else {
        // Every byte that does not continue a character starts one.
        json.iter().filter(|byte| (**byte & 0xC0) != 0x80).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn meta() -> Meta {
        let request_id = RequestId::given("req-1").unwrap();
        Meta { elapsed_ms: 3, ..Meta::new(request_id) }
    }

    fn problem() -> Problem {
        Problem {
            error: "no file at ä".into(),
            code: Code::new("FILE_NOT_FOUND").unwrap(),
            kind: Kind::NotFound,
            extends: Arc::from([]),
            hint: "List the folder and pick a path that exists.".into(),
            retryable: false,
            retry: Retry::AfterFix,
            retry_after_ms: None,
            effect: Effect::None,
            http: 404,
            recovery: None,
            next_actions: Vec::new(),
            similar: Vec::new(),
            details: None,
            docs_url: "/errors/FILE_NOT_FOUND".into(),
        }
    }

    #[test]
    fn a_success_holds_any_json_value_under_result() {
        let envelope = Envelope::success(OutputJson::encode(&json!(["ok", {"_meta": 1}])).unwrap(), meta());
        assert_eq!(envelope.output(), Some(br#"["ok",{"_meta":1}]"#.as_slice()));
        let value: Value = serde_json::from_slice(&envelope.into_bytes()).unwrap();
        assert_eq!(value["result"][0], "ok");
        assert_eq!(value["_meta"]["request_id"], "req-1");
    }

    #[test]
    fn optional_members_of_a_failure_are_absent_and_never_null() {
        let bytes = Envelope::failure(problem(), None, meta()).into_bytes();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            keys,
            [
                "_meta",
                "code",
                "docs_url",
                "effect",
                "error",
                "extends",
                "hint",
                "http",
                "kind",
                "ok",
                "retry",
                "retryable"
            ]
        );
    }

    #[test]
    fn the_token_estimate_counts_characters_without_meta() {
        // A quarter of the characters, rounded up.
        for text in ["", "abc", "äöü€😀"] {
            let envelope = Envelope::success(OutputJson::encode(text).unwrap(), meta());
            let without_meta = json!({"ok": true, "result": text}).to_string();
            let expected = (without_meta.chars().count() as u64).div_ceil(4);
            assert_eq!(envelope.meta().estimated_tokens, expected, "{text}");
        }
        let envelope = Envelope::failure(problem(), None, meta());
        let mut value: Value = serde_json::from_slice(&envelope.to_bytes()).unwrap();
        value.as_object_mut().unwrap().remove("_meta");
        assert_eq!(envelope.meta().estimated_tokens, (value.to_string().chars().count() as u64).div_ceil(4));
    }

    #[test]
    fn numbers_are_written_in_digits() {
        for number in [0, 7, 10, 1_234, u64::MAX] {
            let mut body = Vec::new();
            write_number(&mut body, number);
            assert_eq!(body, number.to_string().into_bytes());
        }
    }

    #[test]
    fn a_problem_survives_a_round_trip() {
        let bytes = Envelope::failure(problem(), None, meta()).into_bytes();
        let back: Problem = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(problem()).unwrap());
    }
}
