//! What the gateway is measured between: a service that answers at once, and a plain reverse proxy of hyper.

#![expect(clippy::print_stdout, reason = "the parent reads the address there")]

use std::{convert::Infallible, io, net::SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Body, Incoming},
    header::{CONNECTION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::net::TcpListener;

use crate::ours::{end_with_input, runtime};

/// Headers that belong to one connection, and are not passed on.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("proxy-authorization"),
];

const ORDER: &str = r#"{"id":"o-1001","item":"Earl Grey tea","quantity":2,"status":"open","placed_at":"2026-11-18T12:00:00Z","total":{"amount":1190,"currency":"EUR"}}"#;
const MISSING: &str =
    r#"{"error":{"code":"item_unknown","message":"there is no such item","item":"Earl Grey tea"},"request":"r-77"}"#;

/// The service: an order is placed, an order is refused, and anything else is answered with an empty object.
pub fn upstream() -> io::Result<()> {
    serving(|request: Request<Incoming>| async move {
        let (status, body) = match (request.method(), request.uri().path()) {
            (&Method::POST, "/orders") => (StatusCode::OK, ORDER),
            (&Method::POST, "/refused") => (StatusCode::NOT_FOUND, MISSING),
            _ => (StatusCode::OK, "{}"),
        };
        let _ = request.into_body().collect().await;
        let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok::<_, Infallible>(response)
    })
}

/// The proxy: every request goes to `upstream`, every answer comes back, bodies as they arrive.
pub fn serve(upstream: &str) -> io::Result<()> {
    let authority: &'static str = upstream.to_owned().leak();
    let client = std::sync::OnceLock::new();
    serving(move |request| {
        // Made where a runtime runs.
        let client = client
            .get_or_init(|| {
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                Client::builder(TokioExecutor::new()).build::<_, Incoming>(connector)
            })
            .clone();
        async move { forward(&client, authority, request).await }
    })
}

async fn forward(
    client: &Client<HttpConnector, Incoming>,
    authority: &str,
    mut request: Request<Incoming>,
) -> Result<Response<Incoming>, Box<dyn std::error::Error + Send + Sync>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let target = Uri::builder().scheme("http").authority(authority).path_and_query(path).build()?;
    *request.uri_mut() = target;
    let headers = request.headers_mut();
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
    headers.insert(HOST, HeaderValue::from_str(authority)?);
    let mut response = client.request(request).await?;
    for name in &HOP_BY_HOP {
        response.headers_mut().remove(name);
    }
    Ok(response)
}

/// Serves on one worker thread, says its address on the first line, and ends when its input does.
fn serving<S, F, B, E>(answer: S) -> io::Result<()>
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    end_with_input();
    runtime().block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let answer = answer.clone();
            tokio::spawn(async move {
                // A client that goes away is the client's business.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
            });
        }
    })
}
