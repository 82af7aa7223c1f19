//! What needs no connection: how messages are read, and whose turn it is to be written.

use std::sync::Arc;

use futures_util::FutureExt as _;
use redress_contract::EngineCode;
use tokio_util::sync::CancellationToken;

use super::{
    WebSocketLimits,
    fair_queue::{CallQueue, FairQueue, QueueRefused, RequestKind},
    frame::{Frame, FrameKind},
    message::{self, Malformed, WsMessage},
};

fn small() -> WebSocketLimits {
    WebSocketLimits { window: 4, calls: 2, streams: 3, ..WebSocketLimits::default() }
}

fn open(fair_queue: &Arc<FairQueue>, id: &str, sort: RequestKind) -> CallQueue {
    fair_queue.open(id, sort, &CancellationToken::new()).unwrap()
}

fn item(id: &str, seq: u64) -> Frame {
    Frame::responded(FrameKind::Text, id, Some(seq), b"0")
}

/// The id and number of a message that is an item of a stream.
fn told(frame: Frame) -> (String, u64) {
    let Frame::Message(_, body, _) = frame else { panic!("a ping") };
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    (json["id"].as_str().unwrap().to_owned(), json["payload"]["seq"].as_u64().unwrap_or(0))
}

#[test]
fn the_input_is_a_part_of_the_message_and_not_a_copy() {
    let text = r#"{"type":"call.requested","id":"a","payload":{"operation":"n.o","input":{"deep":[1,  2]}}}"#;
    let Ok(WsMessage::Requested(requested)) = message::read(text, 8) else { panic!() };
    assert_eq!(requested.input, r#"{"deep":[1,  2]}"#);
    assert!(text.as_bytes().as_ptr_range().contains(&requested.input.as_ptr()));
}

#[test]
fn members_may_come_in_any_order_and_more_of_them_are_let_be() {
    let text = r#"{"payload":{"x":1,"operationId":"/n/o","auth_token":null},"extra":[],"id":"\u0061","type":"call.requested"}"#;
    let Ok(WsMessage::Requested(requested)) = message::read(text, 8) else { panic!() };
    assert_eq!((&*requested.id, &*requested.operation, requested.input), ("a", "/n/o", ""));
}

#[test]
fn depth_is_counted_outside_of_strings_only() {
    let at = |depth| message::read(r#"{"type":"call.aborted","id":"a","payload":{"x":[["[[[[\"[["]]}}"#, depth).is_ok();
    assert!(at(4) && !at(3));
}

#[test]
fn an_input_of_null_is_not_a_missing_one() {
    let text = r#"{"type":"call.requested","id":"a","payload":{"operation":"n.o","input":null}}"#;
    let Ok(WsMessage::Requested(requested)) = message::read(text, 8) else { panic!() };
    assert_eq!(requested.input, "null");
}

#[test]
fn what_is_wrong_is_told_by_its_place() {
    let text = r#"{"type":"call.requested","id":"a","payload":{"operation":"n.o","deadline_ms":-1}}"#;
    let Err(Malformed { code, id, fault }) = message::read(text, 8) else { panic!() };
    assert_eq!((code, id.as_deref(), fault.pointer), (EngineCode::InvalidRequest, Some("a"), "/payload/deadline_ms"));
}

#[tokio::test]
async fn lanes_are_written_in_turns_and_each_in_its_order() {
    let fair_queue = FairQueue::new(small());
    let (flood, trickle) =
        (open(&fair_queue, "flood", RequestKind::Stream), open(&fair_queue, "trickle", RequestKind::Stream));
    for seq in 1..=4 {
        flood.put(flood.room().await, item("flood", seq)).await;
    }
    trickle.put(trickle.room().await, item("trickle", 1)).await;
    trickle.put(trickle.room().await, item("trickle", 2)).await;
    let order: Vec<_> = std::iter::from_fn(|| fair_queue.next()).map(told).collect();
    let order: Vec<_> = order.iter().map(|(id, seq)| (id.as_str(), *seq)).collect();
    assert_eq!(order, [("flood", 1), ("trickle", 1), ("flood", 2), ("trickle", 2), ("flood", 3), ("flood", 4)]);
}

#[tokio::test]
async fn a_full_lane_holds_back_its_own_source_and_no_other() {
    let fair_queue = FairQueue::new(small());
    let (full, other) =
        (open(&fair_queue, "full", RequestKind::Stream), open(&fair_queue, "other", RequestKind::Stream));
    for seq in 1..=4 {
        full.put(full.room().await, item("full", seq)).await;
    }
    let waits = |call_queue: &CallQueue| call_queue.room().now_or_never().is_none();
    assert!(waits(&full) && !waits(&other));
    fair_queue.next();
    assert!(!waits(&full));
}

#[tokio::test]
async fn a_large_message_fills_a_lane_alone() {
    let fair_queue = FairQueue::new(small());
    let call_queue = open(&fair_queue, "a", RequestKind::Stream);
    let large = Frame::responded(FrameKind::Text, "a", Some(1), &vec![b'1'; 1024 * 1024]);
    call_queue.put(call_queue.room().await, large).await;
    assert!(call_queue.room().now_or_never().is_none());
    assert!(fair_queue.next().is_some() && call_queue.room().now_or_never().is_some());
}

#[tokio::test]
async fn an_abort_drops_what_waits_and_frees_the_id_at_once() {
    let fair_queue = FairQueue::new(small());
    let call_queue = open(&fair_queue, "a", RequestKind::Stream);
    call_queue.put(call_queue.room().await, item("a", 1)).await;
    assert_eq!(fair_queue.open("a", RequestKind::Call, &CancellationToken::new()).unwrap_err(), QueueRefused::SameId);
    fair_queue.abort("a", fair_queue.front_room().await, Frame::aborted(FrameKind::Text, "a"));
    assert!(call_queue.abort.is_cancelled());
    let again = open(&fair_queue, "a", RequestKind::Stream);
    // The old call's task may still be about to say something.
    call_queue.put(call_queue.room().await, item("a", 2)).await;
    again.put(again.room().await, item("a", 1)).await;
    drop(call_queue);
    assert_eq!(
        std::iter::from_fn(|| fair_queue.next()).map(told).collect::<Vec<_>>(),
        [("a".into(), 0), ("a".into(), 1)]
    );
    assert_eq!((fair_queue.load().streams, fair_queue.load().messages, fair_queue.load().bytes), (1, 0, 0));
}

#[tokio::test]
async fn there_are_no_more_calls_and_streams_than_allowed_until_their_last_message_is_written() {
    let fair_queue = FairQueue::new(small());
    let first = open(&fair_queue, "1", RequestKind::Call);
    let _second = open(&fair_queue, "2", RequestKind::Call);
    let full = || fair_queue.open("3", RequestKind::Call, &CancellationToken::new()).map(drop);
    assert_eq!(full(), Err(QueueRefused::Full { limit: 2 }));
    let _streams = ["a", "b", "c"].map(|id| open(&fair_queue, id, RequestKind::Stream));
    let stream = fair_queue.open("d", RequestKind::Stream, &CancellationToken::new());
    assert_eq!(stream.unwrap_err(), QueueRefused::Full { limit: 3 });
    first.end(item("1", 1));
    assert_eq!(full(), Err(QueueRefused::Full { limit: 2 }));
    fair_queue.next();
    assert_eq!(full(), Ok(()));
}
