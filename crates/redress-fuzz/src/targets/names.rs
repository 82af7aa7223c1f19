//! Names, codes, ids and traces: each reader takes exactly its grammar, and gives back what it took.

use redress::{
    Code,
    contract::{Name, RequestId},
    serve::Network,
};
use redress_wire::http::header::TraceParent;

use crate::service;

pub(super) fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    name(text);
    code(text);
    id(text);
    trace(text);
    network(text);
    service::talk(async |service| {
        if let Some(operation) = service.registry.operation(text) {
            let dotted = Name::from_wire(text);
            let own = *operation.name() == *dotted || operation.aliases().iter().any(|alias| *alias == *dotted);
            assert!(own, "{text} is not {}", operation.name());
        }
    });
}

fn name(text: &str) {
    let segment = |segment: &str| {
        let mut letters = segment.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'))
    };
    let segments: Vec<&str> = text.split('.').collect();
    let sound = text.len() <= 64 && segments.len() >= 2 && segments.iter().all(|part| segment(part));
    assert_eq!(Name::new(text).is_ok(), sound, "{text}");
    let dotted = Name::from_wire(text);
    assert!(!dotted.contains('/'), "{text} is {dotted}");
    assert_eq!(Name::from_wire(&dotted), dotted, "read twice: {text}");
    if let Ok(name) = Name::new(text) {
        assert_eq!(name.as_str(), text);
        assert_eq!(Name::from_wire(&format!("/{}", text.replace('.', "/"))), text);
        let json = serde_json::to_string(&name).expect("a name is a string");
        assert_eq!(serde_json::from_str::<Name>(&json).ok(), Some(name.clone()));
        assert!(!name.tool().contains('.'), "{}", name.tool());
    }
}

fn code(text: &str) {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9'));
    let key = |key: &str| key.starts_with(|first: char| first.is_ascii_uppercase()) && key.split('_').all(word);
    match (Code::new(text), text.split_once('.')) {
        (Ok(code), None) => {
            assert!(key(text) && text.len() <= 63, "{text}");
            assert_eq!((code.as_str(), code.namespace()), (text, None));
        }
        (Ok(code), Some((namespace, rest))) => {
            assert!(key(rest), "{text}");
            assert_eq!((code.as_str(), code.namespace()), (text, Some(namespace)));
        }
        (Err(_), None) => assert!(!key(text) || text.len() > 63, "{text}"),
        (Err(_), Some(_)) => {}
    }
}

fn id(text: &str) {
    let sound = (1..=128).contains(&text.len())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.:".contains(letter));
    let read = RequestId::given(text);
    assert_eq!(read.is_some(), sound, "{text}");
    assert!(read.is_none_or(|id| id.to_string() == text), "{text}");
}

fn trace(text: &str) {
    let Some(trace) = TraceParent::read(text) else { return };
    let TraceParent { trace_id, parent_id, .. } = trace;
    assert_eq!((trace_id.len(), parent_id.len()), (32, 16), "{text}");
    assert!(u128::from_str_radix(trace_id, 16).is_ok_and(|id| id != 0), "{text}");
    assert!(u64::from_str_radix(parent_id, 16).is_ok_and(|id| id != 0), "{text}");
    let flags = u8::from(trace.sampled);
    let rewritten = format!("00-{trace_id}-{parent_id}-{flags:02x}");
    assert_eq!(
        TraceParent::read(&rewritten),
        Some(TraceParent { trace_id, parent_id, sampled: trace.sampled }),
        "{text}"
    );
}

fn network(text: &str) {
    let Ok(network) = text.parse::<Network>() else { return };
    let written = network.to_string();
    assert_eq!(written.parse(), Ok(network), "{text}");
}
