//! A service whose calls run until they are let go.

use std::sync::Arc;

use futures_util::stream;
use redress_core::{
    Events, Layers, Operation, Registry,
    contract::{self, Access, Caller},
    testing::{CallAnswer, Harness},
};
use redress_limits::{LimitOptions, Limits};
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinHandle};

/// The operations `demo.quick`, which ends at once, `demo.wait` and `other.wait`, which wait to be let go,
/// `demo.compose`, which calls `demo.quick` three times, and the stream `demo.watch`, which never ends.
pub(crate) struct Service {
    pub(crate) limits: Limits,
    harness: Harness,
    built: Registry,
    waiting: Arc<Semaphore>,
    going: Arc<Semaphore>,
}

impl Service {
    pub(crate) fn new(options: LimitOptions) -> Service {
        let (waiting, going) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let open =
            |operation: contract::OperationDeclaration| operation.with_summary("Demo.").with_access(Access::anyone());
        let wait = |name: &str| {
            let (waiting, going) = (Arc::clone(&waiting), Arc::clone(&going));
            Operation::dynamic(open(contract::OperationDeclaration::query(name))).with_handler(move |_, input| {
                let (waiting, going) = (Arc::clone(&waiting), Arc::clone(&going));
                async move {
                    waiting.add_permits(1);
                    going.acquire().await.unwrap().forget();
                    Ok(input)
                }
            })
        };
        let quick = Operation::dynamic(open(contract::OperationDeclaration::query("demo.quick")))
            .with_handler(|_, input| async move { Ok(input) });
        let compose = open(contract::OperationDeclaration::query("demo.compose")).with_call("demo.quick");
        let compose = Operation::dynamic(compose).with_handler(|ctx, _| async move {
            for _ in 0..3 {
                ctx.call_dynamic("demo.quick", json!({})).await?;
            }
            Ok(json!(3))
        });
        let watch = Operation::dynamic(open(contract::OperationDeclaration::subscription("demo.watch")))
            .with_stream_handler(|_, _| async move { Ok(Events::new(stream::pending())) });
        let built = Registry::builder()
            .add(quick)
            .add(wait("demo.wait"))
            .add(wait("other.wait"))
            .add(compose)
            .add(watch)
            .build()
            .unwrap();
        let limits = Limits::new(options).unwrap();
        let harness = Harness::new(built.with_layers(Layers::new().limit(limits.clone())));
        Service { limits, harness, built, waiting, going }
    }

    /// The same service after a reload.
    pub(crate) fn reloaded(&self, options: LimitOptions) -> Service {
        let limits = self.limits.replaced(options).unwrap();
        Service {
            harness: Harness::new(self.built.with_layers(Layers::new().limit(limits.clone()))),
            limits,
            built: self.built.clone(),
            waiting: Arc::clone(&self.waiting),
            going: Arc::clone(&self.going),
        }
    }

    /// As who calls; nobody for an empty id.
    pub(crate) fn of(&self, id: &str) -> Harness {
        if id.is_empty() { self.harness.anonymous() } else { self.harness.as_caller(Caller::new(id)) }
    }

    pub(crate) async fn call(&self, id: &str, operation: &str) -> CallAnswer {
        self.of(id).call(operation, json!({})).await
    }

    /// Begins a call and waits until its handler runs.
    pub(crate) async fn begin(&self, id: &str, operation: &'static str) -> JoinHandle<CallAnswer> {
        let harness = self.of(id);
        let mut call = tokio::spawn(async move { harness.call(operation, json!({})).await });
        tokio::select! {
            answer = &mut call => panic!("the call ended by itself: {:?}", answer.unwrap().json()),
            waiting = self.waiting.acquire() => waiting.unwrap().forget(),
        }
        call
    }

    /// Lets calls go that wait.
    pub(crate) async fn let_go(&self, calls: impl IntoIterator<Item = JoinHandle<CallAnswer>>) {
        for call in calls {
            self.going.add_permits(1);
            assert_eq!(call.await.unwrap().code(), None);
        }
    }
}

/// What a refusal says: its code, the limit and for whom.
pub(crate) fn refusal(answer: &CallAnswer) -> (String, String, String) {
    let details = answer.details();
    let text = |member: &str| details[member].as_str().unwrap_or_default().to_owned();
    (answer.code().unwrap_or_default().to_owned(), text("limit"), text("per"))
}

#[track_caller]
pub(crate) fn assert_refused(answer: &CallAnswer, code: &str, limit: &str, per: &str) {
    assert_eq!(refusal(answer), (code.to_owned(), limit.to_owned(), per.to_owned()));
}

pub(crate) fn options(change: impl FnOnce(&mut LimitOptions)) -> LimitOptions {
    let mut options = LimitOptions::default();
    change(&mut options);
    options
}
