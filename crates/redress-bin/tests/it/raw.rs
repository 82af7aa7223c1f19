//! Connections by hand, from any address of this machine and with any headers, on every face.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

const SOON: Duration = Duration::from_secs(30);

/// A call on every face, so many of them in a batch; that of a WebSocket comes after its handshake.
pub(crate) fn calls(operation: &str, input: &Value, batch: usize) -> Vec<(String, String)> {
    let call = json!({"operation": operation, "input": input});
    let tool = json!({"name": operation.replace('.', "_"), "arguments": input});
    let rpc = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    vec![
        (format!("/ops/{}", operation.replace('.', "/")), input.to_string()),
        ("/call".to_owned(), call.to_string()),
        ("/batch".to_owned(), json!(vec![&call; batch]).to_string()),
        ("/rpc".to_owned(), rpc(operation, input).to_string()),
        ("/mcp".to_owned(), rpc("tools/call", &tool).to_string()),
        ("/ws".to_owned(), json!({"type": "call.requested", "id": "1", "payload": call}).to_string()),
    ]
}

pub(crate) async fn connect(from: &str, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    timeout(SOON, socket.connect(address)).await.unwrap().unwrap()
}

/// A connection on which a request can be made, as its face has it. `headers` are lines, each with its end.
pub(crate) async fn open(from: &str, address: SocketAddr, path: &str, headers: &str) -> TcpStream {
    let mut stream = connect(from, address).await;
    if path == "/ws" {
        let handshake = format!(
            "GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n{headers}\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        let answer = ask(&mut stream, handshake.as_bytes(), "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    }
    stream
}

/// What is answered to a request. A WebSocket has had its headers.
pub(crate) async fn answer(stream: &mut TcpStream, path: &str, headers: &str, body: &str) -> String {
    if path == "/ws" {
        // A mask of zeros leaves the text as it is.
        let mut frame = vec![0x81, 0x80 | u8::try_from(body.len()).unwrap(), 0, 0, 0, 0];
        frame.extend_from_slice(body.as_bytes());
        return ask(stream, &frame, "}}").await;
    }
    let (length, json) = (body.len(), "content-type: application/json\r\naccept: application/json, text/event-stream");
    let request =
        format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}{json}\r\ncontent-length: {length}\r\n\r\n{body}");
    ask(stream, request.as_bytes(), "").await
}

/// Sends, and reads until the answer ends: with these characters, or where it says.
async fn ask(stream: &mut TcpStream, request: &[u8], end: &str) -> String {
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    let read = async {
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            let whole = match text.split_once("\r\n\r\n") {
                Some((head, body)) if end.is_empty() => head
                    .lines()
                    .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                    .is_none_or(|length| body.len() >= length),
                _ => !end.is_empty() && text.ends_with(end),
            };
            if whole || stream.read_buf(&mut answer).await.unwrap() == 0 {
                return text;
            }
        }
    };
    timeout(SOON, read).await.expect("an answer comes")
}
