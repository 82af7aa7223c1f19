//! Answers that are compressed.

use redress_core::{
    Operation, Registry,
    contract::{self, Access},
};
use redress_serve::{Faces, Server};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::{SOON, Served};
use crate::service::registry;

#[tokio::test]
async fn large_answers_are_compressed_for_those_who_accept_it_and_nothing_else_is() {
    let faces = Faces::new(registry(&Default::default(), &Default::default())).compression(true);
    let served = Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await;
    let client = reqwest::Client::builder().no_gzip().no_brotli().build().unwrap();
    let cases = [
        ("/openapi.json", "gzip", "gzip"),
        ("/openapi.json", "br, gzip", "br"),
        ("/openapi.json", "gzip;q=0", ""),
        ("/openapi.json", "identity", ""),
        ("/openapi.json", "zstd", ""),
        ("/healthz", "gzip, br", ""),
        ("/openapi.json", "*;q=0", ""),
        ("/healthz", "gzip;q=0, identity;q=0", ""),
    ];
    for (path, accept, encoding) in cases {
        let asked = client.get(format!("http://{}{path}", served.tcp())).header("accept-encoding", accept);
        let answer = asked.send().await.unwrap();
        let told = answer.headers().get("content-encoding").map_or("", |told| told.to_str().unwrap());
        assert_eq!((told, answer.status().as_u16()), (encoding, 200), "{path} {accept}");
        // Other bytes have another tag, and by each of them the document is known.
        let Some(tag) = answer.headers().get("etag").cloned() else { continue };
        let suffix =
            tag.to_str().unwrap().trim_matches('"').split_once('-').map_or("", |(_, suffix)| suffix).to_owned();
        assert_eq!(suffix, encoding, "{tag:?}");
        let again = client.get(format!("http://{}{path}", served.tcp())).header("accept-encoding", accept);
        let again = again.header("if-none-match", &tag).send().await.unwrap();
        assert_eq!((again.status().as_u16(), again.headers().get("etag")), (304, Some(&tag)));
    }
    let reading = reqwest::Client::new();
    let document = reading.get(format!("http://{}/openapi.json", served.tcp())).send().await.unwrap();
    let document: serde_json::Value = serde_json::from_str(&document.text().await.unwrap()).unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    served.end().await;
}

/// Fifty answers of some kilobytes are streamed, each as it comes, and compressed on the way.
#[tokio::test]
async fn an_answer_is_the_same_whole_one_compressed_or_not_on_every_face_and_protocol() {
    let text = |length: usize| (0..length).map(|at| char::from(b'a' + (at * at % 23) as u8)).collect::<String>();
    let sized = contract::OperationDeclaration::query("demo.sized")
        .with_summary("So many letters.")
        .with_input(json!({"type": "object", "properties": {"length": {"type": "integer"}}}))
        .with_access(Access::anyone());
    let sized = Operation::dynamic(sized).with_handler(move |_, input| async move {
        // Not all are there when they are first asked for.
        tokio::task::yield_now().await;
        Ok(json!(text(input["length"].as_u64().unwrap_or_default() as usize)))
    });
    let faces = Faces::new(Registry::builder().add(sized).build().unwrap()).compression(true);
    let served = Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await;
    let http1 = || reqwest::Client::builder().no_gzip().no_brotli();
    for length in [10, 4_000, 30_000, 700_000] {
        let input = json!({"length": length});
        let call = json!({"operation": "demo.sized", "input": input});
        let rpc = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "demo.sized", "params": input});
        let many = if length > 100_000 { 3 } else { 20 };
        let asked = [
            ("/ops/demo/sized", input.clone()),
            ("/call", call.clone()),
            ("/batch", json!(vec![&call; many])),
            ("/rpc", rpc(1)),
            ("/rpc", (0..many).map(rpc).collect()),
        ];
        for (path, body) in asked {
            let mut told: Vec<usize> = Vec::new();
            for http2 in [false, true] {
                for (encoding, client) in [("", http1()), ("gzip", http1().gzip(true)), ("br", http1().brotli(true))] {
                    let client = if http2 { client.http2_prior_knowledge() } else { client };
                    let request = client.build().unwrap().post(format!("http://{}{path}", served.tcp()));
                    let request = request.header("content-type", "application/json").body(body.to_string());
                    let answer = request.send().await.unwrap();
                    let status = answer.status().as_u16();
                    let text = answer
                        .text()
                        .await
                        .unwrap_or_else(|error| panic!("{path} of {length}, {encoding}, HTTP/2 {http2}: {error:?}"));
                    assert!(
                        status == 200 && serde_json::from_str::<Value>(&text).is_ok(),
                        "{path} {length} {encoding}"
                    );
                    told.push(text.matches("abejqc").count());
                }
            }
            assert!(told.iter().all(|count| *count == told[0] && *count > 0), "{path} of {length}: {told:?}");
        }
    }
    served.end().await;
}

#[tokio::test]
async fn a_stream_is_not_compressed_so_that_each_event_comes_at_once() {
    let faces = Faces::new(registry(&Default::default(), &Default::default())).compression(true);
    let served = Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await;
    let mut stream = served.connect().await;
    let body = r#"{"to":1,"then":"hang"}"#;
    let request = format!(
        "POST /ops/demo/count HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip, br\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("data: 1") {
        let read = tokio::time::timeout(SOON, stream.read_buf(&mut seen)).await.expect("the event comes").unwrap();
        assert!(read > 0);
    }
    assert!(!String::from_utf8_lossy(&seen).contains("content-encoding"));
    drop(stream);
    served.end().await;
}
