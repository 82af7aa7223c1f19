//! `token`: the file of tokens by which callers are known.

use std::time::SystemTime;

use redress_access::{AccessError, NewToken, TokenEntry, TokenFile};
use redress_contract::CONSENT_GRANT;
use serde_json::{Value, json};

use crate::{
    arguments::{self, TokenCommand},
    config::{
        File,
        moment::{calendar, day, days_left},
    },
    error::{CliError, chain},
    near::nearest,
    program::CommandEnd,
    terminal::output::{NAME, SOFT, Stream, Terminal, harmless},
};

pub(crate) fn run(args: &arguments::TokenArgs, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    match &args.what {
        TokenCommand::New(new) if new.print_hash => draw(new, terminal)?,
        TokenCommand::New(new) => {
            let file = file(&new.file)?;
            make(&file, new, terminal)?;
            used(&file, &new.file, terminal)?;
        }
        TokenCommand::List(from) => list(&file(from)?, terminal)?,
        TokenCommand::Revoke(revoke) => {
            let file = file(&revoke.file)?;
            take_back(&file, &revoke.id, terminal)?;
            used(&file, &revoke.file, terminal)?;
        }
    }
    Ok(CommandEnd::Well)
}

/// The file that is named, or the one that a configuration names which is named itself. One that lies in the current folder
/// is not taken up unasked: whoever may write files there could have it lead to the tokens of another service.
fn file(args: &arguments::TokenFileArgs) -> Result<TokenFile, CliError> {
    if let Some(path) = &args.path {
        return Ok(TokenFile::at(path));
    }
    let Some(config) = &args.config else {
        return Err(CliError::Usage {
            says: "no file of tokens is named".to_owned(),
            tip: Some("Name the file with `--file`, or the configuration with `--config`.".to_owned()),
            command: "redress token".to_owned(),
        });
    };
    let (file, document) = File::at(config)?;
    let tokens = file.access.and_then(|access| access.tokens);
    let unnamed = || document.wrong("access", "`access.tokens` names no file of tokens");
    tokens.map(TokenFile::at).ok_or_else(unnamed)
}

/// Tells which file a configuration has led to.
fn used(file: &TokenFile, args: &arguments::TokenFileArgs, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    if args.path.is_none() {
        terminal.used(file.path(), args.config.as_deref())?;
    }
    Ok(())
}

fn make(file: &TokenFile, args: &arguments::NewTokenArgs, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    let (token, entry) = file.create(wanted(args)?).map_err(|error| unusable(error, file))?;
    if terminal.is_json() {
        let mut document = line(&entry);
        document["token"] = token.expose().into();
        terminal.document(&document)?;
        return Ok(());
    }
    // The token alone is on the output, so that it can be piped to where it is kept.
    terminal.out().line(token.expose())?;
    let err = terminal.err();
    let says = format!("for {}, id {}; it is shown this once", harmless(&entry.caller), entry.id);
    err.line(err.paint(SOFT, says))?;
    warn(&entry.scopes, err)
}

/// Makes a token that the configuration knows by its hash.
fn draw(args: &arguments::NewTokenArgs, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    let (token, hash) = wanted(args)?.draw().map_err(|error| usage(&error.to_string()))?;
    let ends = hash.expires.map(calendar);
    if terminal.is_json() {
        let mut document = json!({"caller": hash.caller, "scopes": hash.scopes, "sha256": hash.sha256});
        if let Some(ends) = ends {
            document["expires"] = ends.into();
        }
        document["token"] = token.expose().into();
        terminal.document(&document)?;
        return Ok(());
    }
    terminal.out().line(token.expose())?;
    let err = terminal.err();
    err.line(err.paint(SOFT, "it is shown this once; the configuration knows it by this table:"))?;
    // A text of JSON without control characters is one of TOML as well.
    let table =
        ["caller", "scopes", "sha256"].into_iter().zip([json!(hash.caller), json!(hash.scopes), json!(hash.sha256)]);
    err.line("[[access.hashes]]")?;
    for (name, value) in table.chain(ends.map(|ends| ("expires", json!(ends)))) {
        err.line(format_args!("{name} = {value}"))?;
    }
    warn(&hash.scopes, err)
}

/// Says what comes with the scope by which a person consents.
fn warn(scopes: &[String], err: &mut Stream<'_>) -> Result<(), CliError> {
    if scopes.iter().any(|scope| scope == CONSENT_GRANT) {
        err.line("whoever has this token consents as a person does: keep it to yourself, and give agents another one")?;
    }
    Ok(())
}

fn wanted(args: &arguments::NewTokenArgs) -> Result<NewToken, CliError> {
    let mut new = NewToken::new(&args.caller).scopes(&args.scopes);
    if let Some(lasts) = args.expires {
        if lasts.0.as_secs() == 0 {
            return Err(usage("the token would have ended when it is made: the shortest is `1s`"));
        }
        let now = SystemTime::now();
        let max = days_left(now);
        let end = now.checked_add(lasts.0).filter(|_| lasts.0.as_secs() / 86_400 <= max);
        let late = || {
            usage(&format!(
                "the token would end after the year 9999: the longest is `{max}d`, and without `--expires` it never ends"
            ))
        };
        new = new.expires(end.ok_or_else(late)?);
    }
    if let Some(note) = &args.note {
        new = new.note(note);
    }
    Ok(new)
}

fn list(file: &TokenFile, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    let tokens = file.list().map_err(|error| unusable(error, file))?;
    if terminal.is_json() {
        terminal.document(&tokens.iter().map(line).collect::<Vec<_>>())?;
        return Ok(());
    }
    let width = tokens.iter().map(|entry| entry.caller.chars().count()).max().unwrap_or_default();
    if tokens.is_empty() {
        terminal.nothing("there is no token")?;
    }
    let out = terminal.out();
    for entry in &tokens {
        let caller = out.paint(NAME, harmless(&entry.caller));
        let ends = match entry.expires {
            Some(end) if end <= SystemTime::now() => format!("ended {}", day(end)),
            Some(end) => format!("ends {}", day(end)),
            None => "never ends".to_owned(),
        };
        let scopes = if entry.scopes.is_empty() { "no scopes".to_owned() } else { entry.scopes.join(" ") };
        let note = entry.note.as_deref().map(|note| format!("  {}", harmless(note))).unwrap_or_default();
        out.line(format_args!("{}  {caller:width$}  {ends:16}  {}{note}", entry.id, harmless(&scopes)))?;
    }
    Ok(())
}

fn take_back(file: &TokenFile, id: &str, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
    let entry = file.revoke(id).map_err(|error| unusable(error, file))?;
    if terminal.is_json() {
        terminal.document(&line(&entry))?;
    } else {
        terminal.out().line(format_args!("revoked {} of {}", entry.id, harmless(&entry.caller)))?;
    }
    Ok(())
}

/// An entry for programs: everything but what it is known by.
fn line(entry: &TokenEntry) -> Value {
    let mut line = json!({
        "id": entry.id,
        "caller": entry.caller,
        "scopes": entry.scopes,
        "created": calendar(entry.created),
    });
    if let Some(end) = entry.expires {
        line["expires"] = calendar(end).into();
    }
    if let Some(note) = &entry.note {
        line["note"] = note.as_str().into();
    }
    line
}

fn usage(says: &str) -> CliError {
    CliError::Usage { says: says.to_owned(), tip: None, command: "redress token".to_owned() }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else is wrong with a file is told in its own words")]
fn unusable(error: AccessError, file: &TokenFile) -> CliError {
    let path = file.path().display().to_string();
    match error {
        AccessError::TokenMissing { id, .. } => {
            let known = file.list().unwrap_or_default();
            let similar = nearest(&id, known.iter().map(|entry| entry.id.as_str()));
            CliError::TokenUnknown { path, id, similar }
        }
        AccessError::Read { source: cause, .. } => CliError::FileUnreadable { path, cause },
        AccessError::Write { source: cause, .. } => CliError::FileUnwritable { path, cause },
        AccessError::CallerUnnamed | AccessError::Unprintable { .. } | AccessError::EndsTooLate => {
            usage(&error.to_string())
        }
        other => CliError::AccessUnusable { says: chain(&other) },
    }
}
