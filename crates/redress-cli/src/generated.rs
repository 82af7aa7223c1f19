//! What is made from the command line itself, for shells and `man`, and from the operations, for whoever watches them.

use std::path::Path;

use crate::{
    arguments::{self, Generated},
    program::{Ended, Setup, wait},
    service::Service,
    terminal::Terminal,
    trouble::Trouble,
};

fn command(setup: &Setup) -> clap::Command {
    arguments::command(&setup.program)
}

/// Prints completions for a shell.
pub(crate) fn completions(
    setup: &Setup,
    typed: &arguments::Completions,
    terminal: &mut Terminal<'_>,
) -> Result<Ended, Trouble> {
    let mut script = Vec::new();
    clap_complete::generate(typed.shell, &mut command(setup), setup.program.name(), &mut script);
    if terminal.is_json() {
        let shell = typed.shell.to_string();
        let script = String::from_utf8_lossy(&script);
        terminal.document(&serde_json::json!({"shell": shell, "script": script}))?;
    } else {
        terminal.out().bytes(&script)?;
    }
    Ok(Ended::Well)
}

/// Writes a manual page for each command.
pub(crate) fn man(setup: &Setup, typed: &arguments::Man, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let folder = &typed.folder;
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command(setup), folder));
    let path = folder.display().to_string();
    written.map_err(|cause| Trouble::FileUnwritable { path: path.clone(), cause })?;
    if terminal.is_json() {
        terminal.document(&serde_json::json!({"folder": path}))?;
    } else {
        terminal.out().line(format_args!("manual pages in {path}"))?;
    }
    Ok(Ended::Well)
}

/// Writes what is made from the operations.
pub(crate) fn contract(setup: &Setup, typed: &arguments::Gen, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let contract = match (&typed.from, &typed.config) {
        (Some(url), _) => {
            let service = Service::at(url, typed.ca(), typed.token.as_deref())?;
            wait(service.contract())?
        }
        (None, Some(config)) => {
            let serve = arguments::Serve { config: Some(config.clone()), ..Default::default() };
            setup.registry(&setup.settings(&serve)?)?.contract().clone()
        }
        (None, None) => setup.local()?.contract().clone(),
    };
    let text = match typed.what {
        Generated::Dashboard => format!("{:#}\n", redress_telemetry::dashboard(&contract)),
        Generated::Alerts => redress_telemetry::alerts(&contract),
    };
    if typed.out == Path::new("-") {
        terminal.out().bytes(text.as_bytes())?;
        return Ok(Ended::Well);
    }
    let path = typed.out.display().to_string();
    std::fs::write(&typed.out, text).map_err(|cause| Trouble::FileUnwritable { path: path.clone(), cause })?;
    if terminal.is_json() {
        terminal.document(&serde_json::json!({"file": path}))?;
    } else {
        terminal.out().line(format_args!("wrote {path}"))?;
    }
    Ok(Ended::Well)
}
