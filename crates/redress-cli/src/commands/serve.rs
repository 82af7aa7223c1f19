//! `serve`: every face on one address, until it is told to stop.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::Arc,
};

use redress_core::Registry;
use redress_serve::{Descriptors, Faces, ServeError, Server};
use tokio::net::TcpListener;

use crate::{
    arguments,
    config::{ListenSetting, ServeSettings, Span, defaults},
    error::CliError,
    layers::{self, Otlp, Reloads, ServiceLayers},
    listening,
    logs::Log,
    program::{CommandEnd, Setup},
    reload::Reloading,
    signals,
    terminal::{
        output::Terminal,
        screen::{ConnectionsShown, Screen},
    },
};

/// What was settled before the server starts.
pub(crate) struct ServeStart {
    pub(crate) setup: Arc<Setup>,
    pub(crate) args: arguments::ServeArgs,
    pub(crate) settings: ServeSettings,
    pub(crate) log: Log,
    pub(crate) otlp: Option<Otlp>,
}

impl ServeStart {
    pub(crate) fn run(self, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(CliError::RuntimeUnavailable)?;
        let ended = runtime.block_on(self.serve(terminal));
        runtime.shutdown_background();
        ended
    }

    async fn serve(self, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
        let ServeStart { setup, args, settings, log, otlp } = self;
        // Before anything is opened: what connections may take is read when the server is bound.
        let descriptors = Descriptors::raise();
        #[cfg(feature = "gateway")]
        let gateway = setup.gateway(&settings)?;
        #[cfg(feature = "gateway")]
        let base = setup.registry_of(&settings, gateway.operations())?;
        #[cfg(not(feature = "gateway"))]
        let base = setup.registry(&settings)?;
        let guarded = settings.access.is_some() || base.identity().is_some();
        // Where it may not listen, nothing is opened, and no folder is made.
        let listener = match &settings.listen {
            ListenSetting::Tcp(address) => Some(listen(address, guarded).await?),
            ListenSetting::Unix(_) | ListenSetting::Systemd => None,
        };
        let tls = listening::tls(&settings)?;
        let parts = ServiceLayers::open(&settings, &base).await?;
        let registry = parts.around(&base, &settings);
        #[cfg(feature = "gateway")]
        {
            parts.upstreams.set(gateway.upstreams());
            gateway.keep();
        }
        let mut server = Server::new(faces(&setup, &settings, &parts, &registry)?);
        server = match (&settings.listen, listener) {
            (ListenSetting::Tcp(_), Some(listener)) => server.listener(listener),
            (ListenSetting::Unix(path), _) => server.listen(redress_serve::Listen::unix(path)),
            (ListenSetting::Systemd, _) | (ListenSetting::Tcp(_), None) => {
                server.listen(redress_serve::Listen::Systemd)
            }
        };
        let server = listening::secured(server, tls).bind().await.map_err(|error| unbound(&settings, error))?;
        // The signals are taken before the screen says that they are.
        let stop = signals::stop().map_err(CliError::RuntimeUnavailable)?;
        let reload = signals::ReloadSignal::new().map_err(CliError::RuntimeUnavailable)?;
        let addresses: Vec<_> = server.addresses().cloned().collect();
        let reloads = Arc::new(Reloads::default());
        parts.seen(&server.handle(), &reloads, otlp.as_ref());
        let held = ConnectionsShown {
            wanted: layers::face_limits(&settings),
            in_force: server.handle().limits(),
            descriptors,
        };
        let screen = Screen { program: &setup.program, settings: &settings, registry: &registry, addresses, held };
        if terminal.is_json() {
            terminal.document(&screen.document())?;
        } else {
            screen.show(terminal)?;
        }
        let grace = Span(settings.grace);
        let state = parts.clone();
        let server_handle = server.handle();
        let base = Arc::new(parking_lot::Mutex::new(base));
        let reloading = Reloading {
            setup: Arc::clone(&setup),
            args,
            settings: settings.clone(),
            base: Arc::clone(&base),
            #[cfg(feature = "gateway")]
            documents: crate::gateway::DocumentWatch::of(&gateway),
            #[cfg(feature = "gateway")]
            gateway,
            parts,
            server: server_handle,
            reloads,
            log,
        };
        let stopped = async move {
            stop.await;
            tracing::info!("stopping: running calls have {grace} to end");
        };
        let mut reloading = tokio::spawn(reloading.run(reload));
        let served = tokio::select! {
            served = server.run(stopped) => served,
            ended = &mut reloading => match ended {
                Ok(never) => match never {},
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
        };
        reloading.abort();
        // The one that is served by now: a document may have changed.
        let base = base.lock().clone();
        base.shut_down().await;
        registry.settled().await;
        state.close().await;
        let ended = match served {
            Ok(()) => {
                tracing::info!("stopped");
                Ok(CommandEnd::Well)
            }
            Err(error) => Err(unbound(&settings, error)),
        };
        if let Some(otlp) = otlp {
            otlp.shutdown(layers::LAST_WORDS).await;
        }
        ended
    }
}

/// The faces of `registry`, as `settings` say.
pub(crate) fn faces(
    setup: &Setup,
    settings: &ServeSettings,
    parts: &ServiceLayers,
    registry: &Registry,
) -> Result<Faces, CliError> {
    let (ready, upstreams) = (registry.clone(), parts.upstreams.clone());
    let mut faces = Faces::new(registry.clone())
        .title(setup.program.about().title())
        .version(setup.program.about().version())
        .grace(settings.grace)
        .limits(layers::face_limits(settings))
        .cors_origins(settings.http.cors_origins.iter().flatten())
        .trusted_proxies(layers::networks(settings)?)
        .ready(move || ready.is_ready())
        .ready_details(move || upstreams.ready_details())
        .mcp(crate::commands::mcp::face(setup, settings, registry, &parts.dropped_fields)?)
        .mcp_http(crate::commands::mcp::http(settings));
    if let Some(text) = setup.program.about().description() {
        faces = faces.description(text);
    }
    if let Some((access, _)) = &parts.access {
        faces = layers::knowing(faces, access);
    }
    #[cfg(feature = "compression")]
    {
        faces = faces.compression(settings.http.compression.unwrap_or(defaults::COMPRESSION));
    }
    if settings.telemetry.metrics.unwrap_or(defaults::METRICS) {
        let metrics = Arc::clone(&parts.metrics);
        faces = faces.metrics(move || metrics.text());
        if settings.telemetry.metrics_open.unwrap_or(defaults::METRICS_OPEN) {
            faces = faces.metrics_open();
        }
    }
    if let Some(url) = &settings.url {
        faces = faces.server(url.trim_end_matches('/'));
    }
    if let Some(bytes) = settings.max_body {
        faces = faces.max_body(bytes);
    }
    Ok(faces)
}

/// Listens on the first address of this name that can be listened on. One that other
/// machines can reach is refused before the port is open, unless access is settled.
async fn listen(wanted: &str, guarded: bool) -> Result<TcpListener, CliError> {
    let address = wanted.to_owned();
    let addresses: Vec<SocketAddr> = match wanted.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(cause) => return Err(CliError::AddressUnusable { address, cause }),
    };
    if !guarded && addresses.iter().any(|address| !address.ip().to_canonical().is_loopback()) {
        return Err(CliError::NotLoopbackWithoutAccess { address });
    }
    TcpListener::bind(addresses.as_slice()).await.map_err(|cause| unlistened(address, cause))
}

fn unlistened(address: String, cause: io::Error) -> CliError {
    if cause.kind() == io::ErrorKind::AddrInUse {
        CliError::PortInUse { address }
    } else {
        CliError::AddressUnusable { address, cause }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else keeps a server from listening is told in its own words"
)]
fn unbound(settings: &ServeSettings, error: ServeError) -> CliError {
    let address = settings.listen.to_string();
    match error {
        ServeError::NoAccess { address } => CliError::NotLoopbackWithoutAccess { address: address.to_string() },
        ServeError::Listener(cause) => CliError::ListenerFailed(cause),
        ServeError::Address { source, .. } | ServeError::Socket { source, .. } => unlistened(address, source),
        other => CliError::AddressUnusable { address, cause: io::Error::other(other) },
    }
}
