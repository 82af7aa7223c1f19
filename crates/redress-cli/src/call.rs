//! `call`: one operation, here or at a server.

use serde_json::json;

use crate::{
    arguments, input,
    outcome::{Answer, Typing},
    program::{Ended, Setup, wait},
    service::{Ask, Service},
    stream::{Items, Next},
    terminal::Terminal,
    trouble::Trouble,
};

pub(crate) fn run(setup: &Setup, typed: &arguments::Call, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let input = input::read(typed.input.as_deref())?;
    let server = typed.server.url.as_deref();
    let flags = setup.flags(&typed.server);
    let typing = Typing {
        program: setup.program.name(),
        flags: &flags,
        operation: &typed.operation,
        input: &input,
        here: server.is_none(),
    };
    let ask = Ask {
        operation: &typed.operation,
        input: &input,
        deadline: typed.deadline.map(|span| span.0),
        key: typed.idempotency_key.as_deref(),
    };
    wait(async {
        let service = match server {
            Some(url) => Service::at(url, typed.server.ca(), typed.server.token.as_deref())?,
            None => Service::Here(setup.local()?),
        };
        if let Some(reason) = &typed.consent
            && let Some(refused) = consent(&service, &typed.operation, reason).await?
        {
            return Ok(refused.show(terminal, typing)?);
        }
        let answer = service.call(&ask).await?;
        answer.note_deprecated(&typed.operation, terminal)?;
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
async fn consent(service: &Service, operation: &str, reason: &str) -> Result<Option<Answer>, Trouble> {
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
async fn follow(mut items: Items, terminal: &mut Terminal<'_>, typing: Typing<'_>) -> Result<Ended, Trouble> {
    while let Some(next) = items.next().await? {
        match next {
            Next::End(answer) => return Ok(answer.show(terminal, typing)?),
            Next::Item(item) => {
                // Programs tell the items from the end by their first member.
                let (before, after): (&[u8], &[u8]) =
                    if terminal.is_json() { (b"{\"item\":", b"}\n") } else { (b"", b"\n") };
                terminal.out().bytes(&[before, &item, after].concat())?;
            }
        }
    }
    let url = typing.flags.last().cloned().unwrap_or_default();
    Err(Trouble::ServerUnreachable { url, says: "the stream broke off".to_owned() })
}
