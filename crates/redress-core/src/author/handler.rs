//! What runs an operation, its types forgotten.

use std::{any::Any, future::Future, marker::PhantomData, pin::Pin, sync::Arc};

use futures_core::Stream;
use futures_util::StreamExt as _;
use redress_contract::OutputJson;
use redress_input::{DecodeError, InputShape, SchemaError};
use serde_json::Value;

use crate::{
    Ctx, DynamicFailure, Events, Outcome,
    author::{
        declare::{Declared, Once, Streams},
        fail::ErasedFail,
    },
    call::encode::{encode, encode_item},
};

/// A future whose type is forgotten.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// How a handler ends.
pub(crate) type HandlerResult = Result<OutputJson, Box<ErasedFail>>;
/// How the opening of a stream ends.
pub(crate) type StreamOpening = BoxFuture<'static, Result<HandlerItems, Box<ErasedFail>>>;
/// An input that was read, its type forgotten.
pub(crate) type ReadInput = Box<dyn Any + Send>;
/// The items of a subscription, its types forgotten.
pub(crate) type HandlerItems = Pin<Box<dyn Stream<Item = HandlerResult> + Send>>;

/// What runs an operation.
#[derive(Clone)]
pub(crate) enum BoundHandler {
    /// Answers once.
    Once(Arc<dyn UnaryHandler>),
    /// Answers with a stream.
    Stream(Arc<dyn StreamHandler>),
    /// Nothing does.
    Nothing,
}

impl BoundHandler {
    /// The input's schema, made ready for what reads it.
    pub(crate) fn shape(&self, schema: Value) -> Result<InputShape, SchemaError> {
        match self {
            BoundHandler::Once(handler) => handler.shape(schema),
            BoundHandler::Stream(handler) => handler.shape(schema),
            BoundHandler::Nothing => InputShape::dynamic(schema),
        }
    }
}

/// How the input of an operation is read.
pub(crate) trait InputReader: Send + Sync {
    /// The input's schema, made ready for the handler's own type.
    fn shape(&self, schema: Value) -> Result<InputShape, SchemaError>;

    /// Reads the input, for the handler to be run with elsewhere.
    fn read(&self, shape: &InputShape, input: &[u8]) -> Result<ReadInput, DecodeError>;

    /// Whether the handler's own type takes this input.
    fn accepts(&self, shape: &InputShape, input: &[u8]) -> bool;

    /// Where the handler's own type stumbles over this input.
    fn stumbles_at(&self, input: &[u8]) -> Option<String>;
}

/// Answers once.
pub(crate) trait UnaryHandler: InputReader {
    /// Reads the input and makes the handler ready. The handler does not start before the
    /// future is polled, so the steps between can still refuse.
    fn ready<'a>(
        &self,
        ctx: &'a Ctx,
        shape: &InputShape,
        input: &[u8],
    ) -> Result<BoxFuture<'a, HandlerResult>, DecodeError>;

    /// The same with an input that was [read](InputReader::read) before.
    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, HandlerResult>;
}

/// Answers with a stream.
pub(crate) trait StreamHandler: InputReader {
    /// Reads the input and makes the opening of the stream ready.
    fn ready(&self, ctx: Ctx, shape: &InputShape, input: &[u8]) -> Result<StreamOpening, DecodeError>;

    /// The same with an input that was [read](InputReader::read) before.
    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> StreamOpening;
}

/// A handler from a function with types.
pub(crate) struct TypedHandler<D>(pub(crate) PhantomData<fn() -> D>);

impl<D: Declared> InputReader for TypedHandler<D> {
    fn shape(&self, schema: Value) -> Result<InputShape, SchemaError> {
        InputShape::typed::<D::Input>(schema)
    }

    fn read(&self, shape: &InputShape, input: &[u8]) -> Result<ReadInput, DecodeError> {
        Ok(Box::new(redress_input::decode::<D::Input>(input, shape)?))
    }

    fn accepts(&self, shape: &InputShape, input: &[u8]) -> bool {
        redress_input::decode::<D::Input>(input, shape).is_ok()
    }

    fn stumbles_at(&self, input: &[u8]) -> Option<String> {
        redress_input::pointer_of::<D::Input>(input)
    }
}

impl<D: Once> UnaryHandler for TypedHandler<D> {
    fn ready<'a>(
        &self,
        ctx: &'a Ctx,
        shape: &InputShape,
        input: &[u8],
    ) -> Result<BoxFuture<'a, HandlerResult>, DecodeError> {
        Ok(once::<D>(ctx, redress_input::decode::<D::Input>(input, shape)?))
    }

    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, HandlerResult> {
        once::<D>(ctx, *was_read::<D::Input>(input))
    }
}

fn once<D: Once>(ctx: &Ctx, input: D::Input) -> BoxFuture<'_, HandlerResult> {
    Box::pin(async move {
        match D::run(ctx, input).await {
            Ok(output) => encode(ctx, output).await,
            Err(fail) => Err(fail.into_ending()),
        }
    })
}

impl<D: Streams> StreamHandler for TypedHandler<D> {
    fn ready(&self, ctx: Ctx, shape: &InputShape, input: &[u8]) -> Result<StreamOpening, DecodeError> {
        Ok(stream::<D>(ctx, redress_input::decode::<D::Input>(input, shape)?))
    }

    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> StreamOpening {
        stream::<D>(ctx, *was_read::<D::Input>(input))
    }
}

fn stream<D: Streams>(ctx: Ctx, input: D::Input) -> StreamOpening {
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
pub(crate) struct DynamicHandler<T>(pub(crate) Arc<DynamicFn<T>>);

impl<T> InputReader for DynamicHandler<T> {
    fn shape(&self, schema: Value) -> Result<InputShape, SchemaError> {
        InputShape::dynamic(schema)
    }

    fn read(&self, shape: &InputShape, input: &[u8]) -> Result<ReadInput, DecodeError> {
        Ok(Box::new(redress_input::accept(input, shape)?))
    }

    fn accepts(&self, shape: &InputShape, input: &[u8]) -> bool {
        redress_input::accept(input, shape).is_ok()
    }

    fn stumbles_at(&self, _: &[u8]) -> Option<String> {
        None
    }
}

impl<T: serde::Serialize + Send + 'static> UnaryHandler for DynamicHandler<T> {
    fn ready<'a>(
        &self,
        ctx: &'a Ctx,
        shape: &InputShape,
        input: &[u8],
    ) -> Result<BoxFuture<'a, HandlerResult>, DecodeError> {
        Ok(self.once(ctx, redress_input::accept(input, shape)?))
    }

    fn ready_with<'a>(&self, ctx: &'a Ctx, input: ReadInput) -> BoxFuture<'a, HandlerResult> {
        self.once(ctx, *was_read(input))
    }
}

impl<T: serde::Serialize + Send + 'static> DynamicHandler<T> {
    fn once<'a>(&self, ctx: &'a Ctx, input: Value) -> BoxFuture<'a, HandlerResult> {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match function(ctx.clone(), input).await {
                Ok(output) => encode(ctx, output).await,
                Err(fail) => Err(fail.into_ending()),
            }
        })
    }
}

impl StreamHandler for DynamicHandler<Events<Value, DynamicFailure>> {
    fn ready(&self, ctx: Ctx, shape: &InputShape, input: &[u8]) -> Result<StreamOpening, DecodeError> {
        Ok(self.stream(ctx, redress_input::accept(input, shape)?))
    }

    fn ready_with(&self, ctx: Ctx, input: ReadInput) -> StreamOpening {
        self.stream(ctx, *was_read(input))
    }
}

impl DynamicHandler<Events<Value, DynamicFailure>> {
    fn stream(&self, ctx: Ctx, input: Value) -> StreamOpening {
        let function = Arc::clone(&self.0);
        Box::pin(async move {
            match function(ctx.clone(), input).await {
                Ok(events) => Ok(items(ctx, events)),
                Err(fail) => Err(fail.into_ending()),
            }
        })
    }
}

fn items<T: serde::Serialize + Send + 'static, E: crate::Failure>(ctx: Ctx, events: Events<T, E>) -> HandlerItems {
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
