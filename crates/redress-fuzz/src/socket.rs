//! A WebSocket in this process: raw bytes go through the server's own connection and codec.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::ServiceExt as _;

/// How much may be on its way in one direction.
const PIPE: usize = 64 * 1024;
/// How long everything that was asked for may take, on a clock that leaps when everything waits. It is shorter than
/// the time between two pings.
const SETTLED: Duration = Duration::from_secs(5);
/// How long the server may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(120);

const HANDSHAKE: &[u8] = b"GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/// A close with code 1000, masked with zeros.
const CLOSE: &[u8] = &[0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8];

/// One frame from the server.
#[derive(Debug)]
pub(crate) enum Frame {
    Message(Vec<u8>),
    Close(Option<u16>),
    Control,
}

/// Sends `bytes` as they are behind a handshake, waits until nothing is under way, hangs up, and gives every
/// frame that came back.
pub(crate) async fn exchange(router: &Router, bytes: &[u8]) -> Vec<Frame> {
    let answered = raw(router, &[HANDSHAKE], bytes, &[CLOSE]).await;
    let end = answered.windows(4).position(|window| window == b"\r\n\r\n").expect("the handshake is answered");
    assert!(answered.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&answered));
    frames(&answered[end + 4..])
}

/// Sends bytes over a connection in three steps (what opens it, what is tried, what ends it), and gives all that
/// comes back.
pub(crate) async fn raw(router: &Router, before: &[&[u8]], bytes: &[u8], after: &[&[u8]]) -> Vec<u8> {
    let (client, server) = tokio::io::duplex(PIPE);
    let router = router.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 7))));
        router.clone().oneshot(request.map(Body::new))
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(server), service).with_upgrades();
    let connection = tokio::spawn(connection);
    let (mut reads, mut writes) = tokio::io::split(client);
    let mut answered = Vec::new();
    // Writing fails where the server has hung up, which is its right; what it said before is still read.
    let write = async {
        for part in before.iter().copied().chain([bytes]) {
            let _ = writes.write_all(part).await;
        }
        tokio::time::sleep(SETTLED).await;
        for part in after {
            let _ = writes.write_all(part).await;
        }
        let _ = writes.shutdown().await;
    };
    let read = tokio::time::timeout(GOODBYE, reads.read_to_end(&mut answered));
    let (ended, ()) = tokio::join!(read, write);
    assert!(ended.is_ok(), "the server does not hang up");
    connection.abort();
    answered
}

/// The frames of a server: never masked, never in pieces, nothing behind the goodbye.
fn frames(mut bytes: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(2) {
        assert!(!matches!(frames.last(), Some(Frame::Close(_))), "something follows the goodbye");
        assert_eq!(head[0] & 0xf0, 0x80, "a frame of a server is whole and plain");
        assert_eq!(head[1] & 0x80, 0, "a frame of a server is not masked");
        let (length, rest) = match head[1] {
            126 => {
                rest.split_at_checked(2).map(|(two, rest)| (usize::from(u16::from_be_bytes([two[0], two[1]])), rest))
            }
            127 => rest.split_first_chunk::<8>().map(|(eight, rest)| {
                (usize::try_from(u64::from_be_bytes(*eight)).expect("a length that was sent"), rest)
            }),
            length => Some((usize::from(length), rest)),
        }
        .expect("a frame has its length");
        let (payload, rest) = rest.split_at_checked(length).expect("a frame is as long as it says");
        frames.push(match head[0] & 0x0f {
            1 | 2 => Frame::Message(payload.to_vec()),
            8 => Frame::Close(payload.first_chunk::<2>().map(|code| u16::from_be_bytes(*code))),
            9 | 10 => Frame::Control,
            other => panic!("there is no frame {other}"),
        });
        bytes = rest;
    }
    assert!(bytes.is_empty(), "half a frame");
    frames
}

/// A text message as a client sends it, masked with zeros.
pub(crate) fn text(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | u8::try_from(length).expect("it is below 126")),
        length @ 126..65_536 => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).expect("it is below 65,536").to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&u64::try_from(length).expect("a length fits").to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}
