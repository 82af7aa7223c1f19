//! The binary `redress`, run as people and programs run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access_log;
mod audit;
mod commands;
mod config;
mod consent;
mod descriptors;
mod doctor;
mod floods;
mod gateway;
mod guide;
mod keys;
mod killed;
mod limits;
mod lost_state;
mod mcp;
mod new;
mod obedient;
mod process;
mod proxies;
mod quota;
mod raw;
mod reload;
mod serve;
mod stuck_files;
mod telemetry;
mod terminal;
mod tls;
mod token;
mod upstreams;
