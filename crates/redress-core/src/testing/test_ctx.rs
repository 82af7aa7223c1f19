//! A context for a unit test that calls an operation's function itself.

use std::sync::{Arc, OnceLock};

use redress_contract::{Caller, RequestId};
use tokio_util::sync::CancellationToken;

use crate::{Asker, Builder, Ctx, IntoOperation, ProgressListener, Registry, call::ask::AskContext};

/// A context of nobody, with no state, for a function that needs no more.
///
/// ```
/// use redress_core::testing::ctx;
///
/// let ctx = ctx();
/// assert!(ctx.caller().is_none() && !ctx.is_cancelled());
/// ```
pub fn ctx() -> Ctx {
    TestCtx::new().build()
}

/// A context for a unit test, so that an operation's function can be called as the ordinary
/// function it is: no path, no access, no deadline.
///
/// ```
/// use redress_core::testing::TestCtx;
/// use redress_core::Ctx;
/// use redress_core::contract::Caller;
///
/// struct Greeting(&'static str);
///
/// async fn greet(ctx: &Ctx) -> String {
///     let Greeting(word) = ctx.state().unwrap();
///     format!("{word}, {}", ctx.caller().unwrap().id())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let ctx = TestCtx::new().caller(Caller::new("ada")).state(Greeting("hello")).build();
/// assert_eq!(greet(&ctx).await, "hello, ada");
/// # });
/// ```
pub struct TestCtx {
    builder: Builder,
    caller: Option<Arc<Caller>>,
    cancellation: Option<CancellationToken>,
    idempotency_key: Option<Arc<str>>,
    serving: Option<String>,
    listener: Option<Arc<dyn ProgressListener>>,
    asker: Option<Arc<dyn Asker>>,
}

impl Default for TestCtx {
    fn default() -> TestCtx {
        TestCtx::new()
    }
}

impl TestCtx {
    /// A context of nobody, with no state.
    pub fn new() -> TestCtx {
        TestCtx {
            builder: Registry::builder(),
            caller: None,
            cancellation: None,
            idempotency_key: None,
            serving: None,
            listener: None,
            asker: None,
        }
    }

    /// Says who calls.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> TestCtx {
        self.caller = Some(Arc::new(caller));
        self
    }

    /// Gives the state that `State<T>` and [`Ctx::state`] find.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, state: T) -> TestCtx {
        self.builder = self.builder.state(state);
        self
    }

    /// Lets `token` cancel the call.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> TestCtx {
        self.cancellation = Some(token);
        self
    }

    /// Gives the idempotency key that came with the call.
    #[must_use]
    pub fn idempotency_key(mut self, key: &str) -> TestCtx {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Makes it the context of `operation`, which is the function under test: with its reach and authority, so that what
    /// it does not declare in `calls(…)` is not there, as in production.
    ///
    /// ```text
    /// let ctx = TestCtx::new().serving_operation(resolve).operation(assign).state(store).build();
    /// let outcome = resolve(&ctx, Resolve { id: 7 }).await;
    /// ```
    #[must_use]
    pub fn serving_operation<A>(mut self, operation: impl IntoOperation<A>) -> TestCtx {
        let operation = operation.into_operation();
        self.serving = Some(operation.declaration.name().as_str().to_owned());
        self.builder = self.builder.add(operation);
        self
    }

    /// Adds an operation, real or a stand-in, that the function calls by [`Ctx::call`].
    #[must_use]
    pub fn operation<A>(mut self, operation: impl IntoOperation<A>) -> TestCtx {
        self.builder = self.builder.add(operation);
        self
    }

    /// Makes it the context of the added operation `name`: with that one's credentials, reach
    /// and authority. A context that serves none reaches nothing.
    #[must_use]
    pub fn serving(mut self, name: &str) -> TestCtx {
        self.serving = Some(name.to_owned());
        self
    }

    /// Lets `listener` hear what the function says while it is at work.
    #[must_use]
    pub fn listener(mut self, listener: Arc<dyn ProgressListener>) -> TestCtx {
        self.listener = Some(listener);
        self
    }

    /// Lets `asker` answer what the function asks.
    #[must_use]
    pub fn asker(mut self, asker: impl Asker) -> TestCtx {
        self.asker = Some(Arc::new(asker));
        self
    }

    /// The context.
    ///
    /// # Panics
    ///
    /// When the added operations do not register, the one to be served is not among them, or there are operations to
    /// call and nothing says which one the function is.
    #[track_caller]
    pub fn build(self) -> Ctx {
        assert!(
            self.serving.is_some() || self.builder.operations.is_empty(),
            "nothing says which operation the function is, so it may call none: write `.serving_operation(…)`"
        );
        let registry = match self.builder.build() {
            Ok(registry) => registry,
            Err(error) => panic!("{error}"),
        };
        let entry = self.serving.map(|name| match registry.find(&name) {
            Some(entry) => Arc::clone(entry),
            None => panic!("no operation `{name}` was added"),
        });
        Ctx {
            entry,
            registry,
            caller: self.caller,
            request_id: RequestId::given("test").expect("a request id may be made of letters"),
            parent: None,
            face: crate::Face::Process,
            peer: None,
            sign_in: None,
            deadline: None,
            caller_deadline: None,
            depth: 0,
            session_id: None,
            idempotency_key: self.idempotency_key,
            last_event_id: None,
            listener: self.listener,
            asking: self.asker.map(|asker| Arc::new(AskContext::live(asker))),
            above: self.cancellation,
            own: OnceLock::new(),
            account: None,
            room: OnceLock::new(),
            reserves: OnceLock::new(),
        }
    }
}

impl std::fmt::Debug for TestCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestCtx").field("builder", &self.builder).field("caller", &self.caller).finish_non_exhaustive()
    }
}
