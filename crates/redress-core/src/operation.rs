//! A declaration with what runs it.

use std::{any::TypeId, future::Future, marker::PhantomData, sync::Arc};

use redress_contract as contract;
use serde_json::Value;

use crate::{
    Credentials, DynamicFailure, Events, Outcome,
    ctx::Ctx,
    declare::{self, Once, Streams},
    handler::{Bound, Dynamic, Typed},
};

/// A declaration with what runs it, ready to be registered.
///
/// A function with `#[operation]` becomes one by itself. This type is for declarations
/// that are data: imports, extensions, scripts.
///
/// ```
/// use redress_core::{DynamicFailure, Operation};
/// use redress_core::contract::{self, Failure, Kind, Recovery};
/// use serde_json::json;
///
/// let declaration = contract::Operation::query("files.read")
///     .with_summary("Read a text file.")
///     .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
///     .fails(
///         Failure::new("FILE_NOT_FOUND", Kind::NotFound)
///             .with_when("The file does not exist.")
///             .with_details(json!({"type": "object", "properties": {"path": {"type": "string"}}}))
///             .with_recovery(Recovery::fix_input("/path", "Give the path of a file that exists.")),
///     );
/// let read = Operation::dynamic(declaration).with_handler(|_ctx, input| async move {
///     Err(DynamicFailure::new("FILE_NOT_FOUND", json!({"path": input["path"]})))?
/// });
/// assert_eq!(read.declaration().name().as_str(), "files.read");
/// ```
#[derive(Clone)]
pub struct Operation {
    pub(crate) declaration: contract::Operation,
    pub(crate) bound: Bound,
    pub(crate) needs: Vec<(TypeId, &'static str)>,
    pub(crate) typed: bool,
    pub(crate) credentials: Credentials,
    /// Who owns the namespace that it is in.
    pub(crate) owner: String,
}

/// The owner of what is registered with no other owner named.
const THIS_SERVICE: &str = "this service";

impl Operation {
    /// The operation of a declared function that answers once.
    pub fn once<D: Once>() -> Operation {
        Operation::typed::<D>(Bound::Once(Arc::new(Typed::<D>(PhantomData))))
    }

    /// The operation of a declared function that answers with a stream.
    pub fn streams<D: Streams>() -> Operation {
        Operation::typed::<D>(Bound::Stream(Arc::new(Typed::<D>(PhantomData))))
    }

    fn typed<D: declare::Declared>(bound: Bound) -> Operation {
        Operation {
            declaration: declare::declaration::<D>(),
            bound,
            needs: D::needs(),
            typed: true,
            credentials: Credentials::new(),
            owner: THIS_SERVICE.to_owned(),
        }
    }

    /// An operation declared as data. It refuses to register until a handler is bound.
    pub fn dynamic(declaration: contract::Operation) -> Operation {
        Operation {
            declaration,
            bound: Bound::Nothing,
            needs: Vec::new(),
            typed: false,
            credentials: Credentials::new(),
            owner: THIS_SERVICE.to_owned(),
        }
    }

    /// Binds a function that answers once.
    #[must_use]
    pub fn with_handler<F, R>(mut self, function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<Value, DynamicFailure>> + Send + 'static,
    {
        self.bound = Bound::Once(Arc::new(Dynamic(Arc::new(move |ctx, input| Box::pin(function(ctx, input))))));
        self
    }

    /// Binds a function that answers with a stream.
    #[must_use]
    pub fn with_stream_handler<F, R>(mut self, function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<Events<Value, DynamicFailure>, DynamicFailure>> + Send + 'static,
    {
        self.bound = Bound::Stream(Arc::new(Dynamic(Arc::new(move |ctx, input| Box::pin(function(ctx, input))))));
        self
    }

    /// Gives it credentials, which no other operation sees.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Operation {
        self.credentials = credentials;
        self
    }

    /// Names the package that owns its namespace (B11). Two owners of one namespace refuse to
    /// register.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Operation {
        self.owner = owner.into();
        self
    }

    /// What it declares.
    pub fn declaration(&self) -> &contract::Operation {
        &self.declaration
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("name", self.declaration.name()).finish_non_exhaustive()
    }
}
