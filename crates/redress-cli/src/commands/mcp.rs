//! `mcp`: the MCP face on the standard input and output, until the input ends.

use redress_contract::Caller;
use redress_core::Registry;
use redress_mcp::{
    DroppedFields, EnvelopeUse, HttpOptions, Mcp, McpError, McpOptions, OutputForm, OutputSchema, Profile,
    RequestContext,
};

use crate::{
    config::{self, ServeSettings, Span, WhereState, defaults},
    error::CliError,
    layers::{self, Otlp, ServiceLayers},
    program::{CommandEnd, Setup},
    signals,
    terminal::output::{Terminal, harmless},
};

pub(crate) fn run(
    setup: &Setup,
    settings: &ServeSettings,
    otlp: Option<Otlp>,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(CliError::RuntimeUnavailable)?;
    let ended = runtime.block_on(serve(setup, settings, otlp, terminal));
    runtime.shutdown_background();
    ended
}

async fn serve(
    setup: &Setup,
    settings: &ServeSettings,
    otlp: Option<Otlp>,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let base = setup.registry(settings)?;
    let parts = ServiceLayers::of_pipes(settings, &base).await?;
    if let (WhereState::Folder(table), false) = (&settings.state, parts.kept.is_lasting()) {
        let folder = table.folder.clone().unwrap_or_default();
        let says = format!(
            "another process has the state in {}: this one keeps its own in memory, without audit",
            folder.display()
        );
        terminal.err().line(harmless(&says))?;
    }
    let registry = parts.around(&base, settings);
    if let Some(otlp) = &otlp {
        otlp.export(&parts.metrics);
    }
    let face = face(setup, settings, &registry, &parts.dropped_fields)?;
    let stop = signals::stop().map_err(CliError::RuntimeUnavailable)?;
    // Whoever can start the process may do everything in it.
    let asking = RequestContext { caller: Some(Caller::local().into()), ..RequestContext::default() };
    let served = tokio::select! {
        served = face.standard_io(asking) => served,
        () = stop => Ok(()),
    };
    base.shut_down().await;
    registry.settled().await;
    parts.close().await;
    if let Some(otlp) = otlp {
        otlp.shutdown(layers::LAST_WORDS).await;
    }
    served.map(|()| CommandEnd::Well).map_err(CliError::OutputUnwritable)
}

/// Who may reach the MCP face over HTTP, and where its tokens come from.
pub(crate) fn http(settings: &ServeSettings) -> HttpOptions {
    let mut options = HttpOptions::default();
    let jwt = settings.access.iter().filter_map(|access| access.jwt.as_ref());
    // An issuer may be any text; where it is a URL, clients find there how to get a token.
    let issuers = jwt.flat_map(|jwt| &jwt.issuer).filter(|issuer| issuer.starts_with("https://"));
    options.authorization_servers = issuers.cloned().collect();
    options
}

/// The MCP face of `registry`, as `settings` say. `dropped_fields` counts what it drops of what hosts add.
pub(crate) fn face(
    setup: &Setup,
    settings: &ServeSettings,
    registry: &Registry,
    dropped_fields: &DroppedFields,
) -> Result<Mcp, CliError> {
    let tools = &settings.tools;
    let mut options = McpOptions::default().with_program(setup.program.about());
    options.form = OutputForm {
        output_schema: match tools.output_schema {
            Some(config::OutputSchemaSetting::Success) | None => OutputSchema::Success,
            Some(config::OutputSchemaSetting::Union) => OutputSchema::Union,
            Some(config::OutputSchemaSetting::None) => OutputSchema::None,
        },
        envelope: match tools.envelope {
            Some(config::EnvelopeSetting::Failures) | None => EnvelopeUse::Failures,
            Some(config::EnvelopeSetting::Always) => EnvelopeUse::Always,
        },
        error_meta: tools.error_meta.unwrap_or(defaults::ERROR_META),
    };
    options.subscriptions = tools.subscriptions.unwrap_or(defaults::SUBSCRIPTIONS);
    if let Some(Span(time)) = tools.subscription_time {
        options.stream.time = time;
    }
    options.host_fields.clone_from(&tools.host_fields);
    options.dropped_fields = dropped_fields.clone();
    if let Some(above) = tools.discovery_above {
        options.discovery_above = above;
        options.page = options.page.max(above.min(1_000));
    }
    let usage = |says: String| CliError::Usage { says, tip: None, command: setup.program.name().to_owned() };
    if let Some(name) = &tools.profile {
        let Some(patterns) = tools.profiles.get(name) else {
            let known: Vec<&str> = tools.profiles.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(usage(format!("there is no profile `{name}`; known: {known}")));
        };
        options.profile = Some(Profile::new(name, patterns));
    }
    Mcp::new(registry.clone(), options).map_err(|error: McpError| usage(error.to_string()))
}
