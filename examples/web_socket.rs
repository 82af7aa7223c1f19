//! A client on a WebSocket: a call, a stream that it aborts, and a call back from the server.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]
use futures_util::{SinkExt as _, StreamExt as _, stream};
use redress::{
    Ctx, Events, Failure, NoFailure, Nothing, Outcome, Registry, State, operation,
    serve::{Faces, ws::Peers},
};
use tokio::net::TcpListener;
use tokio_tungstenite::{connect_async, tungstenite::Message};

/// Count without end.
#[operation(subscription, name = "demo.count", access(anyone))]
async fn count(_input: Nothing) -> Outcome<Events<u64, NoFailure>, NoFailure> {
    Ok(Events::new(stream::iter(1..).map(Ok)))
}

#[derive(Debug, Failure)]
enum GreetFailure {
    /// The caller does not say its name.
    #[failure(kind = conflict, effect = none,
              recover(stop, hint = "Answer `client.name` on the same connection."))]
    CallerSilent,
}

/// Greet whoever is on the other side, by the name that it gives when it is asked.
#[operation(query, name = "demo.greet", access(anyone))]
async fn greet(ctx: &Ctx, peers: State<Peers>, _input: Nothing) -> Outcome<String, GreetFailure> {
    // Only a call over a WebSocket has somebody to ask.
    let peer = ctx.session_id().and_then(|session| peers.of(session)).ok_or(GreetFailure::CallerSilent)?;
    let name = peer.call("client.name", &()).await.map_err(|_| GreetFailure::CallerSilent)?;
    Ok(format!("hello {}", name.get().trim_matches('"')))
}

pub(crate) fn registry(peers: &Peers) -> Result<Registry, redress::BuildError> {
    Registry::builder().state(peers.clone()).add(count).add(greet).build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peers = Peers::new();
    let registry = registry(&peers)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}/ws", listener.local_addr()?);
    tokio::spawn(Faces::new(registry).ws_peers(peers).serve(listener, std::future::pending()));

    let (mut socket, _) = connect_async(url).await?;
    let mut ask = vec![
        r#"{"type":"call.requested","id":"1","payload":{"operation":"demo.count","input":{}}}"#,
        r#"{"type":"call.aborted","id":"1","payload":{}}"#,
        r#"{"type":"call.requested","id":"2","payload":{"operation":"demo.greet","input":{}}}"#,
    ];
    ask.reverse();
    while let Some(message) = ask.pop() {
        println!("> {message}");
        socket.send(Message::text(message)).await?;
        while let Some(answer) = socket.next().await {
            let answer = answer?.into_text()?;
            // Items that were on their way come before the end; after it the id is free again.
            if message.contains("aborted") && answer.contains("responded") {
                continue;
            }
            println!("< {answer}");
            if answer.contains("client.name") {
                let name = r#"{"type":"call.responded","id":"srv-1","payload":{"output":"Ada"}}"#;
                println!("> {name}");
                socket.send(Message::text(name)).await?;
                continue;
            }
            break;
        }
    }
    Ok(())
}
