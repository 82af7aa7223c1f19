//! `quota`: who has used how much, read from the state beside a running server or after it.

use std::time::SystemTime;

use redress_core::QuotaWindow;
use redress_state::{QuotaReader, QuotaRecord, ReadError};

use crate::{
    arguments,
    commands::audit,
    error::{CliError, chain},
    program::{CommandEnd, Setup, wait},
    terminal::output::{BAD, GOOD, NAME, SOFT, Terminal, harmless},
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::QuotaArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let unread = |says| CliError::QuotaUnreadable { says };
    let folder = audit::folder(setup, args.state.as_deref(), args.config.as_deref(), unread, terminal)?;
    wait(async {
        let mut reader = QuotaReader::open(&folder).await.map_err(unreadable)?;
        let records = reader.read(SystemTime::now(), args.caller.as_deref()).await.map_err(unreadable)?;
        if records.is_empty() {
            terminal.nothing("nobody has used anything of a quota that runs")?;
        }
        for record in &records {
            show(record, terminal)?;
        }
        Ok(CommandEnd::Well)
    })
}

fn show(record: &QuotaRecord, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    if terminal.is_json() {
        terminal.document(record)?;
        return Ok(());
    }
    let out = terminal.out();
    let nobody = record.address.as_deref().unwrap_or("anonymous");
    let caller = harmless(record.caller.as_deref().unwrap_or(nobody));
    let rule = out.paint(NAME, harmless(&record.rule));
    let style = if record.used < record.limit { GOOD } else { BAD };
    let used = out.paint(style, format!("{} of {}", record.used, record.limit));
    let article = if record.window == QuotaWindow::Hour { "an" } else { "a" };
    let rest = format!("{article} {}, until {}", record.window.as_str(), redress_core::rfc3339(record.renews_at));
    out.line(format_args!("{caller:12}  {rule:24}  {used:16}  {}", out.paint(SOFT, rest)))?;
    Ok(())
}

fn unreadable(error: ReadError) -> CliError {
    CliError::QuotaUnreadable { says: chain(&error) }
}
