//! The integration tests of the crate that users come in by.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test, and a helper that fails fails its test")]

mod access;
mod advice;
mod advisories;
mod architecture;
mod asking;
mod auditing;
mod call_trees;
mod canary;
mod checks;
mod composition;
mod conformance;
mod contracts;
mod coverage;
mod decisions;
#[cfg(feature = "cli")]
mod declared_examples;
mod engine_pages;
mod envelope;
mod example;
mod extensions;
mod extent;
mod guards;
mod guides;
mod idempotency;
mod in_place;
mod licences;
mod limited;
mod listening;
mod macros;
mod mapping;
mod names;
mod next_actions;
mod obedient;
mod observers;
#[cfg(feature = "serve")]
mod offload;
mod other_services;
mod packages;
mod path_order;
mod registration;
mod roles;
mod running;
mod security;
mod service;
mod streams;
mod verify;
