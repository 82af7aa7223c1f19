//! The bridge from an annotated function to a registered operation.
//!
//! `#[operation]` leaves the function an ordinary function and writes a marker type beside
//! it; the function's future is tagged with that marker, so the function alone is
//! enough to find everything that was declared.
//!
//! Why so: docs/decisions/0001-the-function-stays-a-function.md.

use std::{
    any::TypeId,
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use redress_contract as contract;
use serde::{Serialize, de::DeserializeOwned, ser::SerializeStruct};

use crate::{Ctx, Events, Failure, Operation, Outcome, plain};

/// What may be an operation's input: any type that serde reads and schemars describes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operation's input",
    label = "this type has no schema, or cannot be read from JSON",
    note = "write `#[redress::data]` above the type, or derive `serde::Deserialize` and `schemars::JsonSchema`"
)]
pub trait Input: DeserializeOwned + Send + 'static {
    /// The schema of what is accepted.
    fn schema() -> contract::Schema;
}

impl<T: DeserializeOwned + schemars::JsonSchema + Send + 'static> Input for T {
    fn schema() -> contract::Schema {
        contract::Schema::new(redress_input::input_schema::<T>())
    }
}

/// What may be an operation's output: any type that serde writes and schemars describes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an operation's output",
    label = "this type has no schema, or cannot be written as JSON",
    note = "write `#[redress::data]` above the type, or derive `serde::Serialize` and `schemars::JsonSchema`"
)]
pub trait Output: Serialize + Send + 'static {
    /// The schema of what is given.
    fn schema() -> contract::Schema;
}

impl<T: Serialize + schemars::JsonSchema + Send + 'static> Output for T {
    fn schema() -> contract::Schema {
        contract::Schema::new(redress_input::output_schema::<T>())
    }
}

/// What a caller can be shown of a failure: any type that serde writes and schemars describes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be shown to a caller",
    label = "write `#[failure(private)]` above this field to keep it to yourself, or `#[redress::data]` above its type",
    note = "a public field is part of the failure's details, for which it needs `Serialize` and `JsonSchema`"
)]
pub trait PublicField {
    /// The schema of the field.
    fn schema() -> serde_json::Value;

    /// Writes the value as a message shows it.
    fn write_plain(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Appends the value as JSON. Says no where it cannot be written.
    fn write_json(&self, json: &mut Vec<u8>) -> bool;

    /// Writes the value as a member of the details.
    fn serialize_in<O: SerializeStruct>(&self, object: &mut O, name: &'static str) -> Result<(), O::Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + schemars::JsonSchema> PublicField for T {
    fn schema() -> serde_json::Value {
        redress_input::output_schema::<T>()
    }

    fn write_plain(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        plain(self, out)
    }

    fn write_json(&self, json: &mut Vec<u8>) -> bool {
        serde_json::to_writer(json, self).is_ok()
    }

    fn serialize_in<O: SerializeStruct>(&self, object: &mut O, name: &'static str) -> Result<(), O::Error> {
        object.serialize_field(name, self)
    }
}

/// The input of an operation that takes nothing.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
pub struct Nothing {}

/// Everything that `#[operation]` knows about a function.
pub trait Declared: Send + Sync + 'static {
    /// What the function takes.
    type Input: Input;
    /// What it gives: for a subscription, each item of the stream.
    type Output: Output;
    /// What it fails with.
    type Failure: Failure;

    /// The operation's name.
    const NAME: &'static str;

    /// What the attributes say; schemas and failures come from the types.
    fn attributes() -> contract::OperationDeclaration;

    /// The state that the function's arguments need.
    fn needs() -> Vec<(TypeId, &'static str)>;

    /// The declaration with its handler.
    fn operation() -> Operation;
}

/// A declared function that is called once and answers once.
pub trait Once: Declared {
    /// Calls the function.
    fn run<'a>(
        ctx: &'a Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Outcome<Self::Output, Self::Failure>> + Send + 'a;
}

/// A declared function that opens a stream.
pub trait Streams: Declared {
    /// Calls the function.
    fn open<'a>(
        ctx: &'a Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Outcome<Events<Self::Output, Self::Failure>, Self::Failure>> + Send + 'a;
}

/// The declaration that the attributes and types of `D` make together.
pub(crate) fn declaration<D: Declared>() -> contract::OperationDeclaration {
    gives::<D::Output>(D::attributes())
        .with_input(<D::Input as Input>::schema())
        .with_output(<D::Output as Output>::schema())
        .with_failures(D::Failure::declarations())
}

/// Says what the type of the output is to those who read it.
fn gives<T: 'static>(declaration: contract::OperationDeclaration) -> contract::OperationDeclaration {
    let output = TypeId::of::<T>();
    if output == TypeId::of::<contract::Blocks>() {
        declaration.with_blocks()
    } else if output == TypeId::of::<contract::PromptMessages>() {
        declaration.with_messages()
    } else {
        declaration
    }
}

/// The future of a function that carries `#[operation]`.
#[diagnostic::on_unimplemented(
    message = "this function is not an operation",
    label = "not an operation",
    note = "write `#[operation(query, name = \"…\")]` above the function"
)]
pub trait Running: Future {
    /// The marker that `#[operation]` wrote for the function.
    type Operation: Declared;
}

pin_project_lite::pin_project! {
    /// A function's own future, tagged with the function's marker.
    #[must_use = "an operation does nothing until its future is awaited"]
    pub struct Tagged<D, F> {
        #[pin]
        future: F,
        marker: PhantomData<fn() -> D>,
    }
}

impl<D, F> Tagged<D, F> {
    /// Tags `future` with `D`.
    pub fn new(future: F) -> Tagged<D, F> {
        Tagged { future, marker: PhantomData }
    }
}

impl<D, F: Future> Future for Tagged<D, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

impl<D: Declared, F: Future> Running for Tagged<D, F> {
    type Operation = D;
}

/// A function that carries `#[operation]`. `Args` is only there to tell apart how many
/// arguments it takes.
#[diagnostic::on_unimplemented(
    message = "this function is not an operation",
    label = "not an operation",
    note = "write `#[operation(query, name = \"…\")]` above the function"
)]
pub trait OperationFn<Args> {
    /// The marker that `#[operation]` wrote for the function.
    type Declared: Declared;
}

/// What a registry can be given: a function that carries `#[operation]`, or an
/// [`Operation`] made at run time.
#[diagnostic::on_unimplemented(
    message = "this is not an operation",
    label = "neither a function with `#[operation]` nor an `Operation`",
    note = "write `#[operation(query, name = \"…\")]` above the function"
)]
pub trait IntoOperation<Args> {
    /// The operation.
    fn into_operation(self) -> Operation;
}

impl IntoOperation<Operation> for Operation {
    fn into_operation(self) -> Operation {
        self
    }
}

macro_rules! operation_fn {
    ($($arg:ident),*) => {
        impl<Fun, Fut, $($arg),*> OperationFn<fn($($arg),*)> for Fun
        where
            Fun: Fn($($arg),*) -> Fut,
            Fut: Running,
        {
            type Declared = Fut::Operation;
        }

        impl<Fun, Fut, $($arg),*> IntoOperation<fn($($arg),*)> for Fun
        where
            Fun: Fn($($arg),*) -> Fut,
            Fut: Running,
        {
            fn into_operation(self) -> Operation {
                <Fut::Operation as Declared>::operation()
            }
        }
    };
}

operation_fn!();
operation_fn!(A1);
operation_fn!(A1, A2);
operation_fn!(A1, A2, A3);
operation_fn!(A1, A2, A3, A4);
operation_fn!(A1, A2, A3, A4, A5);
operation_fn!(A1, A2, A3, A4, A5, A6);
