//! Raw axum: `Json` in and out.

use axum::{Json, Router, http::StatusCode, routing::post, serve::ListenerExt as _};
use serde::Serialize;

use crate::order::{Greet, Greeting, Missing, Orders, Total};

#[derive(Serialize)]
struct Problem {
    code: &'static str,
    message: String,
    details: Missing,
}

async fn greet(Json(input): Json<Greet>) -> Json<Greeting> {
    Json(input.greeting())
}

async fn find(Json(input): Json<Greet>) -> Result<Json<Greeting>, (StatusCode, Json<Problem>)> {
    let message = format!("nobody is called {}", input.name);
    let details = Missing { name: input.name };
    Err((StatusCode::NOT_FOUND, Json(Problem { code: "PERSON_NOT_FOUND", message, details })))
}

async fn total(Json(input): Json<Orders>) -> Json<Total> {
    Json(input.total())
}

pub(crate) async fn serve() {
    let app = Router::new().route("/greet", post(greet)).route("/find", post(find)).route("/total", post(total));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    crate::listening(listener.local_addr().expect("a bound socket has an address"));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, app).await.expect("the server runs");
}
