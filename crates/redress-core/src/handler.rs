//! What runs an operation, its types forgotten.

use std::{any::Any, future::Future, marker::PhantomData, pin::Pin, sync::Arc};

use futures_core::Stream;
use futures_util::StreamExt as _;
use redress_contract::Output;
use serde_json::Value;

use crate::{
    Ctx, DynamicFailure, Events, Outcome,
    declare::{Declared, Once, Streams},
    encode::{encode, encode_item},
    fail::Ending,
    input::{self, DecodeError, SchemaError, Shape},
};

/// A future whose type is forgotten.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// How a handler ends.
pub(crate) type Ended = Result<Output, Box<Ending>>;
/// How the opening of a stream ends.
pub(crate) type Opening = BoxFuture<'static, Result<Items, Box<Ending>>>;
/// An input that was read, its type forgotten.
pub(crate) type ReadInput = Box<dyn Any + Send>;
/// The items of a subscription, its types forgotten.
pub(crate) type Items = Pin<Box<dyn Stream<Item = Ended> + Send>>;

/// What runs an operation.
#[derive(Clone)]
pub(crate) enum Bound {
    /// Answers once.
    Once(Arc<dyn Answer>),
    /// Answers with a stream.
    Stream(Arc<dyn Open>),
    /// Nothing does.
    Nothing,
}

impl Bound {
    /// The input's schema, made ready for what reads it.
    pub(crate) fn shape(&self, schema: Value) -> Result<Shape, SchemaError> {
        match self {
            Bound::Once(handler) => handler.shape(schema),
            Bound::Stream(handler) => handler.shape(schema),
            Bound::Nothing => Shape::dynamic(schema),
        }
    }
}

/// How the input of an operation is read.
pub(crate) trait Reads: Send + Sync {
    /// The input's schema, made ready for the handler's own type.
    fn shape(&self, schema: Value) -> Result<Shape, SchemaError>;

    /// Reads the input, for the handler to be run with elsewhere.
    fn read(&self, shape: &Shape, input: &[u8]) -> Result<ReadInput, DecodeError>;

    /// Whether the handler's own type takes this input.
    fn accepts(&self, shape: &Shape, input: &[u8]) -> bool;

    /// Where the handler's own type stumbles over this input.
    fn stumbles_at(&self, input: &[u8]) -> Option<String>;
}

/// Answers once.
pub(crate) trait Answer: Reads {
    /// Reads the input and makes the handler ready. The handler does not start before the
    /// future is polled, so the steps between can still refuse.
    fn ready<'a>(&self, ctx: &'a Ctx, shape: &Shape, input: &[u8]) -> Result<BoxFuture<'a, Ended>, DecodeError>;

    /// The same with an input that was [read](Reads::read) before.
    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, Ended>;
}

/// Answers with a stream.
pub(crate) trait Open: Reads {
    /// Reads the input and makes the opening of the stream ready.
    fn ready(&self, ctx: Ctx, shape: &Shape, input: &[u8]) -> Result<Opening, DecodeError>;

    /// The same with an input that was [read](Reads::read) before.
    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> Opening;
}

/// A handler from a function with types.
pub(crate) struct Typed<D>(pub(crate) PhantomData<fn() -> D>);

impl<D: Declared> Reads for Typed<D> {
    fn shape(&self, schema: Value) -> Result<Shape, SchemaError> {
        Shape::typed::<D::Input>(schema)
    }

    fn read(&self, shape: &Shape, input: &[u8]) -> Result<ReadInput, DecodeError> {
        Ok(Box::new(input::decode::<D::Input>(input, shape)?))
    }

    fn accepts(&self, shape: &Shape, input: &[u8]) -> bool {
        input::decode::<D::Input>(input, shape).is_ok()
    }

    fn stumbles_at(&self, input: &[u8]) -> Option<String> {
        input::pointer_of::<D::Input>(input)
    }
}

impl<D: Once> Answer for Typed<D> {
    fn ready<'a>(&self, ctx: &'a Ctx, shape: &Shape, input: &[u8]) -> Result<BoxFuture<'a, Ended>, DecodeError> {
        Ok(once::<D>(ctx, input::decode::<D::Input>(input, shape)?))
    }

    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, Ended> {
        once::<D>(ctx, *was_read::<D::Input>(input))
    }
}

fn once<D: Once>(ctx: &Ctx, input: D::Input) -> BoxFuture<'_, Ended> {
    Box::pin(async move {
        match D::run(ctx, input).await {
            Ok(output) => encode(ctx, output).await,
            Err(fail) => Err(fail.into_ending()),
        }
    })
}

impl<D: Streams> Open for Typed<D> {
    fn ready(&self, ctx: Ctx, shape: &Shape, input: &[u8]) -> Result<Opening, DecodeError> {
        Ok(stream::<D>(ctx, input::decode::<D::Input>(input, shape)?))
    }

    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> Opening {
        stream::<D>(ctx, *was_read::<D::Input>(input))
    }
}

fn stream<D: Streams>(ctx: Ctx, input: D::Input) -> Opening {
    Box::pin(async move {
        match D::open(&ctx, input).await {
            Ok(events) => Ok(items(ctx, events)),
            Err(fail) => Err(fail.into_ending()),
        }
    })
}

/// The input as the type that read it.
fn was_read<T: 'static>(input: ReadInput) -> Box<T> {
    input.downcast().expect("a handler gets the input that it read itself")
}

/// The function of an operation declared as data.
type DynamicFn<T> = dyn Fn(Ctx, Value) -> BoxFuture<'static, Outcome<T, DynamicFailure>> + Send + Sync;

/// A handler from a function over JSON values.
pub(crate) struct Dynamic<T>(pub(crate) Arc<DynamicFn<T>>);

impl<T> Reads for Dynamic<T> {
    fn shape(&self, schema: Value) -> Result<Shape, SchemaError> {
        Shape::dynamic(schema)
    }

    fn read(&self, shape: &Shape, input: &[u8]) -> Result<ReadInput, DecodeError> {
        Ok(Box::new(input::accept(input, shape)?))
    }

    fn accepts(&self, shape: &Shape, input: &[u8]) -> bool {
        input::accept(input, shape).is_ok()
    }

    fn stumbles_at(&self, _: &[u8]) -> Option<String> {
        None
    }
}

impl<T: serde::Serialize + Send + 'static> Answer for Dynamic<T> {
    fn ready<'a>(&self, ctx: &'a Ctx, shape: &Shape, input: &[u8]) -> Result<BoxFuture<'a, Ended>, DecodeError> {
        Ok(self.once(ctx, input::accept(input, shape)?))
    }

    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, Ended> {
        self.once(ctx, *was_read(input))
    }
}

impl<T: serde::Serialize + Send + 'static> Dynamic<T> {
    fn once<'a>(&self, ctx: &'a Ctx, input: Value) -> BoxFuture<'a, Ended> {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match function(ctx.clone(), input).await {
                Ok(output) => encode(ctx, output).await,
                Err(fail) => Err(fail.into_ending()),
            }
        })
    }
}

impl Open for Dynamic<Events<Value, DynamicFailure>> {
    fn ready(&self, ctx: Ctx, shape: &Shape, input: &[u8]) -> Result<Opening, DecodeError> {
        Ok(self.stream(ctx, input::accept(input, shape)?))
    }

    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> Opening {
        self.stream(ctx, *was_read(input))
    }
}

impl Dynamic<Events<Value, DynamicFailure>> {
    fn stream(&self, ctx: Ctx, input: Value) -> Opening {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match function(ctx.clone(), input).await {
                Ok(events) => Ok(items(ctx, events)),
                Err(fail) => Err(fail.into_ending()),
            }
        })
    }
}

fn items<T: serde::Serialize + Send + 'static, E: crate::Failure>(ctx: Ctx, events: Events<T, E>) -> Items {
    // What was reserved was for opening it; each item has room of its own.
    if let Some(room) = ctx.room.get() {
        room.give_back();
    }
    let ctx = Arc::new(ctx);
    Box::pin(events.into_stream().then(move |item| {
        let ctx = Arc::clone(&ctx);
        async move {
            match item {
                Ok(output) => encode_item(&ctx, output).await,
                Err(fail) => Err(fail.into_ending()),
            }
        }
    }))
}
