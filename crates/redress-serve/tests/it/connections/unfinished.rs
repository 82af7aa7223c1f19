//! Messages on a WebSocket that begin and do not end.

use std::time::{Duration, Instant};

use redress_serve::{Faces, Server, ServerLimits};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{SOON, Served};
use crate::service::registry;

const HANDSHAKE: &[u8] = b"GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const TEXT: u8 = 1;
const CONTINUED: u8 = 0;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const PATIENCE: Duration = Duration::from_millis(400);

/// The client's side of a connection, frame by frame.
struct Socket(TcpStream);

impl Socket {
    async fn open(served: &Served) -> Socket {
        let mut stream = served.connect().await;
        stream.write_all(HANDSHAKE).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(SOON, stream.read_u8()).await.unwrap().unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
        Socket(stream)
    }

    /// Sends a frame, with a mask that changes nothing.
    async fn send(&mut self, last: bool, opcode: u8, payload: &[u8]) {
        let mut frame = vec![if last { 0x80 | opcode } else { opcode }];
        match payload.len() {
            short @ ..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0xff);
                frame.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        // A server that has closed the connection does not read it.
        let _ = self.0.write_all(&frame).await;
    }

    async fn next(&mut self) -> (u8, Vec<u8>) {
        let read = async {
            let opcode = self.0.read_u8().await.unwrap() & 0x0f;
            let length = match self.0.read_u8().await.unwrap() {
                126 => usize::from(self.0.read_u16().await.unwrap()),
                short => usize::from(short),
            };
            let mut payload = vec![0; length];
            self.0.read_exact(&mut payload).await.unwrap();
            (opcode, payload)
        };
        timeout(SOON, read).await.unwrap()
    }

    /// Sends pings, each when the one before was answered, until something else comes or the time is over.
    async fn ping_for(&mut self, time: Duration) -> Option<(u8, Vec<u8>)> {
        let began = Instant::now();
        while began.elapsed() < time {
            self.send(true, PING, b"there").await;
            let next = self.next().await;
            if next.0 != PONG {
                return Some(next);
            }
        }
        None
    }
}

fn closed(next: Option<(u8, Vec<u8>)>) -> u16 {
    let Some((CLOSE, payload)) = next else { panic!("{next:?}") };
    u16::from_be_bytes([payload[0], payload[1]])
}

#[tokio::test]
async fn an_unfinished_message_has_the_time_of_a_body_however_often_its_client_pings() {
    let (served, _) = Served::within(|limits| limits.body_time = PATIENCE).await;
    let mut socket = Socket::open(&served).await;
    socket.send(false, TEXT, br#"{"type":"call.requested","#).await;
    assert_eq!(closed(socket.ping_for(SOON).await), 1008);
    // So has one whose frame is not whole.
    let mut socket = Socket::open(&served).await;
    socket.0.write_all(&[0x81, 0xfe, 1]).await.unwrap();
    let next = socket.next().await;
    assert_eq!(closed(Some(next)), 1008);
    served.end().await;
}

#[tokio::test]
async fn a_message_in_parts_that_becomes_whole_is_answered_and_its_connection_stays() {
    let (served, _) = Served::within(|limits| limits.body_time = PATIENCE).await;
    let mut socket = Socket::open(&served).await;
    let message = br#"{"type":"call.requested","id":"a","payload":{"operation":"demo.greet","input":{"name":"Ada"}}}"#;
    for _ in 0..3 {
        let (first, second) = message.split_at(40);
        socket.send(false, TEXT, first).await;
        assert_eq!(socket.ping_for(PATIENCE / 8).await, None);
        socket.send(true, CONTINUED, second).await;
        let (opcode, answer) = socket.next().await;
        assert!(opcode == TEXT && String::from_utf8_lossy(&answer).contains("hello Ada"));
        assert_eq!(socket.ping_for(PATIENCE * 2).await, None, "what is whole has no time to keep");
    }
    served.end().await;
}

#[tokio::test]
async fn an_unfinished_message_takes_the_room_of_bodies() {
    let mut limits = ServerLimits::default();
    (limits.body_bytes, limits.body_bytes_per_address, limits.body_time) = (1, 1, Duration::from_secs(3));
    let faces = Faces::new(registry(&Default::default(), &Default::default())).limits(limits).max_body(16 * 1024);
    let served = Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await;
    let mut fits = Socket::open(&served).await;
    fits.send(false, TEXT, &[b' '; 40 * 1024]).await;
    assert_eq!(fits.ping_for(Duration::from_millis(600)).await, None);
    let mut socket = Socket::open(&served).await;
    socket.send(false, TEXT, &[b' '; 200 * 1024]).await;
    assert_eq!(closed(socket.ping_for(SOON).await), 1013);
    served.end().await;
}
