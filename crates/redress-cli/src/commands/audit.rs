//! `audit`: who called what, read from the state beside a running server or after it.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use redress_core::Face;
use redress_state::{AuditFilter, AuditReader, AuditRecord, ReadError};

use crate::{
    arguments,
    config::HERE,
    error::{CliError, chain},
    input,
    near::nearest,
    program::{CommandEnd, Setup, wait},
    signals,
    terminal::output::{BAD, GOOD, NAME, SOFT, Terminal, harmless},
};

/// How often new records are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::AuditArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let unread = |says| CliError::AuditUnreadable { says };
    let folder = folder(setup, args.state.as_deref(), args.config.as_deref(), unread, terminal)?;
    wait(async {
        let mut reader = AuditReader::open(&folder).await.map_err(unreadable)?;
        let filter = filter(args, &reader)?;
        let records = reader.read(&filter).await.map_err(unreadable)?;
        if records.is_empty() {
            terminal.nothing("no call is recorded that fits")?;
        }
        for record in &records {
            show(record, terminal)?;
        }
        if !args.follow {
            return Ok(CommandEnd::Well);
        }
        let stop = signals::stop().map_err(CliError::RuntimeUnavailable)?;
        tokio::pin!(stop);
        loop {
            for record in reader.next(&filter).await.map_err(unreadable)? {
                show(&record, terminal)?;
            }
            tokio::select! {
                () = &mut stop => return Ok(CommandEnd::Well),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    })
}

/// The folder of the state: named, or as the configuration has it. Where there is none, `unread` tells what that keeps
/// from being read.
pub(crate) fn folder(
    setup: &Setup,
    state: Option<&Path>,
    named: Option<&Path>,
    unread: impl Fn(String) -> CliError,
    terminal: &mut Terminal<'_>,
) -> Result<PathBuf, CliError> {
    if let Some(folder) = state {
        return Ok(folder.to_owned());
    }
    let here = Path::new(HERE).exists().then(|| PathBuf::from(HERE));
    let Some(config) = named.map(Path::to_owned).or(here) else {
        let says = "neither a configuration nor a folder is named, and there is no redress.toml here".to_owned();
        return Err(unread(says));
    };
    // Nobody has named this file, and whoever may write here could have put it there.
    let is_found = named.is_none();
    let serve = arguments::ServeArgs { config: Some(config), ..Default::default() };
    match setup.settings(&serve)?.state {
        crate::config::WhereState::Folder(table) => {
            let folder = table.folder.unwrap_or_default();
            if is_found {
                terminal.used(&folder, Some(Path::new(HERE)))?;
            }
            Ok(folder)
        }
        crate::config::WhereState::Memory => Err(unread("the configuration keeps the state in memory".to_owned())),
    }
}

fn filter(args: &arguments::AuditArgs, reader: &AuditReader) -> Result<AuditFilter, CliError> {
    let usage = |says: String, tip: Option<String>| CliError::Usage { says, tip, command: "redress audit".to_owned() };
    let now = SystemTime::now();
    let mut filter = AuditFilter::new().limit(args.limit);
    if let Some(since) = args.since {
        filter = filter.since(since.seen_from(now));
    }
    if let Some(until) = args.until {
        filter = filter.until(until.seen_from(now));
    }
    if let Some(caller) = &args.caller {
        filter = filter.caller(caller);
    }
    if let Some(pattern) = &args.operation {
        filter = filter.operation(pattern).map_err(|error| usage(error.to_string(), None))?;
    }
    if let Some(code) = &args.code {
        // `ok` and `asks` are no codes, and are written small.
        let small = code.to_lowercase();
        filter = filter.code(if matches!(small.as_str(), "ok" | "asks") { small } else { code.to_uppercase() });
    }
    if let Some(id) = &args.request_id {
        filter = filter.request_id(id);
    }
    if let Some(face) = &args.face {
        let names = Face::ALL.map(Face::as_str);
        if !names.contains(&face.as_str()) {
            let tip = nearest(face, names).first().map(|near| format!("A face of a similar name exists: '{near}'"));
            return Err(usage(format!("there is no face `{face}`; known: {}", names.join(", ")), tip));
        }
        filter = filter.face(face);
    }
    if let Some(given) = &args.input {
        filter = filter.input(reader.hash(&input::read(Some(given))?));
    }
    Ok(filter)
}

fn show(record: &AuditRecord, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    if terminal.is_json() {
        terminal.document(record)?;
        return Ok(());
    }
    let out = terminal.out();
    let time = redress_core::rfc3339(record.time);
    let style = if record.code == "ok" { GOOD } else { BAD };
    let code = out.paint(style, harmless(&record.code));
    let caller = harmless(record.caller.as_deref().unwrap_or("nobody"));
    let operation = out.paint(NAME, harmless(&record.operation));
    let again = if record.repeated { " repeated" } else { "" };
    let (face, id) = (harmless(&record.face), harmless(&record.request_id));
    let rest = out.paint(SOFT, format!("{face}  {}µs  {id}{again}", record.elapsed.as_micros()));
    out.line(format_args!("{time}  {code:20}  {caller:12}  {operation:24}  {rest}"))?;
    Ok(())
}

fn unreadable(error: ReadError) -> CliError {
    CliError::AuditUnreadable { says: chain(&error) }
}
