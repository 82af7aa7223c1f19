//! `call`: one operation, here or at a server.

use serde_json::json;

use crate::{
    arguments,
    call_target::{Ask, CallTarget},
    error::CliError,
    input,
    program::{CommandEnd, Setup, wait},
    stream_items::{NextItem, StreamItems},
    terminal::{
        outcome_view::{OutcomeView, Typing},
        output::Terminal,
    },
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::CallArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let input = input::read(args.input.as_deref())?;
    let server = args.server.url.as_deref();
    let flags = setup.flags(&args.server);
    let typing = Typing {
        program: setup.program.name(),
        flags: &flags,
        operation: &args.operation,
        input: &input,
        here: server.is_none(),
    };
    let ask = Ask {
        operation: &args.operation,
        input: &input,
        deadline: args.deadline.map(|span| span.0),
        key: args.idempotency_key.as_deref(),
    };
    wait(async {
        let service = match server {
            Some(url) => CallTarget::at(url, args.server.ca(), args.server.token.as_deref())?,
            None => CallTarget::Here(setup.local()?),
        };
        if let Some(reason) = &args.consent
            && let Some(refused) = consent(&service, &args.operation, reason).await?
        {
            return Ok(refused.show(terminal, typing)?);
        }
        let answer = service.call(&ask).await?;
        answer.note_deprecated(&args.operation, terminal)?;
        if !answer.wants_subscription() {
            return Ok(answer.show(terminal, typing)?);
        }
        match service.subscribe(&ask).await? {
            Ok(items) => follow(items, terminal, typing).await,
            Err(refused) => Ok(refused.show(terminal, typing)?),
        }
    })
}

/// Gives the consent to `operation` of the person who typed the flag, with the token at a server; what refuses it comes
/// back.
async fn consent(service: &CallTarget, operation: &str, reason: &str) -> Result<Option<OutcomeView>, CliError> {
    let mut input = json!({"operation": operation, "minutes": 1});
    if !reason.is_empty() {
        input["reason"] = reason.into();
    }
    let input = input.to_string();
    let ask = Ask { operation: "consent.grant", input: input.as_bytes(), deadline: None, key: None };
    let answer = service.call_as_person(&ask).await?;
    Ok((!answer.is_ok()).then_some(answer))
}

/// Shows the items of a stream as they come, a line each, and then how it ended.
async fn follow(
    mut items: StreamItems,
    terminal: &mut Terminal<'_>,
    typing: Typing<'_>,
) -> Result<CommandEnd, CliError> {
    while let Some(next) = items.next().await? {
        match next {
            NextItem::End(answer) => return Ok(answer.show(terminal, typing)?),
            NextItem::Item(item) => {
                // Programs tell the items from the end by their first member.
                let (before, after): (&[u8], &[u8]) =
                    if terminal.is_json() { (b"{\"item\":", b"}\n") } else { (b"", b"\n") };
                terminal.out().bytes(&[before, &item, after].concat())?;
            }
        }
    }
    let url = typing.flags.last().cloned().unwrap_or_default();
    Err(CliError::ServerUnreachable { url, says: "the stream broke off".to_owned() })
}
