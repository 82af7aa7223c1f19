//! How a subscription's stream is carried.

use serde::{Deserialize, Serialize};

/// What happens when a stream's reader is slower than its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The source waits, at most so many milliseconds for one place in the buffer; then
    /// the reader is cut off, explicitly.
    Wait(u64),
    /// The reader is cut off, explicitly, as soon as the buffer is full.
    Cut,
}

/// How a subscription's stream is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streaming {
    /// How many items may wait for the reader.
    pub buffer: usize,
    /// What happens when they do.
    pub overflow: Overflow,
    /// The longest silence between two items, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// Whether a reader may ask to go on after the last item that it saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumable: bool,
}

impl Default for Streaming {
    fn default() -> Streaming {
        Streaming { buffer: 32, overflow: Overflow::Wait(30_000), idle_ms: None, resumable: false }
    }
}
