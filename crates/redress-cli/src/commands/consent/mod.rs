//! `consent`: a person gives, sees and takes back consents, at a server with a token that has `consent:grant`, or in the
//! state folder that the person may write.
//!
//! Why so: docs/decisions/0068-what-gives-authority-is-named.md.

#[cfg(feature = "state")]
mod folder;

use serde_json::{Value, json};

use crate::{
    arguments::{self, ConsentCommand, ConsentPlace},
    call_target::{Ask, CallTarget},
    error::CliError,
    program::{CommandEnd, Setup, wait},
    terminal::{
        outcome_view::{OutcomeView, Typing},
        output::{NAME, SOFT, Terminal, harmless},
    },
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::ConsentArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let place = match &args.what {
        ConsentCommand::Grant(grant) => &grant.place,
        ConsentCommand::List(list) => &list.place,
        ConsentCommand::Revoke(revoke) => &revoke.place,
    };
    if place.server.url.is_some() {
        if place.config.is_some() || place.state.is_some() {
            return Err(usage("a server and a folder are both named", "Name one of the two, and leave the other out."));
        }
        return at_server(setup, &args.what, place, terminal);
    }
    in_folder(setup, &args.what, place, terminal)
}

/// Does it in the folder of a state.
#[cfg(feature = "state")]
fn in_folder(
    setup: &Setup,
    what: &ConsentCommand,
    place: &ConsentPlace,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let folder = folder::StateFolder::of(setup, place)?;
    match what {
        ConsentCommand::Grant(grant) => folder.grant(grant, terminal),
        ConsentCommand::List(list) => folder.list(list, terminal),
        ConsentCommand::Revoke(revoke) => folder.revoke(revoke, terminal),
    }
}

/// A build that keeps nothing in a folder knows of none.
#[cfg(not(feature = "state"))]
fn in_folder(_: &Setup, _: &ConsentCommand, _: &ConsentPlace, _: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    Err(CliError::ConsentUnreachable { says: crate::config::without("a state folder", "state") })
}

/// Has the server do it, as the caller that the token stands for.
fn at_server(
    setup: &Setup,
    what: &ConsentCommand,
    place: &ConsentPlace,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let (operation, mut input) = match what {
        ConsentCommand::Grant(grant) => {
            let mut input = json!({"operation": grant.operation, "minutes": grant.minutes});
            if let Some(reason) = &grant.reason {
                input["reason"] = reason.as_str().into();
            }
            ("consent.grant", input)
        }
        ConsentCommand::List(list) => {
            ("consent.list", if list.everyone { json!({"everyone": true}) } else { json!({}) })
        }
        ConsentCommand::Revoke(revoke) => ("consent.revoke", json!({"operation": revoke.operation})),
    };
    if let Some(caller) = &place.caller {
        input["caller"] = caller.as_str().into();
    }
    let input = input.to_string();
    let server = &place.server;
    let answer: OutcomeView = wait(async {
        let service = CallTarget::at(server.url.as_deref().unwrap_or_default(), server.ca(), server.token.as_deref())?;
        service.call(&Ask { operation, input: input.as_bytes(), deadline: None, key: None }).await
    })?;
    let Some(result) = answer.result() else {
        let flags = setup.flags(server);
        let program = setup.program.name();
        let typing = Typing { program, flags: &flags, operation, input: input.as_bytes(), here: false };
        return Ok(answer.show(terminal, typing)?);
    };
    let text = |member: &str| result.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    match what {
        ConsentCommand::Grant(_) => {
            let minutes = result.get("minutes").and_then(Value::as_u64).unwrap_or_default();
            granted(&text("caller"), &text("operation"), minutes, terminal)
        }
        ConsentCommand::List(_) => {
            let consents = result.get("consents").and_then(Value::as_array).cloned().unwrap_or_default();
            listed(&consents, terminal)
        }
        ConsentCommand::Revoke(_) => revoked(&text("caller"), &text("operation"), terminal),
    }
}

fn usage(says: &str, tip: &str) -> CliError {
    CliError::Usage { says: says.to_owned(), tip: Some(tip.to_owned()), command: "redress consent".to_owned() }
}

fn granted(caller: &str, scope: &str, minutes: u64, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    if terminal.is_json() {
        terminal.document(&json!({"caller": caller, "operation": scope, "minutes": minutes}))?;
    } else {
        let out = terminal.out();
        let (caller, scope) = (harmless(caller), out.paint(NAME, harmless(scope)));
        let minutes = if minutes == 1 { "minute".to_owned() } else { format!("{minutes} minutes") };
        out.line(format_args!("{caller} may call {scope} for the next {minutes}"))?;
    }
    Ok(CommandEnd::Well)
}

fn revoked(caller: &str, scope: &str, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    if terminal.is_json() {
        terminal.document(&json!({"caller": caller, "operation": scope}))?;
    } else {
        terminal.out().line(format_args!("revoked {} of {}", harmless(scope), harmless(caller)))?;
    }
    Ok(CommandEnd::Well)
}

fn listed(consents: &[Value], terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    if terminal.is_json() {
        terminal.document(&consents)?;
        return Ok(CommandEnd::Well);
    }
    let text =
        |consent: &Value, member: &str| harmless(consent.get(member).and_then(Value::as_str).unwrap_or_default());
    let width = |member: &str| consents.iter().map(|one| text(one, member).chars().count()).max().unwrap_or_default();
    let (callers, scopes) = (width("caller"), width("operation"));
    if consents.is_empty() {
        terminal.nothing("no consent holds")?;
    }
    let out = terminal.out();
    for consent in consents {
        let (caller, scope) = (out.paint(NAME, text(consent, "caller")), text(consent, "operation"));
        let reason = text(consent, "reason");
        let reason = if reason.is_empty() { reason } else { format!("  {reason}") };
        let until = out.paint(SOFT, format!("until {}", text(consent, "until")));
        out.line(format_args!("{caller:callers$}  {scope:scopes$}  {until}{reason}"))?;
    }
    Ok(CommandEnd::Well)
}
