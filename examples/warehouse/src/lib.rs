//! What is in stock and the orders that take from it, as operations that say how they fail.
//!
//! **Invariant:** only [`Store`] and `feed` know the database; operations say what its answers mean to a caller.

mod feed;
mod orders;
mod stock;
mod store;

use redress::{BuildError, Registry};

pub use store::Store;

/// Every operation, over this store. What is forgotten here, `tests/contract.rs` names.
pub fn registry(store: Store) -> Result<Registry, BuildError> {
    Registry::builder()
        .state(store)
        .add(stock::receive)
        .add(stock::get)
        .add(stock::list)
        .add(stock::correct)
        .add(stock::watch)
        .add(orders::place)
        .add(orders::status)
        // What agents and programs find out with: services.list, services.schema, errors.explain.
        .add_all(redress::serve::discovery())
        .build()
}
