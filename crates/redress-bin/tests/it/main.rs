//! The binary `redress`, run as people and programs run it.

mod commands;
mod config;
mod process;
mod serve;
