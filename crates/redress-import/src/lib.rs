//! What a foreign document *says*: an OpenAPI document (2.0, 3.0, 3.1, 3.2; JSON or YAML) read into operations with every
//! failure declared, with a plan of how each is asked for, and with everything that was found on the way.
//!
//! **Invariant:** this crate is pure. It is given bytes and gives values: it opens no socket and no file, reads no clock
//! and no environment, and nothing in it runs a call. One odd place in a document costs one operation at the most; every
//! operation of the document is imported, or listed as skipped with its place and the reason.
//!
//! ```
//! use redress_import::{ReadOptions, openapi};
//!
//! let document = br#"
//! openapi: 3.1.0
//! info: {title: Shop, version: "1"}
//! paths:
//!   /orders/{id}:
//!     get:
//!       operationId: getOrder
//!       parameters: [{name: id, in: path, required: true, schema: {type: string}}]
//!       responses:
//!         200: {description: The order.}
//!         404: {description: There is no such order.}
//! "#;
//! let import = openapi::read(document, &ReadOptions::default())?;
//! let order = &import.operations[0];
//! assert_eq!(order.operation.name().as_str(), "orders.get_order");
//! assert_eq!(order.operation.failure("HTTP_404").map(|failure| failure.http()), Some(404));
//! assert_eq!(order.request.path, "/orders/{id}");
//! # Ok::<(), redress_import::ReadError>(())
//! ```

mod document;
mod error;
mod import;
pub mod openapi;
mod options;
mod overlay;
mod override_error;
mod overrides;
mod proposal;
mod report;
mod request;
mod response;
mod security;
mod server;

pub use error::ReadError;
pub use import::{Import, ImportedOperation, Skipped, Warning};
pub use options::{Budget, Limits, ReadOptions};
pub use overlay::{Overlay, OverlayError};
pub use override_error::OverrideError;
pub use overrides::Override;
pub use proposal::{FailsWhen, NextCall, NextCallOrigin, Test};
pub use report::{Report, ReportedOperation, ToolList};
pub use request::{BodyPlan, Field, Place, RequestPlan, Serialization, Style};
pub use response::{BodyKind, BoundDetail, ContentPlan, ResponsePlan, StatusPattern};
pub use security::{ApiKeyPlace, OAuthFlow, SecurityRequirement, SecurityScheme};
pub use server::{Server, ServerVariable};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/import.md")]
struct Guide;
