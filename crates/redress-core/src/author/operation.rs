//! A declaration with what runs it.

use std::{any::TypeId, future::Future, marker::PhantomData, sync::Arc};

use redress_contract as contract;
use serde_json::Value;

use crate::{
    CheckFn, ChecksWhere, Credentials, DynamicFailure, Events, Outcome,
    author::{
        access_check::OperationCheck,
        declare::{self, Declared, Once, Streams},
        handler::{BoundHandler, DynamicHandler, TypedHandler},
    },
    call::ctx::Ctx,
};

/// A declaration with what runs it, ready to be registered.
///
/// A function with `#[operation]` becomes one by itself. This type is for declarations
/// that are data: imports, extensions, scripts.
///
/// ```
/// use redress_core::{DynamicFailure, Operation};
/// use redress_core::contract::{self, FailureDeclaration, Kind, Recovery};
/// use serde_json::json;
///
/// let declaration = contract::OperationDeclaration::query("files.read")
///     .with_summary("Read a text file.")
///     .with_input(json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}))
///     .fails(
///         FailureDeclaration::new("FILE_NOT_FOUND", Kind::NotFound)
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
    pub(crate) declaration: contract::OperationDeclaration,
    pub(crate) bound: BoundHandler,
    pub(crate) needs: Vec<(TypeId, &'static str)>,
    pub(crate) typed: bool,
    pub(crate) credentials: Credentials,
    /// Who owns the namespace that it is in.
    pub(crate) owner: String,
    /// The package that declares it, where its function says that.
    pub(crate) package: Option<&'static str>,
    /// What decides by the input whether the caller may have what it asks for.
    pub(crate) check: Option<OperationCheck>,
}

/// The owner of what is registered with no other owner named.
pub(crate) const THIS_SERVICE: &str = "this service";

/// The owner of what comes with redress itself: discovery and consents.
pub(crate) const REDRESS: &str = "redress";

impl Operation {
    /// The operation of a declared function that answers once.
    pub fn once<D: Once>() -> Operation {
        Operation::typed::<D>(BoundHandler::Once(Arc::new(TypedHandler::<D>(PhantomData))))
    }

    /// The operation of a declared function that answers with a stream.
    pub fn streams<D: Streams>() -> Operation {
        Operation::typed::<D>(BoundHandler::Stream(Arc::new(TypedHandler::<D>(PhantomData))))
    }

    fn typed<D: declare::Declared>(bound: BoundHandler) -> Operation {
        Operation {
            declaration: declare::declaration::<D>(),
            bound,
            needs: D::needs(),
            typed: true,
            credentials: Credentials::new(),
            owner: THIS_SERVICE.to_owned(),
            package: None,
            check: None,
        }
    }

    /// An operation declared as data. It refuses to register until a handler is bound.
    pub fn dynamic(declaration: contract::OperationDeclaration) -> Operation {
        Operation {
            declaration,
            bound: BoundHandler::Nothing,
            needs: Vec::new(),
            typed: false,
            credentials: Credentials::new(),
            owner: THIS_SERVICE.to_owned(),
            package: None,
            check: None,
        }
    }

    /// Binds a function that answers once.
    #[must_use]
    pub fn with_handler<F, R>(mut self, function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<Value, DynamicFailure>> + Send + 'static,
    {
        self.bound =
            BoundHandler::Once(Arc::new(DynamicHandler(Arc::new(move |ctx, input| Box::pin(function(ctx, input))))));
        self
    }

    /// Binds a function that answers once, with JSON that is already written: another service's answer, say, which is
    /// passed on as it came, with every digit of its numbers.
    #[must_use]
    pub fn with_json_handler<F, R>(mut self, function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<contract::Json, DynamicFailure>> + Send + 'static,
    {
        self.bound =
            BoundHandler::Once(Arc::new(DynamicHandler(Arc::new(move |ctx, input| Box::pin(function(ctx, input))))));
        self
    }

    /// Binds a function that answers with a stream.
    #[must_use]
    pub fn with_stream_handler<F, R>(mut self, function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<Events<Value, DynamicFailure>, DynamicFailure>> + Send + 'static,
    {
        self.bound =
            BoundHandler::Stream(Arc::new(DynamicHandler(Arc::new(move |ctx, input| Box::pin(function(ctx, input))))));
        self
    }

    /// Sets the check of an operation declared as data: whether this caller may have what this input asks for. It runs
    /// after the input's schema and before everything else that looks at the input. `false` is FORBIDDEN; a failure
    /// with one of `codes`, which the operation declares, stands for the operation's own, so that nobody learns what
    /// exists; anything else that goes wrong refuses the call.
    ///
    /// ```
    /// use redress_core::{DynamicFailure, Operation, Registry, Request};
    /// use redress_core::contract::{self, Caller, FailureDeclaration, Kind, Recovery};
    /// use serde_json::{Value, json};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let unknown = FailureDeclaration::new("NOTE_UNKNOWN", Kind::NotFound)
    ///     .with_when("There is no such note.")
    ///     .with_recovery(Recovery::fix_input("/owner", "Give the name of somebody with notes."));
    /// let declaration = contract::OperationDeclaration::query("notes.of")
    ///     .with_summary("Read the notes of somebody.")
    ///     .with_input(json!({"type": "object", "properties": {"owner": {"type": "string"}}, "required": ["owner"]}))
    ///     .fails(unknown);
    /// let notes = Operation::dynamic(declaration)
    ///     .with_handler(|_, _| async { Ok(json!(["buy milk"])) })
    ///     .with_check(&["NOTE_UNKNOWN"], |ctx, input: Value| async move {
    ///         if ctx.caller().is_some_and(|caller| input["owner"] == caller.id()) {
    ///             return Ok(true);
    ///         }
    ///         Err(DynamicFailure::new("NOTE_UNKNOWN", json!({})))?
    ///     });
    /// let registry = Registry::builder().add(notes).build().unwrap();
    /// let read = |owner: &str| {
    ///     let input = json!({"owner": owner}).to_string().into_bytes();
    ///     registry.call("notes.of", Request::new(input).with_caller(Caller::new("ada")))
    /// };
    /// assert_eq!(read("ada").await.code(), None);
    /// assert_eq!(read("bob").await.code(), Some("NOTE_UNKNOWN"));
    /// # });
    /// ```
    #[must_use]
    pub fn with_check<F, R>(mut self, codes: &[&str], function: F) -> Operation
    where
        F: Fn(Ctx, Value) -> R + Send + Sync + 'static,
        R: Future<Output = Outcome<bool, DynamicFailure>> + Send + 'static,
    {
        self.checked(OperationCheck::dynamic(codes, function));
        self
    }

    /// Sets the check of a declared function: `#[operation]` writes this for `access(check = …)`. `A` says whether the
    /// operation requires a caller.
    #[doc(hidden)]
    #[must_use]
    pub fn checked_by<D, A, Args, C>(mut self, check: C) -> Operation
    where
        D: Declared,
        C: CheckFn<Args, D::Input>,
        C::Check: ChecksWhere<A>,
    {
        let _ = check;
        self.needs.extend(<C::Check as crate::Checks<D::Input>>::needs());
        self.checked(OperationCheck::typed::<D, C::Check>());
        self
    }

    fn checked(&mut self, check: OperationCheck) {
        self.check = Some(check);
        self.declaration = self.declaration.clone().with_access(self.declaration.access().clone().check());
    }

    /// Gives it credentials, which no other operation sees.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Operation {
        self.credentials = credentials;
        self
    }

    /// Names who owns its namespace, in place of the package that declares it. Two owners of one namespace refuse
    /// to register.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Operation {
        self.owner = owner.into();
        self
    }

    /// Says which package declares it: `#[operation]` does. Two packages do not share a namespace unless both name the
    /// same [owner](Operation::with_owner).
    #[must_use]
    pub fn of_package(mut self, package: Option<&'static str>) -> Operation {
        self.package = package;
        self
    }

    /// What it declares.
    pub fn declaration(&self) -> &contract::OperationDeclaration {
        &self.declaration
    }
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("name", self.declaration.name()).finish_non_exhaustive()
    }
}
