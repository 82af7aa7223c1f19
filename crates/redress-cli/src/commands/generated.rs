//! What is made from the command line itself, for shells and `man`, and from the operations, for whoever watches them.

use std::path::Path;

use crate::{
    arguments::{self, Generated},
    call_target::CallTarget,
    error::CliError,
    program::{CommandEnd, Setup, wait},
    terminal::output::Terminal,
};

fn command(setup: &Setup) -> clap::Command {
    arguments::command(&setup.program)
}

/// Prints completions for a shell.
pub(crate) fn completions(
    setup: &Setup,
    args: &arguments::CompletionsArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(setup), setup.program.name(), &mut script);
    if terminal.is_json() {
        let shell = args.shell.to_string();
        let script = String::from_utf8_lossy(&script);
        terminal.document(&serde_json::json!({"shell": shell, "script": script}))?;
    } else {
        terminal.out().bytes(&script)?;
    }
    Ok(CommandEnd::Well)
}

/// Writes a manual page for each command.
pub(crate) fn man(
    setup: &Setup,
    args: &arguments::ManArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let folder = &args.folder;
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command(setup), folder));
    let path = folder.display().to_string();
    written.map_err(|cause| CliError::FileUnwritable { path: path.clone(), cause })?;
    if terminal.is_json() {
        terminal.document(&serde_json::json!({"folder": path}))?;
    } else {
        terminal.out().line(format_args!("manual pages in {path}"))?;
    }
    Ok(CommandEnd::Well)
}

/// Writes what is made from the operations.
pub(crate) fn contract(
    setup: &Setup,
    args: &arguments::GenArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let contract = match (&args.from, &args.config) {
        (Some(url), _) => {
            let service = CallTarget::at(url, args.ca(), args.token.as_deref())?;
            wait(service.contract())?
        }
        (None, Some(config)) => {
            let serve = arguments::ServeArgs { config: Some(config.clone()), ..Default::default() };
            setup.registry(&setup.settings(&serve)?)?.contract().clone()
        }
        (None, None) => setup.local()?.contract().clone(),
    };
    let text = match args.what {
        Generated::Dashboard => format!("{:#}\n", redress_telemetry::dashboard(&contract)),
        Generated::Alerts => redress_telemetry::alerts(&contract),
    };
    if args.out == Path::new("-") {
        terminal.out().bytes(text.as_bytes())?;
        return Ok(CommandEnd::Well);
    }
    let path = args.out.display().to_string();
    std::fs::write(&args.out, text).map_err(|cause| CliError::FileUnwritable { path: path.clone(), cause })?;
    if terminal.is_json() {
        terminal.document(&serde_json::json!({"file": path}))?;
    } else {
        terminal.out().line(format_args!("wrote {path}"))?;
    }
    Ok(CommandEnd::Well)
}
