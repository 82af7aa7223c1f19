//! The MCP face over real sockets and a real process.

mod access;
mod alike;
mod clients;
mod demo;
mod hostile;
mod http;
mod many;
mod service;
mod stdio;
mod streams;
