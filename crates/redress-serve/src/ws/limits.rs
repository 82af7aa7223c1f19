//! The numbers that bound one connection.

use std::time::Duration;

/// The numbers that bound one connection.
///
/// ```
/// let mut limits = redress_serve::ws::WebSocketLimits::default();
/// limits.streams = 16;
/// assert_eq!((limits.streams, limits.calls), (16, 1024));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct WebSocketLimits {
    /// How many bytes a message may have. One of up to twice as many is refused and the
    /// connection stays; a larger one closes it.
    pub message_bytes: usize,
    /// How deep the JSON of a message may nest.
    pub depth: usize,
    /// How many calls may be under way, from the request until the answer is written.
    pub calls: usize,
    /// How many streams may be open.
    pub streams: usize,
    /// How many small messages of one stream may wait to be written. A message counts once
    /// for each 16 KiB of it, so this bounds the bytes too.
    pub window: u32,
    /// How many messages that are no requests close the connection.
    pub malformed: usize,
    /// After how long a ping is sent.
    pub ping: Duration,
    /// After how long without any sign of the other side the connection is closed.
    pub idle: Duration,
    /// How many calls to the other side may wait for their answer, open streams included.
    pub peer_calls: usize,
    /// How many small messages of one stream from the other side may wait to be read. A
    /// message counts once for each 16 KiB of it.
    pub peer_window: usize,
    /// How long such a call may wait where its caller does not say.
    pub peer_deadline: Duration,
}

impl Default for WebSocketLimits {
    fn default() -> WebSocketLimits {
        WebSocketLimits {
            message_bytes: 1024 * 1024,
            depth: 256,
            calls: 1024,
            streams: 256,
            window: 16,
            malformed: 16,
            ping: Duration::from_secs(20),
            idle: Duration::from_secs(60),
            peer_calls: 256,
            peer_window: 256,
            peer_deadline: Duration::from_secs(30),
        }
    }
}
