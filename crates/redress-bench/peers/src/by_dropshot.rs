//! dropshot: a typed failure is an error type of the endpoint.

use dropshot::{
    ApiDescription, ConfigDropshot, ErrorStatusCode, HttpError, HttpResponseError, HttpResponseOk, RequestContext,
    ServerBuilder, TypedBody, endpoint,
};
use serde::Serialize;

use crate::order::{Greet, Greeting, Missing};

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Problem {
    code: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Details {
    name: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<HttpError> for Problem {
    fn from(error: HttpError) -> Problem {
        Problem { code: "REFUSED".to_owned(), message: error.external_message, details: None }
    }
}

impl HttpResponseError for Problem {
    fn status_code(&self) -> ErrorStatusCode {
        ErrorStatusCode::NOT_FOUND
    }
}

#[endpoint { method = POST, path = "/greet" }]
async fn greet(_: RequestContext<()>, body: TypedBody<Greet>) -> Result<HttpResponseOk<Greeting>, HttpError> {
    Ok(HttpResponseOk(body.into_inner().greeting()))
}

#[endpoint { method = POST, path = "/find" }]
async fn find(_: RequestContext<()>, body: TypedBody<Greet>) -> Result<HttpResponseOk<Greeting>, Problem> {
    let Missing { name } = Missing { name: body.into_inner().name };
    let message = format!("nobody is called {name}");
    Err(Problem { code: "PERSON_NOT_FOUND".to_owned(), message, details: Some(Details { name }) })
}

pub(crate) async fn serve() {
    let mut api = ApiDescription::new();
    api.register(greet).expect("the endpoint is in order");
    api.register(find).expect("the endpoint is in order");
    let config = ConfigDropshot { bind_address: "127.0.0.1:0".parse().expect("an address"), ..Default::default() };
    let silent = slog::Logger::root(slog::Discard, slog::o!());
    let server = ServerBuilder::new(api, (), silent).config(config).start().expect("a port is free");
    crate::listening(server.local_addr());
    server.await.expect("the server runs");
}
