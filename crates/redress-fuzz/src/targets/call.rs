//! `POST /call`: bytes that should be `{"operation", "input"}`.

use serde_json::{Value, value::RawValue};

use crate::{oracle, service};

pub(super) fn target(data: &[u8]) {
    service::talk(async |service| {
        let answer = service.post("/call", data).await;
        let ending = oracle::enveloped(&service.registry, &answer);
        oracle::bounded(&answer.body, data);
        let expected = match serde_json::from_slice::<&RawValue>(data) {
            Err(_) => Some("PARSE_ERROR"),
            Ok(_) => match serde_json::from_slice::<Value>(data) {
                Ok(Value::Object(members)) if members.get("operation").is_some_and(Value::is_string) => None,
                Ok(_) => Some("INVALID_REQUEST"),
                // JSON that no value can hold: a number beyond every type, half a surrogate pair.
                Err(_) => None,
            },
        };
        if let Some(expected) = expected {
            assert_eq!(ending.code(), Some(expected), "{}", String::from_utf8_lossy(data));
        }
    });
}
