//! Floods of HTTP/2 frames that cost their sender little, at a real server, by the names that they are known by.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use crate::{process::Place, serve::Served};

/// How long one flood lasts at most, and how much is sent of it.
const LASTS: Duration = Duration::from_secs(2);
const MAX: usize = 16 << 20;
/// Longer than a health check takes on a machine that builds and tests beside it.
const HELD_UP: Duration = Duration::from_secs(4);
/// How much memory all floods together may cost.
const FLOODED_KIB: u64 = 48 * 1024;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// `GET /` of `localhost`, by the indexes of the static table and one literal that no table remembers.
fn get() -> Vec<u8> {
    [&[0x82, 0x86, 0x84, 0x01, 9][..], b"localhost"].concat()
}

/// The number of the stream that a client opens as the `turn`th.
fn opened(turn: u32) -> u32 {
    2 * turn + 1
}

/// What a flood begins with, and what it goes on with.
struct Flood {
    name: &'static str,
    begins: Vec<u8>,
    turn: fn(u32) -> Vec<u8>,
}

fn floods() -> Vec<Flood> {
    let flood = |name, begins, turn| Flood { name, begins, turn };
    // A field of 4,000 bytes that the table remembers, and then its index again and again in one block.
    let mut field = vec![0x40, 1, b'x', 0x7f, 0xa1, 0x1e];
    field.extend([b'a'; 4_000]);
    let bomb = [get(), field].concat();
    vec![
        flood("ping flood (CVE-2019-9512)", vec![], |_| frame(PING, 0, 0, &[7; 8])),
        flood("settings flood (CVE-2019-9515)", vec![], |_| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0x10, 0])),
        flood("resource loop (CVE-2019-9513)", vec![], |turn| frame(PRIORITY, 0, opened(turn), &[0, 0, 0, 0, 1])),
        flood("empty frames (CVE-2019-9518)", frame(HEADERS, END_HEADERS, 1, &get()), |_| frame(DATA, 0, 1, &[])),
        flood("continuation flood (CVE-2024-27316)", frame(HEADERS, 0, 1, &get()), |_| {
            frame(CONTINUATION, 0, 1, &[&[0, 1, b'y', 100][..], &[b'b'; 100]].concat())
        }),
        flood("HPACK bomb (CVE-2016-6581)", frame(HEADERS, END_HEADERS | END_STREAM, 1, &bomb), |turn| {
            frame(HEADERS, END_HEADERS | END_STREAM, opened(turn + 1), &[get(), vec![0xbe; 16_000]].concat())
        }),
        flood("rapid reset (CVE-2023-44487)", vec![], |turn| {
            let asked = frame(HEADERS, END_HEADERS | END_STREAM, opened(turn), &get());
            [asked, frame(RST_STREAM, 0, opened(turn), &[0, 0, 0, 8])].concat()
        }),
        flood("made you reset (CVE-2025-8671)", vec![], |turn| {
            let asked = frame(HEADERS, END_HEADERS | END_STREAM, opened(turn), &get());
            [asked, frame(WINDOW_UPDATE, 0, opened(turn), &[0; 4])].concat()
        }),
    ]
}

/// Sends a flood until its time is over or the server does not take any more. Nothing is read meanwhile: whatever the
/// server answers is left with it.
fn send(address: SocketAddr, flood: &Flood) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(LASTS)).unwrap();
    let since = Instant::now();
    let mut bytes = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(SETTINGS, 0, 0, &[])].concat();
    bytes.extend_from_slice(&flood.begins);
    let (mut turn, mut sent) = (0, 0);
    while since.elapsed() < LASTS && sent < MAX {
        while bytes.len() < 32_768 {
            bytes.extend((flood.turn)(turn));
            turn += 1;
        }
        if stream.write_all(&bytes).is_err() {
            return;
        }
        sent += bytes.len();
        bytes.clear();
    }
}

fn is_healthy(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(HELD_UP)).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).is_ok() && answer.starts_with("HTTP/1.1 200")
}

#[test]
fn floods_of_frames_hold_up_nobody_and_cost_no_memory() {
    let place = Place::new();
    let served = Served::start(&mut place.command(&["serve", "--listen", "127.0.0.1:0", "--json"]));
    let address = served.url().strip_prefix("http://").unwrap().parse().unwrap();
    assert!(is_healthy(address));
    for flood in floods() {
        let before = served.peak_kib();
        thread::scope(|scope| {
            let flooding = scope.spawn(|| send(address, &flood));
            while !flooding.is_finished() {
                assert!(is_healthy(address), "{}", flood.name);
            }
        });
        let grown = served.peak_kib().saturating_sub(before);
        assert!(grown < FLOODED_KIB, "{}: {grown} KiB", flood.name);
    }
    let log = served.stop();
    assert!(!log.contains("panicked"), "{log}");
}
