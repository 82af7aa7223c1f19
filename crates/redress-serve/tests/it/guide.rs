//! The code of `docs/connections.md`. It is compiled and not run: its addresses are those of a real machine.

use redress_core::Registry;
use redress_serve::{Faces, Listen, Server, ServerLimits, Tls, TlsFiles};

#[expect(dead_code, reason = "it would listen where other machines can call")]
async fn connections(
    registry: Registry,
    limits: ServerLimits,
    signal: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    let tls = Tls::load(TlsFiles::new("server.pem", "server.key").client_ca("clients.pem", false))?;
    let server = Server::new(Faces::new(registry).limits(limits).cors_origins(["https://app.example"]))
        .listen("0.0.0.0:7717".parse::<Listen>()?)
        .listen("unix:/run/redress.sock".parse::<Listen>()?)
        .tls(tls)
        .bind()
        .await?;
    let handle = server.handle(); // what it counts, what is in force, and other faces while it runs
    server.run(signal).await?;
    assert_eq!(handle.stats().connections, 0);
    Ok(())
}
