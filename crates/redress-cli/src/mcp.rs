//! `mcp`: the MCP face on the standard input and output, until the input ends.

use redress_contract::Caller;
use redress_core::Registry;
use redress_mcp::{
    Asking, DroppedFields, EnvelopeUse, Form, HttpOptions, Mcp, McpError, McpOptions, OutputSchema, Profile,
};

use crate::{
    config::{self, Settings, Span, WhereState},
    parts::{self, Otlp, Parts},
    program::{Ended, Setup},
    signals,
    terminal::{Terminal, harmless},
    trouble::Trouble,
};

pub(crate) fn run(
    setup: &Setup,
    settings: &Settings,
    otlp: Option<Otlp>,
    terminal: &mut Terminal<'_>,
) -> Result<Ended, Trouble> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Trouble::RuntimeUnavailable)?;
    let ended = runtime.block_on(serve(setup, settings, otlp, terminal));
    runtime.shutdown_background();
    ended
}

async fn serve(
    setup: &Setup,
    settings: &Settings,
    otlp: Option<Otlp>,
    terminal: &mut Terminal<'_>,
) -> Result<Ended, Trouble> {
    let base = setup.registry(settings)?;
    let parts = Parts::of_pipes(settings, &base).await?;
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
    let stop = signals::stop().map_err(Trouble::RuntimeUnavailable)?;
    // Whoever can start the process may do everything in it.
    let asking = Asking { caller: Some(Caller::local().into()), ..Asking::default() };
    let served = tokio::select! {
        served = face.standard_io(asking) => served,
        () = stop => Ok(()),
    };
    base.shut_down().await;
    registry.settled().await;
    parts.close().await;
    if let Some(otlp) = otlp {
        otlp.shutdown(parts::LAST_WORDS).await;
    }
    served.map(|()| Ended::Well).map_err(Trouble::OutputUnwritable)
}

/// Who may reach the MCP face over HTTP, and where its tokens come from.
pub(crate) fn http(settings: &Settings) -> HttpOptions {
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
    settings: &Settings,
    registry: &Registry,
    dropped_fields: &DroppedFields,
) -> Result<Mcp, Trouble> {
    let tools = &settings.tools;
    let mut options = McpOptions::default().with_program(setup.program.about());
    options.form = Form {
        output_schema: match tools.output_schema {
            Some(config::OutputSchema::Success) | None => OutputSchema::Success,
            Some(config::OutputSchema::Union) => OutputSchema::Union,
            Some(config::OutputSchema::None) => OutputSchema::None,
        },
        envelope: match tools.envelope {
            Some(config::Envelope::Failures) | None => EnvelopeUse::Failures,
            Some(config::Envelope::Always) => EnvelopeUse::Always,
        },
        error_meta: tools.error_meta.unwrap_or(true),
    };
    options.subscriptions = tools.subscriptions.unwrap_or(false);
    if let Some(Span(time)) = tools.subscription_time {
        options.stream.time = time;
    }
    options.host_fields.clone_from(&tools.host_fields);
    options.dropped_fields = dropped_fields.clone();
    if let Some(above) = tools.discovery_above {
        options.discovery_above = above;
        options.page = options.page.max(above.min(1_000));
    }
    let usage = |says: String| Trouble::Usage { says, tip: None, command: setup.program.name().to_owned() };
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
