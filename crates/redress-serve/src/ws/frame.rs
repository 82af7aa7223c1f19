//! What is written to a connection.

use axum::extract::ws;
use bytes::Bytes;
use redress_contract::{Envelope, Meta, Reservation};
use serde_json::value::RawValue;

/// How a message travels. The answer to a call travels as its request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Text,
    Binary,
}

/// One message, ready to be written.
#[derive(Debug)]
pub(super) enum Frame {
    Message(FrameKind, Bytes, Option<Reservation>),
    Ping,
}

/// How many bytes of a message count as one small message.
const UNIT: usize = 16 * 1024;

impl Frame {
    /// One output: the answer to a call, or an item of a stream with its number.
    pub(super) fn responded(carriage: FrameKind, id: &str, seq: Option<u64>, output: &[u8]) -> Frame {
        let mut body = open("call.responded", id, output.len());
        match seq {
            Some(seq) => {
                body.extend_from_slice(br#"{"seq":"#);
                write(&mut body, &seq);
                body.extend_from_slice(br#","output":"#);
            }
            None => body.extend_from_slice(br#"{"output":"#),
        }
        body.extend_from_slice(output);
        body.push(b'}');
        close(carriage, body)
    }

    /// The same message, with what it holds of the budget for answers.
    pub(super) fn holding(self, reservation: Option<Reservation>) -> Frame {
        match self {
            Frame::Message(carriage, body, _) => Frame::Message(carriage, body, reservation),
            Frame::Ping => Frame::Ping,
        }
    }

    /// A bad ending. The payload is the envelope, with `message` beside `error`.
    pub(super) fn failed(carriage: FrameKind, id: Option<&str>, envelope: Envelope) -> Frame {
        let mut body = match id {
            Some(id) => open("call.error", id, 1024),
            None => br#"{"type":"call.error","id":null,"payload":"#.to_vec(),
        };
        let payload = envelope.into_bytes_with(|members| members.error("message"));
        body.extend_from_slice(&payload);
        close(carriage, body)
    }

    /// The good end of a stream, with what is known of the whole of it.
    pub(super) fn completed(carriage: FrameKind, id: &str, meta: &Meta) -> Frame {
        let mut body = open("call.completed", id, 160);
        body.extend_from_slice(br#"{"_meta":"#);
        write(&mut body, meta);
        body.push(b'}');
        close(carriage, body)
    }

    /// The end of a call that nobody wants any more.
    pub(super) fn aborted(carriage: FrameKind, id: &str) -> Frame {
        let mut body = open("call.aborted", id, 2);
        body.extend_from_slice(b"{}");
        close(carriage, body)
    }

    /// A call to the other side, or a stream from it.
    pub(super) fn requested(
        carriage: FrameKind,
        id: &str,
        operation: &str,
        input: &RawValue,
        deadline_ms: Option<u64>,
    ) -> Frame {
        let mut body = open("call.requested", id, input.get().len());
        body.extend_from_slice(br#"{"operation":"#);
        write(&mut body, operation);
        if let Some(ms) = deadline_ms {
            body.extend_from_slice(br#","deadline_ms":"#);
            write(&mut body, &ms);
        }
        body.extend_from_slice(br#","input":"#);
        body.extend_from_slice(input.get().as_bytes());
        body.push(b'}');
        close(carriage, body)
    }

    /// How many small messages it counts as, at most `window`.
    pub(super) fn weight(&self, window: u32) -> u32 {
        u32::try_from(units(self.bytes())).unwrap_or(window).clamp(1, window.max(1))
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Frame::Message(_, body, _) => body.len(),
            Frame::Ping => 0,
        }
    }

    /// The message as the socket takes it, and what it holds until it is written.
    pub(super) fn into_message(self) -> (ws::Message, Option<Reservation>) {
        match self {
            Frame::Ping => (ws::Message::Ping(Bytes::new()), None),
            Frame::Message(FrameKind::Binary, body, held) => (ws::Message::Binary(body), held),
            Frame::Message(FrameKind::Text, body, held) => match ws::Utf8Bytes::try_from(body.clone()) {
                Ok(text) => (ws::Message::Text(text), held),
                // JSON is UTF-8, whoever wrote it; were it ever not, its bytes still tell most.
                Err(_) => (ws::Message::Binary(body), held),
            },
        }
    }
}

/// How many small messages this many bytes count as.
pub(super) fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).max(1)
}

fn open(sort: &str, id: &str, room: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(room + id.len() + 80);
    body.extend_from_slice(br#"{"type":""#);
    body.extend_from_slice(sort.as_bytes());
    body.extend_from_slice(br#"","id":"#);
    write(&mut body, id);
    body.extend_from_slice(br#","payload":"#);
    body
}

fn close(carriage: FrameKind, mut body: Vec<u8>) -> Frame {
    body.push(b'}');
    Frame::Message(carriage, body.into(), None)
}

fn write<T: serde::Serialize + ?Sized>(body: &mut Vec<u8>, value: &T) {
    // Writing numbers and strings to a `Vec` cannot fail.
    let _ = serde_json::to_writer(body, value);
}
