//! The binary `redress`, run as people and programs run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod config;
mod mcp;
mod process;
mod serve;
mod tls;
