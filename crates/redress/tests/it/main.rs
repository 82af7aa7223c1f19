//! The integration tests of the crate that users come in by.

mod architecture;
mod conformance;
mod extensions;
mod registration;
mod mapping;
mod path_order;
mod running;
mod service;
