//! The faces inside an axum app that you have already, under a path and a layer of its own.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use axum::{Router, body::Body, extract::Request, middleware, routing::get};
use redress::{Failure, Outcome, Registry, data, operation, serve::Faces};
use tower::ServiceExt as _;

#[data]
struct Order {
    id: u32,
}

#[derive(Debug, Failure)]
enum StatusFailure {
    /// There is no order of this number.
    #[failure(kind = not_found, message = "no order {id}", effect = none,
              recover(ask_user, hint = "Ask for the number on the confirmation."))]
    OrderUnknown { id: u32 },
}

/// Say how far an order has come.
#[operation(query, name = "orders.status", access(anyone))]
async fn status(input: Order) -> Outcome<&'static str, StatusFailure> {
    if input.id == 7 { Ok("on its way") } else { Err(StatusFailure::OrderUnknown { id: input.id }.into()) }
}

pub(crate) fn registry() -> Result<Registry, redress::BuildError> {
    Registry::builder().add(status).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = registry()?;
    // A service that is nested says where it is, so that the paths in its documents are right.
    let faces = Faces::new(registry).server("/api").router();
    // A layer of yours sees every call as the HTTP message that it is.
    let faces = faces.layer(middleware::map_response(|mut response: axum::response::Response| async {
        response.headers_mut().insert("x-region", "north".parse().expect("it is ASCII"));
        response
    }));
    let app = Router::new().route("/", get(|| async { "a page of your own" })).nest("/api", faces);

    // Asked without a socket here; `axum::serve(listener, app)` is what a program would do.
    for path in ["/", "/api/ops/orders/status?id=7", "/api/ops/orders/status?id=8"] {
        let response = app.clone().oneshot(Request::get(path).body(Body::empty())?).await?;
        let (status, region) = (response.status(), response.headers().get("x-region").cloned());
        let body = axum::body::to_bytes(response.into_body(), 65_536).await?;
        println!("GET {path}\n{status} {region:?}\n{}\n", String::from_utf8_lossy(&body));
    }
    Ok(())
}
