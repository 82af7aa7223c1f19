//! `serve`: every face on one port, until it is told to stop.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
};

use redress_contract::Caller;
use redress_core::Registry;
use redress_serve::{Faces, ServeError};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    config::{Settings, Span},
    faces::FACES,
    program::{Ended, Setup},
    signals,
    terminal::{GOOD, NAME, SOFT, TYPED, Terminal},
    trouble::Trouble,
};

pub(crate) fn run(setup: &Setup<'_>, settings: &Settings, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Trouble::RuntimeUnavailable)?;
    let ended = runtime.block_on(serve(setup, settings, terminal));
    runtime.shutdown_background();
    ended
}

async fn serve(setup: &Setup<'_>, settings: &Settings, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let registry = setup.registry(settings)?;
    let mcp = crate::mcp::face(setup, settings, &registry)?;
    let listener = listen(&settings.listen.to_string(), registry.identity().is_some()).await?;
    let address = listener.local_addr().map_err(Trouble::ListenerFailed)?;
    // The signals are taken before the screen says that they are.
    let stop = signals::stop().map_err(Trouble::RuntimeUnavailable)?;
    let screen = Screen { setup, settings, registry: &registry, address };
    if terminal.is_json() {
        terminal.document(&screen.document())?;
    } else {
        screen.show(terminal)?;
    }
    let mut faces = Faces::new(registry.clone())
        .title(setup.program.name())
        .version(setup.program.version())
        .grace(settings.grace)
        .mcp(mcp);
    if let Some(bytes) = settings.max_body {
        faces = faces.max_body(bytes);
    }
    let grace = Span(settings.grace);
    let stopped = async move {
        stop.await;
        tracing::info!("stopping: running calls have {grace} to end");
    };
    let served = faces.serve(listener, stopped).await;
    registry.shut_down().await;
    match served {
        Ok(()) => {
            tracing::info!("stopped");
            Ok(Ended::Well)
        }
        Err(ServeError::NoAccess { address }) => {
            Err(Trouble::NotLoopbackWithoutAccess { address: address.to_string() })
        }
        Err(ServeError::Listener(cause)) => Err(Trouble::ListenerFailed(cause)),
        Err(other) => Err(Trouble::ListenerFailed(io::Error::other(other))),
    }
}

/// Listens on the first address of this name that can be listened on. One that other
/// machines can reach is refused before the port is open, unless access is settled.
async fn listen(wanted: &str, guarded: bool) -> Result<TcpListener, Trouble> {
    let address = wanted.to_owned();
    let addresses: Vec<SocketAddr> = match wanted.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(cause) => return Err(Trouble::AddressUnusable { address, cause }),
    };
    if !guarded && addresses.iter().any(|address| !address.ip().to_canonical().is_loopback()) {
        return Err(Trouble::NotLoopbackWithoutAccess { address });
    }
    TcpListener::bind(addresses.as_slice()).await.map_err(|cause| {
        if cause.kind() == io::ErrorKind::AddrInUse {
            Trouble::PortInUse { address }
        } else {
            Trouble::AddressUnusable { address, cause }
        }
    })
}

/// What is known when the server starts.
struct Screen<'a> {
    setup: &'a Setup<'a>,
    settings: &'a Settings,
    registry: &'a Registry,
    address: SocketAddr,
}

impl Screen<'_> {
    fn count(&self) -> usize {
        self.registry.open_to(Some(&Caller::local())).count()
    }

    fn show(&self, terminal: &mut Terminal<'_>) -> io::Result<()> {
        let (program, address) = (self.setup.program, self.address);
        let out = terminal.out();
        out.line(format_args!("{} {}\n", out.paint(NAME, program.name()), program.version()))?;
        let mut row = |label: &str, text: String| out.line(format_args!("  {:14}{text}", out.paint(SOFT, label)));
        if program.is_built_in() {
            let mode =
                if self.settings.write { "read and write" } else { "read only; --write lets operations change it" };
            row("folder", format!("{} ({mode})", self.settings.root.display()))?;
        }
        row(
            "caller",
            match self.registry.identity() {
                Some(_) => "told by the token of each call".to_owned(),
                None => "local, with all scopes: no access is configured, and only this machine can call".to_owned(),
            },
        )?;
        row("operations", format!("{}; `{} ops --server http://{address}` lists them", self.count(), program.name()))?;
        out.line("")?;
        for face in &FACES {
            let url = face.url(address);
            out.line(format_args!("  {:14}{}", out.paint(SOFT, face.name), out.paint(TYPED, url)))?;
        }
        out.line(format_args!("\n  {}", out.paint(GOOD, "Ctrl-C to stop")))
    }

    fn document(&self) -> Value {
        let faces: serde_json::Map<String, Value> =
            FACES.iter().map(|face| (face.key.to_owned(), face.url(self.address).into())).collect();
        json!({
            "ok": true,
            "version": self.setup.program.version(),
            "url": format!("http://{}", self.address),
            "caller": if self.registry.identity().is_some() { "token" } else { "local" },
            "operations": self.count(),
            "faces": faces,
        })
    }
}
