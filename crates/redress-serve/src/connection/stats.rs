//! What a server counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a server has open, and what it has seen since it began.
///
/// What is open can go up and down; the rest only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStats {
    /// Connections that are open, WebSockets among them.
    pub connections: u64,
    /// WebSockets that are open.
    pub sockets: u64,
    /// Streams that are open over HTTP, those of MCP and its sessions among them.
    pub streams: u64,
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that were refused because too many were open.
    pub refused: u64,
    /// Connections that were refused because too many were open from their address.
    pub refused_by_address: u64,
    /// WebSockets, streams and MCP sessions that were refused because their caller had too many.
    pub refused_by_caller: u64,
    /// Connections that could not be accepted, mostly for want of file descriptors.
    pub accept_errors: u64,
    /// TLS handshakes that failed or took too long.
    pub handshakes_failed: u64,
    /// Connections that were closed because their headers took too long.
    pub slow_headers: u64,
    /// Messages that were refused because their body took too long.
    pub slow_bodies: u64,
    /// Messages that were refused because there was no room for their body.
    pub refused_bodies: u64,
    /// Bytes of answers that are held.
    pub answer_bytes: u64,
    /// The most bytes of answers that were held at once.
    pub answer_bytes_peak: u64,
    /// Calls and answers that had to wait for room.
    pub waited_answers: u64,
    /// Calls that did not run because there was no room for their answer.
    pub refused_answers: u64,
    /// Connections that were closed because nothing of what was written to them was read.
    pub slow_readers: u64,
    /// Connections that were closed because nothing was asked on them.
    pub idle: u64,
}

macro_rules! counters {
    ($($name:ident),+ $(,)?) => {
        /// The counters themselves.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)+
        }

        impl Counters {
            /// What they show.
            pub(crate) fn read(&self) -> ServerStats {
                ServerStats { $($name: self.$name.get(),)+ ..ServerStats::default() }
            }
        }
    };
}

counters! {
    connections, sockets, streams, accepted, refused, refused_by_address, refused_by_caller, accept_errors,
    handshakes_failed, slow_headers, slow_bodies, refused_bodies, slow_readers, idle,
}

/// One number that many count.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
