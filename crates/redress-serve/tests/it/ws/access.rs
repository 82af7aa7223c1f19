//! Who calls: told by the handshake, or by a single call.

use std::{future::Future, pin::Pin};

use redress_contract::{self as contract, Access, Caller};
use redress_core::{Ctx, DynamicFailure, IdentityError, IdentityProvider, Operation, Outcome, Secret};
use redress_serve::ws::WebSocketLimits;
use serde_json::{Value, json};
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Error, client::IntoClientRequest as _},
};

use super::service::{Client, Server};

/// Takes tokens that are names.
struct Names;

impl IdentityProvider for Names {
    fn identify<'a>(
        &'a self,
        token: &'a Secret,
    ) -> Pin<Box<dyn Future<Output = Result<Caller, IdentityError>> + Send + 'a>> {
        let told = token.expose().strip_prefix("token-of-").map(Caller::new);
        Box::pin(async move { told.ok_or(IdentityError::Invalid) })
    }
}

async fn server() -> Server {
    let who = contract::OperationDeclaration::query("test.who")
        .with_summary("Say who calls.")
        .with_access(Access::caller())
        .with_input(json!({"type": "object"}));
    let who = Operation::dynamic(who).with_handler(|ctx: Ctx, _: Value| async move {
        let outcome: Outcome<Value, DynamicFailure> = Ok(json!(ctx.caller().map(Caller::id)));
        outcome
    });
    Server::start_with(WebSocketLimits::default(), |builder| builder.add(who).identity(Names)).await
}

async fn connect(server: &Server, token: &str) -> Result<Client, u16> {
    let mut request = server.url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    match connect_async(request).await {
        Ok((socket, _)) => Ok(Client { socket }),
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_token_that_tells_nobody_opens_no_connection() {
    let server = server().await;
    assert_eq!(connect(&server, "nonsense").await.err(), Some(401));
}

#[tokio::test]
async fn the_token_of_the_handshake_stands_for_every_call_that_has_none() {
    let server = server().await;
    let mut client = connect(&server, "token-of-ada").await.ok().unwrap();
    assert_eq!(client.call("test.who", json!({})).await["payload"]["output"], "ada");
    for (token, pointer, wanted) in [("token-of-bob", "/output", "bob"), ("nonsense", "/code", "AUTH_REQUIRED")] {
        let payload = json!({"operation": "test.who", "auth_token": token});
        client.send(json!({"type": "call.requested", "id": "t", "payload": payload})).await;
        let told = client.next().await;
        assert_eq!(told["payload"].pointer(pointer), Some(&json!(wanted)));
    }
    let mut nobody = server.connect().await;
    assert_eq!(nobody.call("test.who", json!({})).await["payload"]["code"], "AUTH_REQUIRED");
}
