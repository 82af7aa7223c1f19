//! What *lasts*: consents, idempotency keys and the audit of calls, in one SQLite file.
//!
//! **Invariant:** this crate never stores an input, and says that something is kept only when it is.
