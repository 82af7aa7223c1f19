//! The MCP face over real sockets and a real process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod alike;
mod changes;
mod clients;
mod consent;
mod demo;
mod disclosure;
mod events;
mod hostile;
mod http;
mod keys;
mod lines;
mod many;
mod next_actions;
mod notes;
mod places;
mod refusals;
mod rounds;
mod service;
mod sessions;
mod shelf;
mod speaking;
mod stdio;
mod strangers;
mod streams;
mod talk;
mod told;
mod unread;
