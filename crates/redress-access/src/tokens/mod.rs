//! Bearer tokens that are kept by their hashes.

mod entry;
mod file;
mod table;
mod text;

pub use entry::{NewToken, TokenEntry};
pub use file::TokenFile;
pub(crate) use table::{Hashed, TokenTable};
pub(crate) use text::PREFIX;
