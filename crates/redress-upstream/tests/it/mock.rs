//! Services for the tests: one that answers as it is told, and one that speaks bytes and no HTTP.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, StatusCode, Uri},
};
use redress_contract::Caller;
use redress_core::{Registry, Request};
use redress_import::{Import, ReadOptions, openapi};
use redress_upstream::{BreakerConfig, Upstream, UpstreamConfig};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a service was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What a service answers.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) after: Duration,
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Reply {
        Reply::of(status, "application/json", body.to_string())
    }

    pub(crate) fn of(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = if media_type.is_empty() { Vec::new() } else { vec![("content-type", media_type.to_owned())] };
        Reply { status, headers, body: body.into(), after: Duration::ZERO }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn after(mut self, time: Duration) -> Reply {
        self.after = time;
        self
    }
}

/// A service that answers what it is told next, and then always the last of it.
#[derive(Clone, Default)]
pub(crate) struct Service {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Service {
    /// A service that answers these in turn, and where it is.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> (Service, SocketAddr) {
        let service = Service::default();
        service.tell(replies);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(answer).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (service, address)
    }

    pub(crate) fn tell(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.replies.lock().unwrap() = replies.into_iter().collect();
    }

    /// Everything that it was asked.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(
    State(service): State<Service>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    service.asked.lock().unwrap().push(Asked { method, uri, headers, body });
    let reply = {
        let mut replies = service.replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front().unwrap() } else { replies[0].clone() }
    };
    tokio::time::sleep(reply.after).await;
    let mut response = Response::new(Body::from(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value.parse().unwrap());
    }
    response
}

/// A service that reads a request and then does what `act` does with the connection.
pub(crate) async fn raw<F, R>(act: F) -> SocketAddr
where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let act = Arc::new(act);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let act = Arc::clone(&act);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                let mut chunk = [0; 4096];
                while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
                    match stream.read(&mut chunk).await {
                        Ok(read) if read > 0 => seen.extend_from_slice(&chunk[..read]),
                        _ => return,
                    }
                }
                act(stream).await;
            });
        }
    });
    address
}

/// The same, which writes these bytes and closes the connection.
pub(crate) async fn raw_bytes(bytes: impl Into<Vec<u8>>) -> SocketAddr {
    let bytes = Arc::new(bytes.into());
    raw(move |mut stream| {
        let bytes = Arc::clone(&bytes);
        async move {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

/// A small document: things that can be read, listed, made and removed.
pub(crate) const THINGS: &str = r##"
openapi: 3.1.0
info: {title: Things, version: "1"}
paths:
  /things:
    get:
      operationId: listThings
      parameters:
        - {name: limit, in: query, schema: {type: integer}}
        - {name: q, in: query, schema: {type: string}}
      responses:
        200: {description: The things., content: {application/json: {schema: {$ref: "#/components/schemas/Things"}}}}
        429: {description: Too many., content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
    post:
      operationId: makeThing
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, properties: {name: {type: string}}, required: [name]}}}
      responses:
        201: {description: Made., content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
        409: {description: There is one., content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
        default: {description: Else., content: {application/problem+json: {schema: {type: object}}}}
  /things/keyed:
    post:
      operationId: makeKeyed
      parameters: [{name: Idempotency-Key, in: header, schema: {type: string}}]
      responses:
        201: {description: Made., content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
  /things/{id}:
    get:
      operationId: getThing
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        200: {description: The thing., content: {application/json: {schema: {$ref: "#/components/schemas/Thing"}}}}
        404: {description: No such thing., content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
        4XX: {description: Refused., content: {application/json: {schema: {$ref: "#/components/schemas/Error"}}}}
    delete:
      operationId: removeThing
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        204: {description: Removed.}
components:
  schemas:
    Thing: {type: object, properties: {id: {type: integer}, name: {type: string}}, required: [id]}
    Things: {type: object, properties: {items: {type: array, items: {$ref: "#/components/schemas/Thing"}}}}
    Error: {type: object, properties: {code: {type: string}, message: {type: string}}, required: [message]}
"##;

/// What a document says.
pub(crate) fn imported(document: &str) -> Import {
    openapi::read(document.as_bytes(), &ReadOptions::default()).unwrap()
}

/// A configuration that does not wait for long.
pub(crate) fn config(address: SocketAddr) -> UpstreamConfig {
    let mut config = UpstreamConfig::new("things");
    config.base_url = Some(format!("http://{address}"));
    config.backoff = Duration::from_millis(5);
    config.breaker =
        BreakerConfig { failures: 5, pause: Duration::from_millis(200), max_pause: Duration::from_millis(400) };
    config.deadline = Some(Duration::from_secs(5));
    config
}

pub(crate) fn registry(upstreams: impl IntoIterator<Item = Upstream>) -> Registry {
    let operations = upstreams.into_iter().flat_map(|upstream| upstream.operations());
    operations.fold(Registry::builder(), |builder, operation| builder.add(operation)).build().unwrap()
}

/// Things, behind `config`.
pub(crate) fn things(config: UpstreamConfig) -> (Registry, Upstream) {
    let upstream = Upstream::new(imported(THINGS), config).unwrap();
    (registry([upstream.clone()]), upstream)
}

/// A request of somebody who is known.
pub(crate) fn request(input: Value) -> Request<'static> {
    Request::new(input.to_string().into_bytes()).with_caller(Caller::new("ada"))
}

/// The envelope of a call, as JSON.
pub(crate) async fn call(registry: &Registry, name: &str, input: Value) -> Value {
    let envelope = registry.call(name, request(input)).await;
    serde_json::from_slice(&envelope.into_bytes()).unwrap()
}
