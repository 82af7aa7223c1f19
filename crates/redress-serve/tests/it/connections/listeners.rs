//! Where a server listens.

use std::{
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    process::{Command, Stdio},
};

use command_fds::{CommandFdExt as _, FdMapping};
use redress_serve::{Address, Faces, Listen, ServeError, Server};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::timeout,
};

use super::{GREET, SOON, Served, exchange};
use crate::service::registry;

const CLOSED: &str =
    "POST /ops/demo/closed HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}";

fn faces() -> Faces {
    Faces::new(registry(&Default::default(), &Default::default()))
}

async fn over_unix(path: &std::path::Path) -> String {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(CLOSED.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn one_server_listens_in_several_places_and_who_comes_by_a_unix_socket_is_local() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redress.sock");
    let server = Server::new(faces())
        .listen("127.0.0.1:0".parse().unwrap())
        .listen("[::1]:0".parse().unwrap())
        .listen(Listen::Unix { path: path.clone(), mode: 0o660 });
    let served = Served::of(server).await;
    assert_eq!(served.addresses.len(), 3);
    for address in &served.addresses {
        if let Address::Tcp(address) = address {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            assert!(exchange(&mut stream, GREET).await.starts_with("HTTP/1.1 200"));
        }
    }
    assert!(over_unix(&path).await.ends_with("\"local\""));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    served.end().await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_socket_file_is_replaced_only_where_nobody_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redress.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let served = Served::of(Server::new(faces()).listen(Listen::unix(&path))).await;
    assert!(over_unix(&path).await.starts_with("HTTP/1.1 200"));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let second = Server::new(faces()).listen(Listen::unix(&path)).bind().await;
    assert!(matches!(second, Err(ServeError::Socket { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse));
    assert!(over_unix(&path).await.starts_with("HTTP/1.1 200"));
    served.end().await;

    std::fs::write(&path, "somebody's notes").unwrap();
    let refused = Server::new(faces()).listen(Listen::unix(&path)).bind().await;
    assert!(matches!(refused, Err(ServeError::Socket { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "somebody's notes");
}

#[tokio::test]
async fn an_address_that_is_taken_or_open_to_others_is_refused() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let refused = Server::new(faces()).listen(Listen::Tcp(address)).bind().await;
    assert!(matches!(refused, Err(ServeError::Address { address: which, .. }) if which == address));
    let refused = Server::new(faces()).listen("0.0.0.0:0".parse().unwrap()).bind().await;
    assert!(matches!(refused, Err(ServeError::NoAccess { .. })));
    assert!(matches!(Server::new(faces()).bind().await, Err(ServeError::Nowhere)));
    assert!(matches!(Server::new(faces()).listen(Listen::Systemd).bind().await, Err(ServeError::NothingPassed)));
}

/// Set in a process that a test has started from its own binary, to run that same test: it plays the server.
const PASSED: &str = "REDRESS_TEST_PASSED";

/// Whether this process is the server; then it has served on the sockets that were passed to it, until nothing more
/// came from its parent.
async fn served_on_passed_sockets() -> bool {
    if std::env::var_os(PASSED).is_none() {
        return false;
    }
    let server = Server::new(faces()).listen(Listen::Systemd).bind().await.unwrap();
    let parent = tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    server.run(async move { drop(parent.await) }).await.unwrap();
    true
}

/// The test `name` once more, as a process that serves on these sockets.
fn on_passed(name: &str, sockets: impl IntoIterator<Item = OwnedFd, IntoIter: ExactSizeIterator>) -> Command {
    let sockets = sockets.into_iter();
    let mut command = Command::new("sh");
    command
        .args(["-c", "LISTEN_PID=$$ exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("connections::listeners::{name}")])
        .env(PASSED, "1")
        .env("LISTEN_FDS", sockets.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mappings = sockets.zip(3..).map(|(parent_fd, child_fd)| FdMapping { parent_fd, child_fd });
    command.fd_mappings(mappings.collect()).unwrap();
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_runs_out_of_descriptors_goes_on_once_there_are_some() {
    if served_on_passed_sockets().await {
        return;
    }
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let mut child =
        on_passed("a_server_that_runs_out_of_descriptors_goes_on_once_there_are_some", [tcp.into()]).spawn().unwrap();
    let mut open = tokio::net::TcpStream::connect(address).await.unwrap();
    assert!(exchange(&mut open, GREET).await.starts_with("HTTP/1.1 200"));
    // Something else takes what was kept back: from here on nothing more can be opened.
    let numbers = std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap();
    let taken: Vec<u64> =
        numbers.filter_map(|entry| entry.unwrap().file_name().into_string().ok()?.parse().ok()).collect();
    let next = (0..).find(|number| !taken.contains(number)).unwrap();
    let (pid, maximum) = (Pid::from_child(&child), getrlimit(Resource::Nofile).maximum);
    let may_open = |files| prlimit(Some(pid), Resource::Nofile, Rlimit { current: files, maximum }).unwrap();
    may_open(Some(next));
    let mut last = tokio::net::TcpStream::connect(address).await.unwrap();
    last.write_all(GREET.as_bytes()).await.unwrap();
    assert!(exchange(&mut open, GREET).await.starts_with("HTTP/1.1 200"));
    may_open(maximum);
    assert!(super::one_answer(&mut last).await.starts_with("HTTP/1.1 200"));
    drop(open);
    drop((last, child.stdin.take()));
    assert!(tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn sockets_that_a_manager_opened_are_served_and_the_manager_is_told() {
    if served_on_passed_sockets().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (tcp, path) = (std::net::TcpListener::bind("127.0.0.1:0").unwrap(), folder.path().join("passed.sock"));
    let address = tcp.local_addr().unwrap();
    let unix = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let manager = tokio::net::UnixDatagram::bind(folder.path().join("notify")).unwrap();
    let told = async || {
        let mut message = [0; 256];
        let length = timeout(SOON, manager.recv(&mut message)).await.expect("the manager is told").unwrap();
        String::from_utf8_lossy(&message[..length]).trim().to_owned()
    };
    let passed = [tcp.try_clone().unwrap().into(), unix.try_clone().unwrap().into()];
    let mut command = on_passed("sockets_that_a_manager_opened_are_served_and_the_manager_is_told", passed);
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    // It connects before anybody serves: the manager's socket keeps it.
    let early = tokio::net::TcpStream::connect(address).await.unwrap();
    let mut child = command.spawn().unwrap();
    assert_eq!(told().await, "READY=1");
    for mut stream in [early, tokio::net::TcpStream::connect(address).await.unwrap()] {
        assert!(exchange(&mut stream, GREET).await.starts_with("HTTP/1.1 200"));
    }
    assert!(over_unix(&path).await.ends_with("\"local\""));
    drop(child.stdin.take());
    assert_eq!(told().await, "STOPPING=1");
    let ended = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    assert!(ended.success() && path.exists());
}
