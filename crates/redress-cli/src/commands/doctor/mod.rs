//! `doctor`: whether everything needed is there, and what to do about what is not.

#[cfg(feature = "tls")]
mod certificate;
mod configuration;
mod machine;
mod server;
#[cfg(feature = "gateway")]
mod upstreams;

use std::{io, path::Path, time::SystemTime};

use redress_serve::Descriptors;
use serde::Serialize;

use crate::{
    arguments,
    config::{HERE, ServeSettings},
    error::CliError,
    program::{CommandEnd, Setup, wait},
    terminal::{
        output::{BAD, DOUBTFUL, GOOD, NAME, SOFT, TYPED, Terminal, harmless},
        shell,
    },
};

/// What was looked at, and what was found.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    check: &'static str,
    status: Status,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl DoctorCheck {
    fn ok(check: &'static str, says: impl Into<String>) -> DoctorCheck {
        DoctorCheck { check, status: Status::Ok, says: says.into(), next: None }
    }

    fn warn(check: &'static str, says: impl Into<String>, next: impl Into<String>) -> DoctorCheck {
        DoctorCheck { check, status: Status::Warn, says: says.into(), next: Some(next.into()) }
    }

    fn fail(check: &'static str, says: impl Into<String>, next: impl Into<String>) -> DoctorCheck {
        DoctorCheck { check, status: Status::Fail, says: says.into(), next: Some(next.into()) }
    }

    /// What a trouble says; its page says more.
    fn trouble(check: &'static str, program: &str, trouble: &CliError) -> DoctorCheck {
        let next = shell::line([program, "explain", trouble.code().as_str()]);
        DoctorCheck::fail(check, trouble.to_string(), next)
    }
}

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::DoctorArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let program = setup.program.name();
    let mut checks = vec![machine::version(setup), machine::clock(SystemTime::now())];
    let named = &args.serve.config;
    let here = || Path::new(HERE).exists().then(|| HERE.into());
    let serve = arguments::ServeArgs { config: named.clone().or_else(here), ..args.serve.clone() };
    let (settings, sound) = match setup.settings(&serve) {
        Ok(settings) => (settings, true),
        Err(trouble) => {
            checks.push(DoctorCheck::trouble("config", program, &trouble));
            let local = ServeSettings::local(&setup.folder)?;
            (ServeSettings { listen: serve.listen.unwrap_or(local.listen), ..local }, false)
        }
    };
    if let (Some(document), None) = (&settings.document, named) {
        let says = format!("{} is sound, and read where it is named", document.path.display());
        let next = shell::line([program, "serve", HERE]);
        checks.push(DoctorCheck { next: Some(next), ..DoctorCheck::ok("config", says) });
    } else if let Some(document) = &settings.document {
        checks.push(DoctorCheck::ok("config", format!("{} is sound", document.path.display())));
    }
    if setup.program.is_built_in() {
        checks.extend(machine::folder(program, &settings));
        checks.extend(machine::watches(Path::new("/proc/sys/fs/inotify/max_user_watches")));
    }
    // A server that is asked about holds its own port, and its own files.
    if args.server.url.is_none() {
        checks.extend(machine::files(&settings, Descriptors::raise()));
        checks.extend(machine::port(program, &settings.listen));
    }
    wait(async {
        // Whoever asks about a server, and names no configuration, asks about the server alone.
        if sound && (args.server.url.is_none() || settings.document.is_some()) {
            checks.extend(configuration::checks(setup, &settings, args.server.url.is_some()).await);
            #[cfg(feature = "gateway")]
            checks.extend(upstreams::checks(program, &settings).await);
        }
        if let Some(url) = &args.server.url {
            checks.extend(server::checks(program, url, &args.server).await?);
        }
        Ok(())
    })?;
    let failed = checks.iter().any(|check| check.status == Status::Fail);
    show(&checks, terminal)?;
    Ok(if failed { CommandEnd::Badly } else { CommandEnd::Well })
}

fn show(checks: &[DoctorCheck], terminal: &mut Terminal<'_>) -> io::Result<()> {
    if terminal.is_json() {
        return terminal.document(&checks);
    }
    let out = terminal.out();
    for DoctorCheck { check, status, says, next } in checks {
        let (style, word) = match status {
            Status::Ok => (GOOD, "ok"),
            Status::Warn => (DOUBTFUL, "warn"),
            Status::Fail => (BAD, "fail"),
        };
        let (word, name) = (out.paint(style, word), out.paint(NAME, check));
        out.line(format_args!("{word:6}{name:10}{}", harmless(says)))?;
        if let Some(next) = next {
            out.line(format_args!("      {:10}{}", out.paint(SOFT, "next:"), out.paint(TYPED, harmless(next))))?;
        }
    }
    Ok(())
}
