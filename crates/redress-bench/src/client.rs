//! A client that costs little: keep-alive connections, the same bytes again and again.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// Longer than any answer needs, valgrind included.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection.
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// A `POST` of this body, as bytes on the wire. `extra` are whole header lines.
pub fn post(path: &str, extra: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nuser-agent: redress-bench\r\n\
         content-type: application/json\r\n{extra}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Connection { stream, read: Vec::with_capacity(16 * 1024) })
    }

    /// Asks once and waits for the answer.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.send(request)?;
        self.receive()
    }

    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request)
    }

    fn receive(&mut self) -> io::Result<Answer> {
        self.read.clear();
        let mut chunk = [0; 16 * 1024];
        loop {
            let count = self.stream.read(&mut chunk)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.read.extend_from_slice(&chunk[..count]);
            if let Some(answer) = whole(&self.read)? {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once all of it is there.
fn whole(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP with a content-length");
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| strange())?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(strange)?;
    let mut headers = head.lines().filter_map(|line| line.split_once(':'));
    let length = headers.find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.and_then(|(_, value)| value.trim().parse().ok()).ok_or_else(strange)?;
    let body = &bytes[end + 4..];
    if body.len() < length {
        return Ok(None);
    }
    Ok(Some(Answer { status, body: String::from_utf8_lossy(&body[..length]).into_owned() }))
}

/// Asks `times` times over each of `connections` connections, all of them busy at once. Gives
/// how long it took.
pub fn load(address: SocketAddr, request: &[u8], connections: usize, times: usize) -> io::Result<Duration> {
    let mut open = (0..connections).map(|_| Connection::open(address)).collect::<io::Result<Vec<_>>>()?;
    let since = Instant::now();
    for _ in 0..times {
        for connection in &mut open {
            connection.send(request)?;
        }
        for connection in &mut open {
            connection.receive()?;
        }
    }
    Ok(since.elapsed())
}
