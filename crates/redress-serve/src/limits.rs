//! The numbers that bound connections, and what one caller may hold open.

use std::time::Duration;

/// The numbers that bound connections, and what one caller may hold open.
///
/// ```
/// use std::time::Duration;
/// use redress_serve::ServerLimits;
///
/// let mut limits = ServerLimits::default();
/// limits.header_time = Duration::from_secs(5);
/// assert_eq!((limits.per_address, limits.sockets), (1024, 64));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// How many connections may be open; a server of ours has no more than [file
    /// descriptors](crate::Descriptors) are left for. For one beyond, one that is idle makes way, or
    /// it is answered with 503 and closed.
    pub connections: usize,
    /// How many of them may come from one address; for IPv6, from one /64. Unix sockets and
    /// trusted proxies do not count, since they are not one caller.
    pub per_address: usize,
    /// How long a TLS handshake may take.
    pub handshake_time: Duration,
    /// How long the headers of a message may take, from their first byte.
    pub header_time: Duration,
    /// How long the body of a message may take. One that takes longer is TIMEOUT, with 408.
    pub body_time: Duration,
    /// How many bytes of bodies may be held at once, those that are being read and those whose call
    /// runs; one body always fits. One beyond is OVERLOADED.
    pub body_bytes: usize,
    /// How many of them may come from one address; for IPv6, from one /64. Unix sockets do not
    /// count, since they are not one caller.
    pub body_bytes_per_address: usize,
    /// How many bytes of answers may be held at once, from when they are written as JSON until they are on their way.
    /// A call starts when there is room for what its operation is known to answer; one that finds none before its
    /// deadline is OVERLOADED.
    pub answer_bytes: usize,
    /// How many of them may be one caller's; one that nobody knows counts by its address.
    pub answer_bytes_per_caller: usize,
    /// How many of them may be one connection's.
    pub answer_bytes_per_connection: usize,
    /// How long a connection on which nothing is asked stays open.
    pub idle_time: Duration,
    /// How long a reader may take nothing of what is written to it.
    pub write_time: Duration,
    /// How many bytes the headers of a message may have, 8192 at least. More are 431.
    pub header_bytes: usize,
    /// How many requests may be under way on one HTTP/2 connection.
    pub http2_streams: u32,
    /// How many WebSockets one caller may have open; one that nobody knows counts by its
    /// address. One beyond is RATE_LIMITED.
    pub sockets: usize,
    /// How many streams one caller may have open over HTTP, those of MCP and its sessions among
    /// them; one that nobody knows counts by its address. One beyond is RATE_LIMITED; an MCP
    /// client is served without a session.
    pub streams: usize,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            connections: 16_384,
            per_address: 1024,
            handshake_time: Duration::from_secs(10),
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            body_bytes: 256 * 1024 * 1024,
            body_bytes_per_address: 64 * 1024 * 1024,
            answer_bytes: 256 * 1024 * 1024,
            answer_bytes_per_caller: 64 * 1024 * 1024,
            answer_bytes_per_connection: 8 * 1024 * 1024,
            idle_time: Duration::from_secs(75),
            write_time: Duration::from_secs(30),
            header_bytes: 16 * 1024,
            http2_streams: 128,
            sockets: 64,
            streams: 256,
        }
    }
}
