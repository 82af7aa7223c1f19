//! Operations over a WebSocket: many calls and streams on one connection, in both directions.
//!
//! A message is a JSON object `{type, id, payload}`. `call.requested` asks; `call.responded`
//! gives an output, `call.completed`, `call.error` and `call.aborted` end. The id is chosen by
//! who asks and is all that ties answers to it. A message may be text or binary, and is
//! answered in kind.
//!
//! There is no message for credit. Each stream has a window of its own between its source and
//! the connection, and all of them are written in turns, so none can hold up another; the
//! connection as a whole is held back by TCP.
//!
//! Why so: docs/decisions/0011-websocket-messages.md.

mod call;
mod fair_queue;
mod frame;
mod limits;
mod message;
mod partial_message;
mod peer;
mod peer_stream;
mod session;
#[cfg(test)]
mod tests;
mod upgrade;

pub use fair_queue::WebSocketLoad;
pub use limits::WebSocketLimits;
pub use peer::{Peer, PeerError, PeerFailure, Peers};
pub use peer_stream::PeerStream;
pub(crate) use upgrade::{SocketOwner, WebSockets};
