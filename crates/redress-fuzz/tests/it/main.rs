//! The kept corpus, replayed.

mod corpus;
