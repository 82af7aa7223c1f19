//! poem-openapi: a typed failure is a variant of the response.

use poem::{
    Route, Server,
    listener::{Acceptor as _, Listener as _, TcpListener},
};
use poem_openapi::{ApiResponse, Object, OpenApi, OpenApiService, payload::Json};

#[derive(Object)]
struct Greet {
    name: String,
    times: u32,
}

#[derive(Object)]
struct Greeting {
    message: String,
}

#[derive(Object)]
struct Missing {
    name: String,
}

#[derive(Object)]
struct Problem {
    code: String,
    message: String,
    details: Missing,
}

#[derive(ApiResponse)]
enum Found {
    #[oai(status = 200)]
    #[allow(dead_code, reason = "the operation always fails")]
    Greeting(Json<Greeting>),
    #[oai(status = 404)]
    Missing(Json<Problem>),
}

struct Api;

#[OpenApi]
impl Api {
    #[oai(path = "/greet", method = "post")]
    async fn greet(&self, Json(input): Json<Greet>) -> Json<Greeting> {
        Json(Greeting { message: format!("Hello {}, {} times", input.name, input.times) })
    }

    #[oai(path = "/find", method = "post")]
    async fn find(&self, Json(input): Json<Greet>) -> Found {
        let message = format!("nobody is called {}", input.name);
        let details = Missing { name: input.name };
        Found::Missing(Json(Problem { code: "PERSON_NOT_FOUND".to_owned(), message, details }))
    }
}

pub(crate) async fn serve() {
    let service = OpenApiService::new(Api, "peers", "1.0");
    let acceptor = TcpListener::bind("127.0.0.1:0").into_acceptor().await.expect("a port is free");
    let address = acceptor.local_addr().remove(0);
    crate::listening(*address.as_socket_addr().expect("the listener is TCP"));
    Server::new_with_acceptor(acceptor).run(Route::new().nest("/", service)).await.expect("the server runs");
}
