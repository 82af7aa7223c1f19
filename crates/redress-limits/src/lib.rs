//! *How much* may be asked for: rates, concurrency and load shedding, per caller and operation.
//!
//! **Invariant:** this crate refuses and never delays; what it admits, it does not touch again.
