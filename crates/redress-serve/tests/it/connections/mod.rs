//! Connections of every sort, and what bounds them.

mod answers;
mod bodies;
mod compression;
mod cors;
mod http2;
mod listeners;
mod many;
mod proxies;
mod replacing;
mod slow;
mod tls;
mod unfinished;
mod windows;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use redress_core::{
    Operation, Registry,
    contract::{self, Access, Caller},
};
use redress_serve::{Address, CallerOf, Connection, Faces, Server, ServerHandle, ServerLimits, ServerStats};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::service::{Watched, registry};

pub(super) const SOON: Duration = Duration::from_secs(10);
pub(super) const GREET: &str =
    "POST /ops/demo/greet HTTP/1.1\r\nhost: localhost\r\ncontent-length: 14\r\n\r\n{\"name\":\"Ada\"}";

/// A server that runs, and what the test may do to it.
pub(super) struct Served {
    pub(super) addresses: Vec<Address>,
    pub(super) handle: ServerHandle,
    pub(super) stop: CancellationToken,
    pub(super) task: JoinHandle<Result<(), redress_serve::ServeError>>,
}

impl Served {
    pub(super) async fn of(server: Server) -> Served {
        let server = server.bind().await.unwrap();
        let addresses = server.addresses().cloned().collect();
        let (handle, stop) = (server.handle(), CancellationToken::new());
        let task = tokio::spawn(server.run(stop.clone().cancelled_owned()));
        Served { addresses, handle, stop, task }
    }

    /// One of everything, on an address, within these limits.
    pub(super) async fn within(change: impl FnOnce(&mut ServerLimits)) -> (Served, Arc<Watched>) {
        let watched = Arc::new(Watched::default());
        let mut limits = ServerLimits::default();
        change(&mut limits);
        let faces = Faces::new(registry(&Default::default(), &watched)).limits(limits);
        (Served::of(Server::new(faces).listen("127.0.0.1:0".parse().unwrap())).await, watched)
    }

    pub(super) fn tcp(&self) -> SocketAddr {
        let tcp = |address: &Address| if let Address::Tcp(address) = address { Some(*address) } else { None };
        self.addresses.iter().find_map(tcp).unwrap()
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.tcp()).await.unwrap()
    }

    /// A connection from another address of this machine.
    pub(super) async fn connect_from(&self, address: &str) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(self.tcp()).await.unwrap()
    }

    /// Waits until the counts are as wanted.
    pub(super) async fn until(&self, wanted: impl Fn(ServerStats) -> bool) {
        let seen = timeout(SOON, async {
            while !wanted(self.handle.stats()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        assert!(seen.await.is_ok(), "{:?}", self.handle.stats());
    }

    pub(super) async fn end(self) {
        self.stop.cancel();
        timeout(SOON, self.task).await.expect("the server ends").unwrap().unwrap();
    }
}

/// Writes, and reads until the other side closes.
pub(crate) async fn last_words(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(SOON, stream.read_to_end(&mut answer)).await.expect("the connection is closed");
    let _ = read;
    String::from_utf8(answer).unwrap()
}

/// Writes a request, and reads the one answer to it.
pub(crate) async fn exchange(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    one_answer(stream).await
}

/// Reads one answer that says how long it is.
pub(super) async fn one_answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(SOON, async {
        loop {
            let text = String::from_utf8_lossy(&answer).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if length.is_none_or(|length| body.len() >= length.parse().unwrap()) {
                    return text;
                }
            }
            if stream.read_buf(&mut answer).await.unwrap_or(0) == 0 {
                return text;
            }
        }
    });
    read.await.expect("an answer comes")
}

/// A registry that tells who calls, and a rule that says who: the peer, and whether it is local,
/// secure or has a certificate.
pub(super) fn telling() -> Faces {
    let who =
        contract::OperationDeclaration::query("who.am_i").with_summary("Who calls.").with_access(Access::anyone());
    let who = Operation::dynamic(who).with_handler(|ctx, _| async move { Ok(json!(ctx.caller().map(Caller::id))) });
    Faces::new(Registry::builder().add(who).build().unwrap()).caller(Telling)
}

pub(super) struct Telling;

impl CallerOf for Telling {
    fn caller_of(&self, connection: Connection<'_>) -> Option<Arc<Caller>> {
        let Connection { peer, local, secure, certificate, .. } = connection;
        let peer = peer.map_or("nobody".to_owned(), |peer| peer.ip().to_string());
        let certificate = certificate.map_or(0, <[u8]>::len) > 0;
        Some(Arc::new(Caller::new(format!("{peer} local={local} secure={secure} certificate={certificate}"))))
    }
}
