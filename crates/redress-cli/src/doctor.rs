//! `doctor`: whether everything needed is there, and what to do about what is not.

use std::{
    io,
    net::TcpListener,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

use crate::{
    arguments,
    config::{DEFAULT_LISTEN, File, Settings},
    program::{Ended, Setup},
    shell,
    terminal::{BAD, DOUBTFUL, GOOD, NAME, SOFT, TYPED, Terminal, harmless},
    trouble::Trouble,
};

/// Below this many watches, following a large folder ends early.
const ENOUGH_WATCHES: u64 = 65_536;
/// No build is older than this, so no right clock is: the start of 2025.
const OLDEST: u64 = 1_735_689_600;

/// What was looked at, and what was found.
#[derive(Debug, Serialize)]
struct Check {
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

impl Check {
    fn ok(check: &'static str, says: impl Into<String>) -> Check {
        Check { check, status: Status::Ok, says: says.into(), next: None }
    }

    fn warn(check: &'static str, says: impl Into<String>, next: impl Into<String>) -> Check {
        Check { check, status: Status::Warn, says: says.into(), next: Some(next.into()) }
    }

    fn fail(check: &'static str, says: impl Into<String>, next: impl Into<String>) -> Check {
        Check { check, status: Status::Fail, says: says.into(), next: Some(next.into()) }
    }
}

pub(crate) fn run(setup: &Setup<'_>, typed: &arguments::Doctor, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let program = setup.program.name();
    let mut checks = vec![version(setup), clock(SystemTime::now())];
    if setup.program.is_built_in() {
        checks.extend(folder(program, &Settings::local(&setup.folder)?));
        checks.extend(watches(Path::new("/proc/sys/fs/inotify/max_user_watches")));
    }
    checks.push(port(program, &typed.listen.as_ref().map_or_else(|| DEFAULT_LISTEN.to_owned(), ToString::to_string)));
    checks.extend(configuration(program, Path::new("redress.toml")));
    let failed = checks.iter().any(|check| check.status == Status::Fail);
    show(&checks, terminal)?;
    Ok(if failed { Ended::Badly } else { Ended::Well })
}

fn show(checks: &[Check], terminal: &mut Terminal<'_>) -> io::Result<()> {
    if terminal.is_json() {
        return terminal.document(&checks);
    }
    let out = terminal.out();
    for Check { check, status, says, next } in checks {
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

fn version(setup: &Setup<'_>) -> Check {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    Check::ok("version", format!("{} {} on {system} {machine}", setup.program.name(), setup.program.version()))
}

/// Request ids and consents go by the clock.
fn clock(now: SystemTime) -> Check {
    match now.duration_since(UNIX_EPOCH) {
        Ok(since) if since.as_secs() >= OLDEST => Check::ok("clock", "set"),
        Ok(_) | Err(_) => {
            Check::warn("clock", "is years behind, so request ids and consents are wrong", "set the clock")
        }
    }
}

fn folder(program: &str, settings: &Settings) -> Vec<Check> {
    let path = settings.root.display().to_string();
    let other = shell::line([program, "doctor", "--root", "DIR"]);
    if let Err(cause) = std::fs::read_dir(&settings.root) {
        return vec![Check::fail("folder", format!("{path} cannot be read: {cause}"), other)];
    }
    if !settings.write {
        return vec![Check::ok("folder", format!("{path} can be read"))];
    }
    // Only an attempt tells: rights, read-only mounts and quotas all have a say.
    let probe = settings.root.join(format!(".redress-doctor-{}", std::process::id()));
    let made = std::fs::File::create_new(&probe);
    let removed = made.and_then(|_| std::fs::remove_file(&probe));
    vec![match removed {
        Ok(()) => Check::ok("folder", format!("{path} can be read and written")),
        Err(cause) => Check::fail("folder", format!("{path} cannot be written: {cause}"), other),
    }]
}

/// How many files the system lets a user follow at once; nothing where it does not say.
fn watches(limit: &Path) -> Option<Check> {
    let limit: u64 = std::fs::read_to_string(limit).ok()?.trim().parse().ok()?;
    let says = format!("{limit} files can be followed at once");
    Some(if limit >= ENOUGH_WATCHES {
        Check::ok("watches", says)
    } else {
        Check::warn("watches", says, "sudo sysctl fs.inotify.max_user_watches=524288")
    })
}

fn port(program: &str, address: &str) -> Check {
    match TcpListener::bind(address) {
        Ok(_) => Check::ok("port", format!("{address} is free")),
        Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {
            let next = shell::line([program, "serve", "--listen", "127.0.0.1:0"]);
            Check::warn("port", format!("something already listens on {address}"), next)
        }
        Err(cause) => {
            let next = shell::line([program, "explain", "ADDRESS_UNUSABLE"]);
            Check::fail("port", format!("nothing can listen on {address}: {cause}"), next)
        }
    }
}

/// A configuration in the current folder is read only where it is named; that it is there
/// and sound is worth a line.
fn configuration(program: &str, path: &Path) -> Option<Check> {
    if !path.exists() {
        return None;
    }
    let next = shell::line([program, "serve", "redress.toml"]);
    Some(match File::at(path) {
        Ok(_) => Check { next: Some(next), ..Check::ok("config", "redress.toml is sound, and read where it is named") },
        Err(trouble) => {
            let next = shell::line([program, "explain", trouble.code().as_str()]);
            Check::fail("config", trouble.to_string(), next)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_is_told() {
        assert_eq!(clock(UNIX_EPOCH).status, Status::Warn);
        assert_eq!(clock(SystemTime::now()).status, Status::Ok);
    }

    #[test]
    fn a_low_limit_of_watches_is_told_with_what_raises_it() {
        let folder = tempfile::tempdir().unwrap();
        let limit = folder.path().join("limit");
        std::fs::write(&limit, "8192\n").unwrap();
        assert_eq!(watches(&limit).map(|check| check.status), Some(Status::Warn));
        std::fs::write(&limit, "524288\n").unwrap();
        assert_eq!(watches(&limit).map(|check| check.status), Some(Status::Ok));
        assert!(watches(&folder.path().join("missing")).is_none());
    }

    #[test]
    fn a_port_in_use_is_told() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        assert_eq!(port("redress", &address).status, Status::Warn);
        assert_eq!(port("redress", "nowhere").status, Status::Fail);
    }
}
