//! OpenAPI documents: 2.0, 3.0, 3.1 and 3.2, as JSON or YAML.

mod about;
mod body;
mod export;
mod fails_when;
mod failures;
mod files;
mod input;
mod names;
pub(crate) mod next_calls;
mod operation;
mod read;
mod responses;
mod schemas;
mod source;
mod status;
mod swagger;
mod whole;

pub use export::{Document, to_openapi};
pub use files::needs;
pub use read::read;
pub(crate) use source::Source;
pub use whole::{WholeOperation, WholeSchemas};
