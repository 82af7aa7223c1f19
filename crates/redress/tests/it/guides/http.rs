//! The code of `docs/http.md`.
#![cfg(feature = "serve")]

use std::net::SocketAddr;

use axum::{Router, routing::get};
use redress::{Registry, serve::Faces};
use tokio::{io::AsyncReadExt as _, io::AsyncWriteExt as _, net::TcpListener, net::TcpStream, sync::oneshot};

#[tokio::test]
async fn the_faces_in_an_axum_app_stop_with_it() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder().build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let own = || async { "a page of your own" };
    let (stop, signal) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let (faces, handle) = Faces::new(registry).server("/api").mount();
        let app = Router::new().nest("/api", faces).route("/own", get(own));
        axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>())
            .with_graceful_shutdown(async move {
                let _ = signal.await;
                handle.stop().await;
            })
            .await
    });
    for path in ["/api/healthz", "/own"] {
        let mut connection = TcpStream::connect(address).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    let _ = stop.send(());
    served.await??;
    Ok(())
}
