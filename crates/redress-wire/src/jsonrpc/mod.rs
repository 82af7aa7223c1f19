//! JSON-RPC 2.0 messages: what a body asks for, and how an outcome answers.
//!
//! What the specification leaves open is settled like this:
//!
//! - An `id` is a string, a number or null, at most [`Id::MAX`] bytes long, and comes back
//!   exactly as it was written. A number with a fraction is taken: the specification only
//!   advises clients against it.
//! - A known member that stands twice makes the request invalid; nobody can tell which one
//!   was meant. Unknown members are let be.
//! - `params` go to the operation as they are. One that is not an object does not fit any
//!   operation's input, and is answered like any other bad input (-32602).
//! - A request that is invalid is answered with its `id` where that can be read, else null.

mod answer;
mod code;
mod message;

pub use answer::{write_answer, write_result};
pub use code::{kind, number};
pub use message::{Id, Member, RpcCall, RpcMessage, Unreadable, read};
