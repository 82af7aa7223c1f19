//! Raw bytes where WebSocket frames should be.

use redress::Registry;
use serde_json::Value;

use crate::{
    oracle, service,
    socket::{self, Frame},
};

pub(super) fn target(data: &[u8]) {
    service::talk(async |service| {
        let frames = socket::exchange(&service.router, data).await;
        let closes = frames.iter().filter(|frame| matches!(frame, Frame::Close(_))).count();
        assert!(closes <= 1);
        let mut told = 0;
        for frame in &frames {
            match frame {
                Frame::Message(payload) => {
                    message(&service.registry, payload);
                    told += payload.len();
                }
                Frame::Close(code) => assert!(code.is_none_or(|code| (1000..5000).contains(&code)), "{code:?}"),
                Frame::Control => {}
            }
        }
        assert!(told <= 64 * 1024 + 64 * data.len(), "{told} bytes for {}", data.len());
    });
}

/// One message of the server.
#[track_caller]
pub(super) fn message(registry: &Registry, payload: &[u8]) -> Value {
    let value = oracle::json(payload);
    let id = &value["id"];
    assert!(id.is_null() || id.as_str().is_some_and(|id| (1..=128).contains(&id.len())), "{value}");
    assert!(value["payload"].is_object(), "{value}");
    match value["type"].as_str() {
        Some("call.responded") => assert!(value["payload"].get("output").is_some() && !id.is_null(), "{value}"),
        Some("call.completed" | "call.aborted") => assert!(!id.is_null(), "{value}"),
        Some("call.error") => {
            let mut envelope = value["payload"].clone();
            let message = envelope.as_object_mut().and_then(|members| members.remove("message"));
            assert_eq!(message.as_ref(), Some(&value["payload"]["error"]), "{value}");
            let ending = oracle::envelope(registry, &envelope);
            assert!(ending.code().is_some(), "{value}");
        }
        other => panic!("a server does not say {other:?} here"),
    }
    value
}
