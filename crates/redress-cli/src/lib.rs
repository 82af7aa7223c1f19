//! The *terminal*: the commands that come with every binary of a registry. Arguments, the
//! configuration file, colours and exit codes.
//!
//! **Invariant:** this crate decides nothing about an outcome: `call` shows what
//! `Registry::call` answered, here or at a server. Nothing is written but through one
//! `Terminal`, and every way in which the command itself cannot go on is one closed set of
//! codes, each with a page, a hint and a next step.
//!
//! ```no_run
//! use redress_core::Registry;
//! use std::process::ExitCode;
//!
//! fn main() -> ExitCode {
//!     redress_cli::main(Registry::builder().build())
//! }
//! ```

mod apart;
mod arguments;
mod audit;
mod call;
mod code;
mod config;
mod consent;
mod doctor;
mod explain;
mod faces;
#[cfg(feature = "gateway")]
mod gateway;
mod generated;
#[cfg(feature = "gateway")]
mod import;
mod input;
mod listening;
mod logs;
mod looks;
mod mcp;
mod moment;
mod near;
mod new;
mod opening;
mod ops;
mod outcome;
mod parts;
mod program;
mod quota;
mod reload;
mod screen;
mod serve;
mod service;
mod shell;
mod signals;
mod stream;
mod terminal;
mod tls;
mod token;
mod trouble;
mod typed;

pub use code::TroubleCode;
pub use config::{ConfigRefused, check_config, config_schema, settings_table};
pub use opening::{ByFunction, ByRegistry, Context, IntoProgram, SetupError};
pub use program::{BuiltIn, Program, Unserved, main};
