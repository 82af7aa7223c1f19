//! How mistakes in the macros are told.

#![expect(clippy::unwrap_used, reason = "everything here is part of a test")]

mod ui;
