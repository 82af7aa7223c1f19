//! `GET /ws`: messages of a call over a WebSocket.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json, value::RawValue};
use tokio::{net::TcpStream, time::timeout};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

use crate::table::{
    face::{Asking, Face},
    outcome::{Outcome, without},
    rows::{Ask, Row},
    site::{SOON, Site},
};

pub(crate) struct WebSocket;

/// A connection, every byte from which the canaries have seen.
struct Client<'a> {
    site: &'a Site,
    face: &'static str,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl<'a> Client<'a> {
    async fn ask(site: &'a Site, row: &Row, face: &'static str) -> Client<'a> {
        let (socket, handshake) = connect_async(format!("ws://{}/ws", site.address(row.who))).await.unwrap();
        site.check(face, format!("{:?}", handshake.headers()));
        let mut client = Client { site, face, socket };
        // The input goes as it is written in the row, a member that comes twice included.
        let input = RawValue::from_string(row.input.clone()).unwrap();
        #[derive(serde::Serialize)]
        struct Payload<'a> {
            operation: &'a str,
            input: &'a RawValue,
            deadline_ms: Option<u64>,
            idempotency_key: Option<&'a str>,
        }
        let payload =
            Payload { operation: row.operation, input: &input, deadline_ms: row.deadline_ms, idempotency_key: row.key };
        let payload = serde_json::to_string(&payload).unwrap();
        client.send(format!(r#"{{"type":"call.requested","id":"a row","payload":{payload}}}"#)).await;
        client
    }

    async fn send(&mut self, text: String) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The type and the payload of the next message, all of which are about the one call.
    async fn next(&mut self) -> (String, Value) {
        let message = timeout(SOON, self.socket.next()).await.expect("a message comes").unwrap().unwrap();
        let text = message.into_text().unwrap();
        self.site.check(self.face, text.as_str());
        let mut message: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(message["id"], "a row", "{message}");
        (message["type"].as_str().unwrap().to_owned(), message["payload"].take())
    }
}

impl Face for WebSocket {
    fn name(&self) -> &'static str {
        "/ws"
    }

    /// A message asks for an operation, whatever its shape, so it cannot ask in the wrong way.
    fn carries(&self, row: &Row) -> bool {
        matches!(row.ask, Ask::Call | Ask::Stream)
    }

    fn ask<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Outcome> {
        Box::pin(async move {
            let mut client = Client::ask(site, row, self.name()).await;
            let mut items = Vec::new();
            loop {
                let (sort, mut payload) = client.next().await;
                match sort.as_str() {
                    "call.responded" if row.is_stream() => {
                        items.push(payload["output"].take());
                        assert_eq!(payload["seq"], items.len(), "items are numbered from one");
                    }
                    "call.responded" => return Outcome::output(payload["output"].take()),
                    "call.completed" => return Outcome::completed().after(items),
                    "call.error" => {
                        assert!(payload["_meta"]["session_id"].is_string());
                        return Outcome::envelope(without(payload, &[("message", "error")])).after(items);
                    }
                    other => panic!("{other} {payload}"),
                }
            }
        })
    }

    /// An abort is answered, though with no outcome.
    fn leave<'a>(&'a self, site: &'a Site, row: &'a Row) -> Asking<'a, Option<Outcome>> {
        Box::pin(async move {
            let mut client = Client::ask(site, row, self.name()).await;
            site.marks.begun().await;
            client.send(json!({"type": "call.aborted", "id": "a row", "payload": {}}).to_string()).await;
            loop {
                match client.next().await {
                    (sort, _) if sort == "call.responded" && row.is_stream() => {}
                    (sort, payload) => {
                        assert_eq!((sort.as_str(), payload), ("call.aborted", json!({})));
                        return None;
                    }
                }
            }
        })
    }
}
