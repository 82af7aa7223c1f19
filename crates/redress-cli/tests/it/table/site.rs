//! The service of the table, where every face can find it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use redress_core::{
    EndedCall, Observer, Registry, Request,
    contract::{CONSENT_GRANT, Caller},
    testing::Canary,
};
use redress_serve::{CallerOf, Connection, Faces, ServeError};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    rows::{Who, ending},
    service,
};

/// Longer than anything here takes.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// One registry, in process and at four servers that differ in who their callers are.
pub(crate) struct Site {
    pub(crate) registry: Registry,
    /// Markers where nothing may come from.
    pub(crate) canary: Canary,
    /// Markers in inputs, which a terminal may show to who typed them.
    pub(crate) typed: Canary,
    pub(crate) marks: Arc<Marks>,
    pub(crate) client: reqwest::Client,
    /// Cancelled when running calls are.
    pub(crate) over: CancellationToken,
    stop: CancellationToken,
    servers: Vec<Server>,
}

/// A server on which everybody is `who`.
struct Server {
    who: Who,
    address: SocketAddr,
    running: JoinHandle<Result<(), ServeError>>,
}

/// What the handlers that wait and the observer let a test see.
pub(crate) struct Marks {
    begun: Semaphore,
    running: AtomicUsize,
    endings: Mutex<Vec<Option<String>>>,
}

impl Default for Marks {
    fn default() -> Marks {
        Marks { begun: Semaphore::new(0), running: AtomicUsize::new(0), endings: Mutex::default() }
    }
}

/// A handler that runs, until it is dropped.
pub(crate) struct Runs(Arc<Marks>);

impl Marks {
    pub(crate) fn begin(self: &Arc<Marks>) -> Runs {
        self.running.fetch_add(1, Ordering::SeqCst);
        self.begun.add_permits(1);
        Runs(Arc::clone(self))
    }

    /// Resolves when another handler that waits has begun.
    pub(crate) async fn begun(&self) {
        timeout(SOON, self.begun.acquire()).await.expect("the handler begins").unwrap().forget();
    }

    /// Whether a handler that waits is still there.
    pub(crate) fn is_running(&self) -> bool {
        self.running.load(Ordering::SeqCst) > 0
    }

    /// How the calls ended of which the observers were told since this was last asked.
    pub(crate) fn endings(&self) -> Vec<Option<String>> {
        std::mem::take(&mut *self.endings.lock().unwrap())
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Tells the marks how each call ended.
pub(crate) struct Told(pub(crate) Arc<Marks>);

impl Observer for Told {
    fn ended(&self, call: &EndedCall<'_>) {
        let code = call.problem.map(|problem| problem.code.as_str().to_owned());
        self.0.endings.lock().unwrap().push(code);
    }
}

/// Every connection is of the same caller.
struct Always(Option<Arc<Caller>>);

impl CallerOf for Always {
    fn caller_of(&self, _: Connection<'_>) -> Option<Arc<Caller>> {
        self.0.clone()
    }
}

pub(crate) fn caller(who: Who) -> Option<Arc<Caller>> {
    match who {
        Who::Local => Some(Arc::new(Caller::local())),
        Who::Clerk => Some(Arc::new(Caller::new("clerk"))),
        Who::Person => Some(Arc::new(Caller::new("clerk").scope(CONSENT_GRANT))),
        Who::Nobody => None,
    }
}

impl Site {
    /// A site whose running calls have `grace` to end when it stops.
    pub(crate) async fn start(grace: Duration) -> Site {
        let (canary, marks) = (Canary::new(), Arc::new(Marks::default()));
        let registry = service::registry(&canary, &marks);
        let stop = CancellationToken::new();
        let mut servers = Vec::new();
        for who in [Who::Local, Who::Clerk, Who::Person, Who::Nobody] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let face = redress_mcp::Mcp::new(registry.clone(), mcp_options()).expect("there is no profile");
            let faces = Faces::new(registry.clone()).mcp(face).caller(Always(caller(who))).grace(grace);
            let running = tokio::spawn(faces.serve(listener, stop.clone().cancelled_owned()));
            servers.push(Server { who, address, running });
        }
        // The key that a row comes with was used before with another input: by itself, and as
        // it is called in a batch.
        for key in ["kept", "kept:0"] {
            let request = Request::new(br#"{"n":1}"#.as_slice()).with_caller(Caller::local()).with_idempotency_key(key);
            assert!(registry.call("table.once", request).await.is_ok());
        }
        // And one with a call that was cut off.
        for key in ["lost", "lost:0"] {
            let request =
                Request::new(ending("late").into_bytes()).with_caller(Caller::local()).with_idempotency_key(key);
            assert_eq!(registry.call("table.store", request).await.code(), Some("TIMEOUT"));
        }
        marks.endings();
        let (client, typed, over) = (reqwest::Client::new(), Canary::new(), CancellationToken::new());
        Site { registry, canary, typed, marks, client, over, stop, servers }
    }

    /// Where the server is on which everybody is `who`.
    pub(crate) fn address(&self, who: Who) -> SocketAddr {
        self.servers.iter().find(|server| server.who == who).expect("there is a server for each").address
    }

    /// Shows both canaries what a face let out.
    pub(crate) fn check(&self, face: &str, bytes: impl AsRef<[u8]>) {
        self.canary.check(face, &bytes);
        self.typed.check(face, &bytes);
    }

    /// Tells every server, and the calls in process, that the service goes down.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        self.over.cancel();
    }

    /// Resolves when nothing of the site runs any more.
    pub(crate) async fn stopped(self) -> Arc<Marks> {
        self.stop();
        drop(self.client);
        for server in self.servers {
            timeout(SOON, server.running).await.expect("the server stops").unwrap().unwrap();
        }
        self.marks
    }
}

/// The rows stream on every face, so subscriptions are tools here.
pub(super) fn mcp_options() -> redress_mcp::McpOptions {
    let mut options = redress_mcp::McpOptions::default();
    options.subscriptions = true;
    options.stream.time = Duration::from_secs(3600);
    options
}
