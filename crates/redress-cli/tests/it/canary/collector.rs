//! A collector that keeps every byte that is sent to it by OTLP.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, extract::State, http::Uri};
use tokio::net::TcpListener;

/// Everything that was sent: the path and the body of each message.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<(String, Bytes)>>>);

impl Collector {
    /// Takes messages for as long as the test runs.
    pub(crate) async fn start() -> (Collector, SocketAddr) {
        let collector = Collector::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(keep).with_state(collector.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (collector, address)
    }

    /// What was sent to a path. Protocol buffers hold text as it is.
    pub(crate) fn sent_to(&self, path: &str) -> Vec<u8> {
        let kept = self.0.lock().unwrap();
        kept.iter().filter(|(to, _)| to == path).flat_map(|(_, body)| body.to_vec()).collect()
    }
}

async fn keep(State(collector): State<Collector>, uri: Uri, body: Bytes) {
    collector.0.lock().unwrap().push((uri.path().to_owned(), body));
}
