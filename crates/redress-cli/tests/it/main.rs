//! The commands of a registry that a program brings along, and the files that are kept.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod canary;
mod kept;
mod listing;
mod notes;
mod one_code;
mod opening;
mod outcomes;
mod table;
