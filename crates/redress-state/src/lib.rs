//! What *lasts*: consents, idempotency keys, quotas and the audit of calls, in one SQLite file.
//!
//! ```
//! use redress_core::{Layers, Registry};
//! use redress_state::{StateStore, StateOptions};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("state");
//! let state = StateStore::open(StateOptions::new(&folder)).await.unwrap();
//! let registry = Registry::builder().build().unwrap();
//! let registry = registry.with_layers(
//!     Layers::new().consent(state.consents()).idempotency(state.keys()).audit(state.audit()),
//! );
//! assert!(registry.is_ready());
//! // … serve, and when it is over:
//! state.close().await.unwrap();
//! # });
//! ```
//!
//! **Invariant:** this crate never stores an input, and says that something is kept only when it is.

mod audit;
mod audit_batch;
mod clock;
mod command;
mod connect;
mod consent_desk;
mod consent_orders;
mod consents;
mod file_identity;
mod folder;
mod hash;
mod inspect;
mod keys;
mod ledger;
mod options;
mod queue;
mod quotas;
mod reader;
mod retention;
mod shared;
mod state;
mod transaction;
mod writer;

pub use clock::{Clock, SystemClock};
pub use consent_desk::{ConsentDesk, DeskError};
pub use options::{StateOptions, Sync};
pub use reader::{AuditFilter, AuditReader, AuditRecord, OperationPatternError, QuotaReader, QuotaRecord, ReadError};
pub use state::{CloseError, Health, OpenStateError, StateStore};
