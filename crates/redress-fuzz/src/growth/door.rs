//! The ways in, each taken as outside bytes take it.

use axum::{Router, body::Body, http::Request};
use redress::serve::Faces;
use tokio::runtime::{Builder, Runtime};

use super::operations;
use crate::{service, socket, targets};

/// Which way a message goes in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// As the body of a request to this path.
    Post(&'static str),
    /// As the query string of a request to this path.
    Query(&'static str),
    /// As the path.
    Path(&'static str),
    /// As this header.
    Header(&'static str),
    /// As a message on a WebSocket.
    WebSocket,
    /// As the input of this operation on the files of a folder.
    Files(&'static str),
    /// Around all doors, to something that is known to be quadratic.
    Quadratic,
    /// Nowhere.
    Nowhere,
}

/// Everything that can be sent to.
pub(super) struct Door {
    runtime: Runtime,
    router: Router,
    proxied: Router,
}

impl Door {
    pub(super) fn new() -> Door {
        let registry = operations::registry();
        let runtime = Builder::new_current_thread().enable_all().start_paused(true).build();
        let networks = ["127.0.0.1", "10.0.0.0/8"].map(|network| network.parse().expect("it is a network"));
        Door {
            runtime: runtime.expect("a runtime of one thread needs nothing"),
            router: Faces::new(registry.clone()).router(),
            proxied: Faces::new(registry).trusted_proxies(networks).router(),
        }
    }

    pub(super) fn send(&self, way: Way, message: &[u8]) {
        let text = || std::str::from_utf8(message).expect("the message of this case is text");
        self.runtime.block_on(async {
            match way {
                Way::Post(path) => {
                    let mut request = service::post(path, message);
                    let both = "application/json, text/event-stream".parse().expect("it is a header");
                    request.headers_mut().insert("accept", both);
                    service::send(&self.router, request).await;
                }
                Way::Query(path) => self.get(&format!("{path}?{}", text())).await,
                Way::Path(path) => self.get(&format!("{path}{}", text())).await,
                Way::Header(name) => {
                    let mut request = service::post("/ops/grow/echo", b"{}");
                    let value = text().parse().expect("it is the value of a header");
                    request.headers_mut().insert(name, value);
                    service::send(&self.proxied, request).await;
                }
                Way::WebSocket => drop(socket::exchange(&self.router, &socket::text(message)).await),
                Way::Files(operation) => targets::search_files(operation, message).await,
                Way::Quadratic => assert!(pairs(message) <= message.len() * message.len()),
                Way::Nowhere => {}
            }
        });
    }

    async fn get(&self, target: &str) {
        let request = Request::get(target).header("host", "127.0.0.1:7717").body(Body::empty());
        service::send(&self.router, request.expect("the path is written here")).await;
    }
}

/// How many pairs of bytes are alike: what this tool has to see.
fn pairs(message: &[u8]) -> usize {
    message.iter().map(|one| message.iter().filter(|other| *other == one).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_refused_or_answered_and_nothing_panics() {
        let door = Door::new();
        for case in super::super::CASES {
            for message in case.messages().iter().take(2) {
                door.send(case.way, message);
            }
        }
    }
}
