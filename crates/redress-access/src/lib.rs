//! *Who calls*: bearer tokens kept as hashes, JSON Web Tokens and client certificates.
//!
//! **Invariant:** this crate never keeps, logs or shows a credential: what it stores is a hash, and what it compares, it compares in constant time.
