//! What is written of each call, and what is not.

use std::{fs, sync::Arc, time::Duration};

use redress_core::{Face, Layers, Registry, Request, contract::Caller, testing::Canary};
use redress_telemetry::{AccessLog, LogTarget};
use serde_json::Value;

use crate::service;

const LONG: Duration = Duration::from_secs(10);

fn logged(log: &Arc<AccessLog>) -> Registry {
    service::registry().with_layers(Layers::new().observer(log.clone()))
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the log is there");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))).collect()
}

#[tokio::test]
async fn each_call_is_one_line_that_says_who_called_what_and_how_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let log = AccessLog::open(LogTarget::File(path.clone())).unwrap();
    let registry = logged(&log);
    let request = |item: &str| {
        Request::new(format!(r#"{{"item":"{item}"}}"#).into_bytes())
            .with_face(Face::WebSocket)
            .with_caller(Caller::new("ada"))
            .with_request_id(item)
    };
    for item in ["fine", "gone", "odd"] {
        registry.call("shop.order", request(item)).await;
    }
    assert!(log.flush(LONG));
    let lines = lines(&path);
    assert_eq!(lines.len(), 4);
    let [price, fine, gone, odd] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&price["operation"], &price["parent"]), (&"shop.price".into(), &"fine".into()));
    assert_eq!((&price["caller"], &price["face"]), (&"operation:shop.order".into(), &"websocket".into()));
    for (name, value) in [("request_id", "fine"), ("caller", "ada"), ("operation", "shop.order"), ("outcome", "ok")] {
        assert_eq!(fine[name], value);
    }
    assert_eq!((&fine["http"], fine.get("code")), (&200.into(), None));
    assert_eq!((&gone["code"], &gone["http"], gone.get("fault")), (&"SOLD_OUT".into(), &409.into(), None));
    assert_eq!((&odd["code"], &odd["fault"]), (&"INTERNAL".into(), &"undeclared".into()));
    assert!(fine["elapsed_ms"].as_f64().unwrap() >= 0.0 && fine["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn nothing_of_an_input_or_a_cause_is_in_the_log() {
    let canary = Canary::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let log = AccessLog::open(LogTarget::File(path.clone())).unwrap();
    let registry = logged(&log);
    for (item, place) in [("panic", "a panic"), ("disk", "a foreign error"), ("fine", "an input")] {
        let input = serde_json::json!({"item": item, "text": canary.plant(place)}).to_string();
        registry.call("shop.order", Request::new(input.into_bytes())).await;
    }
    registry.call(&canary.plant("a name that is none"), Request::new(b"{}")).await;
    assert!(log.flush(LONG));
    canary.check("the access log", fs::read(&path).unwrap());
    canary.assert_clean();
}

#[tokio::test]
async fn a_caller_with_an_odd_name_cannot_break_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let log = AccessLog::open(LogTarget::File(path.clone())).unwrap();
    let name = "ada\"\n{\"operation\":\"forged\"}\r\u{1b}[2J\u{9b}31m\u{2028}\0\u{202e}\u{200b}\u{feff}";
    logged(&log).call("shop.price", Request::new(b"{}").with_caller(Caller::new(name))).await;
    assert!(log.flush(LONG));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(!text.trim_end().contains(|character: char| redress_core::is_unprintable(character)), "{text:?}");
    let line = &lines(&path)[0];
    assert_eq!((&line["operation"], &line["caller"]), (&"shop.price".into(), &name.into()));
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let log = AccessLog::open(LogTarget::File(path.clone())).unwrap();
    let registry = logged(&log);
    registry.call("shop.price", Request::new(b"{}").with_request_id("first")).await;
    assert!(log.flush(LONG));
    fs::rename(&path, &moved).unwrap();
    registry.call("shop.price", Request::new(b"{}").with_request_id("second")).await;
    log.reopen().unwrap();
    registry.call("shop.price", Request::new(b"{}").with_request_id("third")).await;
    assert!(log.flush(LONG));
    let ids = |path| lines(path).iter().map(|line| line["request_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!((ids(&moved), ids(&path)), (vec!["first".to_owned(), "second".to_owned()], vec!["third".to_owned()]));
    assert_eq!(log.dropped(), 0);
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_anew_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("logs");
    fs::create_dir(&inner).unwrap();
    let log = AccessLog::open(LogTarget::File(inner.join("access.log"))).unwrap();
    let moved = folder.path().join("moved");
    fs::rename(&inner, &moved).unwrap();
    assert!(log.reopen().is_err());
    logged(&log).call("shop.price", Request::new(b"{}")).await;
    assert!(log.flush(LONG));
    assert_eq!(lines(&moved.join("access.log")).len(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn lines_that_a_full_disk_does_not_take_are_counted_and_calls_go_on() {
    let log = AccessLog::open(LogTarget::File("/dev/full".into())).unwrap();
    let registry = logged(&log);
    for _ in 0..3 {
        assert!(registry.call("shop.price", Request::new(b"{}")).await.output().is_some());
        assert!(log.flush(LONG));
    }
    assert_eq!(log.dropped(), 3);
}

#[test]
fn a_path_that_cannot_be_written_is_refused_when_the_log_is_opened() {
    assert!(AccessLog::open(LogTarget::File("/no/such/folder/access.log".into())).is_err());
}
