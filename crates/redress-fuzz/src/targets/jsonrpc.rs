//! `POST /rpc`: JSON-RPC requests, notifications and batches of both.

use redress::Registry;
use redress_wire::jsonrpc;
use serde_json::{Value, value::RawValue};

use crate::{oracle, service};

pub(super) fn target(data: &[u8]) {
    service::talk(async |service| {
        let answer = service.post("/rpc", data).await;
        oracle::bounded(&answer.body, data);
        // What a reader of values takes for a request wants an answer; a notification wants none. Where no value can
        // hold what was sent, only the shape of the answer is known.
        let asked: Option<Value> = serde_json::from_slice(data).ok();
        if answer.body.is_empty() {
            assert_eq!(answer.status, 204, "{answer:?}");
            if let Some(asked) = asked {
                let silent = |member: &Value| member.is_object() && member.get("id").is_none();
                let all = match asked.as_array() {
                    Some(members) => !members.is_empty() && members.iter().all(silent),
                    None => silent(&asked),
                };
                assert!(all, "nothing answers {asked}");
            }
            return;
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        let value = oracle::json(&answer.body);
        let answers = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let codes: Vec<i64> = answers.iter().filter_map(|answer| self::answer(&service.registry, answer)).collect();
        match (&asked, &value) {
            (None, Value::Object(_)) if serde_json::from_slice::<&RawValue>(data).is_err() => {
                assert_eq!(codes, [-32700], "{value}");
            }
            (Some(Value::Array(members)), Value::Array(answers)) => {
                let notifies = |member: &&Value| member.is_object() && member.get("id").is_none();
                assert!(answers.len() >= members.len() - members.iter().filter(notifies).count(), "{value}");
                assert!(answers.len() <= members.len(), "{value}");
            }
            (Some(Value::Object(member)), Value::Object(_)) => {
                if let Some(id @ (Value::String(_) | Value::Number(_))) = member.get("id") {
                    let same = value["id"] == *id;
                    assert!(same || value["id"].is_null() && codes == [-32600], "{id} is answered with {value}");
                }
            }
            _ => {}
        }
    });
}

/// One answer: a result or an error, never both; the number of its error, if it is one.
#[track_caller]
fn answer(registry: &Registry, value: &Value) -> Option<i64> {
    assert_eq!(value["jsonrpc"], "2.0", "{value}");
    assert!(value.get("id").is_some(), "{value}");
    assert_eq!(value.as_object().map(serde_json::Map::len), Some(3), "{value}");
    let Some(error) = value.get("error") else {
        assert!(value.get("result").is_some(), "{value}");
        return None;
    };
    let ending = oracle::envelope(registry, &error["data"]);
    assert!(ending.code().is_some(), "{value}");
    let kind = serde_json::from_value(error["data"]["kind"].clone()).expect("the envelope was read");
    let number = i64::from(jsonrpc::number(kind));
    assert_eq!((error["code"].as_i64(), &error["message"]), (Some(number), &error["data"]["error"]), "{value}");
    Some(number)
}
