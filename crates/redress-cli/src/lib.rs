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

mod arguments;
mod call_target;
mod commands;
mod config;
mod debounce;
mod error;
mod error_rows;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "gateway")]
mod import;
mod input;
mod layers;
mod listening;
mod logs;
mod near;
mod opening;
mod panics;
mod parsed_args;
mod program;
mod reload;
mod signals;
mod stream_items;
mod terminal;
mod tls;

pub use config::{ConfigRefused, check_config, config_schema, settings_table};
pub use error_rows::CliErrorCode;
pub use opening::{ByFunction, ByRegistry, Context, IntoProgram, SetupError};
pub use program::{BuiltIn, NotServed, Program, main};
