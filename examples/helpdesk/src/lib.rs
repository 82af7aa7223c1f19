//! Tickets of a helpdesk, as operations that say how they fail.
//!
//! **Invariant:** only [`Store`] knows the database; operations ask it, and say what its answers mean to a caller.

mod store;
mod tickets;

use redress::{BuildError, Registry};

pub use store::Store;

/// Every operation, over this store. What is forgotten here, `tests/contract.rs` names.
pub fn registry(store: Store) -> Result<Registry, BuildError> {
    Registry::builder()
        .state(store)
        .add(tickets::open)
        .add(tickets::get)
        .add(tickets::search)
        // What agents and programs find out with: services.list, services.schema, errors.explain.
        .add_all(redress::serve::discovery())
        .build()
}
