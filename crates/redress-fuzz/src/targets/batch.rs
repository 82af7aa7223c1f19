//! `POST /batch`: each member ends as it would by itself.

use serde_json::{Value, value::RawValue};

use crate::{oracle, service};

pub(super) fn target(data: &[u8]) {
    service::talk(async |service| {
        let answer = service.post("/batch", data).await;
        oracle::bounded(&answer.body, data);
        let value = oracle::json(&answer.body);
        let Value::Array(answers) = &value else {
            let ending = oracle::enveloped(&service.registry, &answer);
            assert!(ending.code().is_some(), "a batch that ended well has an answer for each member: {value}");
            return;
        };
        let members: Vec<&RawValue> = serde_json::from_slice(data).expect("what was answered by members had members");
        assert_eq!((answer.status, answers.len()), (200, members.len()));
        assert!((1..=50).contains(&members.len()));
        for (member, answer) in members.iter().zip(answers).take(8) {
            let ending = oracle::envelope(&service.registry, answer);
            let alone = service.post("/call", member.get().as_bytes()).await;
            let alone = oracle::enveloped(&service.registry, &alone);
            assert_eq!(ending, alone, "{}", member.get());
        }
    });
}
