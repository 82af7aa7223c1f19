//! `consent`: a person gives, sees and takes back consents, at a server with a token that has `consent:grant`, or in the
//! state folder that the person may write.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use redress_core::{Consent, ConsentScope, HeldConsent, Registry, rfc3339};
use redress_state::{ConsentDesk, DeskError};
use serde_json::{Value, json};

use crate::{
    arguments::{self, ConsentCommand, ConsentPlace},
    config::{HERE, WhereState},
    near::nearest,
    outcome::{Answer, Typing},
    program::{Ended, Setup, wait},
    service::{Ask, Service},
    terminal::{NAME, SOFT, Terminal, harmless},
    trouble::{Trouble, chain},
};

/// Whose calls a consent in a folder lets pass, where nobody says and nothing tells callers apart.
const LOCAL: &str = "local";

pub(crate) fn run(setup: &Setup, typed: &arguments::Consent, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let place = match &typed.what {
        ConsentCommand::Grant(grant) => &grant.place,
        ConsentCommand::List(list) => &list.place,
        ConsentCommand::Revoke(revoke) => &revoke.place,
    };
    if place.server.url.is_some() {
        if place.config.is_some() || place.state.is_some() {
            return Err(usage("a server and a folder are both named", "Name one of the two, and leave the other out."));
        }
        return at_server(setup, &typed.what, place, terminal);
    }
    let folder = StateFolder::of(setup, place)?;
    match &typed.what {
        ConsentCommand::Grant(grant) => folder.grant(grant, terminal),
        ConsentCommand::List(list) => folder.list(list, terminal),
        ConsentCommand::Revoke(revoke) => folder.revoke(revoke, terminal),
    }
}

/// Has the server do it, as the caller that the token stands for.
fn at_server(
    setup: &Setup,
    what: &ConsentCommand,
    place: &ConsentPlace,
    terminal: &mut Terminal<'_>,
) -> Result<Ended, Trouble> {
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
    let answer: Answer = wait(async {
        let service = Service::at(server.url.as_deref().unwrap_or_default(), server.ca(), server.token.as_deref())?;
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

/// The folder of a state, and what its configuration tells.
struct StateFolder {
    path: PathBuf,
    desk: ConsentDesk,
    /// The operations, where it is known which are served.
    registry: Option<Registry>,
    /// Whether callers are told apart.
    has_access: bool,
}

impl StateFolder {
    /// The folder that is named, or the one that the configuration names.
    fn of(setup: &Setup, place: &ConsentPlace) -> Result<StateFolder, Trouble> {
        let here = Path::new(HERE).exists().then(|| PathBuf::from(HERE));
        let config = place.config.clone().or(here.filter(|_| place.state.is_none()));
        let serve = arguments::Serve { config, ..Default::default() };
        if let (None, Some(path)) = (&serve.config, &place.state) {
            let registry = setup.own_registry()?;
            let has_access = registry.as_ref().is_some_and(|registry| registry.identity().is_some());
            return Ok(StateFolder { path: path.clone(), desk: ConsentDesk::at(path), registry, has_access });
        }
        let nowhere = |says: &str| Err(Trouble::ConsentUnreachable { says: says.to_owned() });
        if serve.config.is_none() {
            return nowhere("neither a server nor a state folder is named, and there is no redress.toml here");
        }
        let settings = setup.settings(&serve)?;
        let path = match (&place.state, &settings.state) {
            (Some(path), _) => path.clone(),
            (None, WhereState::Folder(table)) => table.folder.clone().unwrap_or_default(),
            (None, WhereState::Memory) => return nowhere("the configuration keeps the state in memory"),
        };
        let registry = setup.registry(&settings)?;
        let has_access = settings.access.is_some() || registry.identity().is_some();
        Ok(StateFolder { desk: ConsentDesk::at(&path), path, registry: Some(registry), has_access })
    }

    fn grant(&self, typed: &arguments::GrantConsent, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        let caller = self.caller(&typed.place)?;
        let scope = self.asking(&typed.operation)?;
        let consent = Consent {
            caller: caller.to_owned(),
            scope: scope.clone(),
            lasts: Duration::from_secs(typed.minutes * 60),
            reason: typed.reason.clone().unwrap_or_default(),
        };
        wait(async { self.desk.grant(consent).await.map_err(|error| self.unusable(&error)) })?;
        granted(caller, &scope.to_string(), typed.minutes, terminal)
    }

    fn list(&self, typed: &arguments::ListConsents, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        let consents: Vec<Value> = self.held(typed.place.caller.as_deref())?.iter().map(line).collect();
        listed(&consents, terminal)
    }

    fn revoke(&self, typed: &arguments::RevokeConsent, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
        let caller = self.caller(&typed.place)?;
        let unknown = || {
            let held = self.held(Some(caller)).unwrap_or_default();
            let scopes: Vec<String> = held.iter().map(|held| held.scope.to_string()).collect();
            let similar = nearest(&typed.operation, scopes.iter().map(String::as_str));
            Trouble::ConsentUnknown { caller: caller.to_owned(), scope: typed.operation.clone(), similar }
        };
        let scope: ConsentScope = typed.operation.parse().map_err(|_| unknown())?;
        let taken = wait(async { self.desk.withdraw(caller, &scope).await.map_err(|error| self.unusable(&error)) })?;
        if taken { revoked(caller, &scope.to_string(), terminal) } else { Err(unknown()) }
    }

    fn held(&self, caller: Option<&str>) -> Result<Vec<HeldConsent>, Trouble> {
        wait(async { self.desk.list(caller).await.map_err(|error| self.unusable(&error)) })
    }

    /// Whose calls are meant.
    fn caller<'a>(&self, place: &'a ConsentPlace) -> Result<&'a str, Trouble> {
        match &place.caller {
            Some(caller) => Ok(caller),
            None if self.has_access => Err(usage(
                "callers are told apart here, and none is named",
                "Name the one whose calls are meant with `--caller`.",
            )),
            None => Ok(LOCAL),
        }
    }

    /// What is agreed to: something that asks for consent, where it is known what does.
    fn asking(&self, wanted: &str) -> Result<ConsentScope, Trouble> {
        let asks = || {
            let all = self.registry.iter().flat_map(|registry| registry.contract().operations());
            all.filter(|operation| operation.is_external() && operation.access().needs_consent())
        };
        let unknown = || Trouble::ConsentNotAsked {
            operation: wanted.to_owned(),
            similar: nearest(wanted, asks().map(|operation| operation.name().as_str())),
        };
        let scope: ConsentScope = wanted.parse().map_err(|_| unknown())?;
        let Some(registry) = &self.registry else { return Ok(scope) };
        let scope = match scope {
            // A consent is looked for under the name, whatever alias was typed.
            ConsentScope::Operation(name) => match registry.operation(name.as_str()) {
                Some(operation) => ConsentScope::Operation(operation.name().clone()),
                None => return Err(unknown()),
            },
            ConsentScope::Namespace(namespace) => ConsentScope::Namespace(namespace),
        };
        if asks().any(|operation| scope.covers(operation.name())) { Ok(scope) } else { Err(unknown()) }
    }

    fn unusable(&self, error: &DeskError) -> Trouble {
        if let DeskError::Missing(_) = error {
            return Trouble::ConsentUnreachable { says: format!("{error}, so that no service would see the consent") };
        }
        Trouble::StateUnusable { path: self.path.display().to_string(), says: chain(error) }
    }
}

fn usage(says: &str, tip: &str) -> Trouble {
    Trouble::Usage { says: says.to_owned(), tip: Some(tip.to_owned()), command: "redress consent".to_owned() }
}

fn granted(caller: &str, scope: &str, minutes: u64, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    if terminal.is_json() {
        terminal.document(&json!({"caller": caller, "operation": scope, "minutes": minutes}))?;
    } else {
        let out = terminal.out();
        let (caller, scope) = (harmless(caller), out.paint(NAME, harmless(scope)));
        let minutes = if minutes == 1 { "minute".to_owned() } else { format!("{minutes} minutes") };
        out.line(format_args!("{caller} may call {scope} for the next {minutes}"))?;
    }
    Ok(Ended::Well)
}

fn revoked(caller: &str, scope: &str, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    if terminal.is_json() {
        terminal.document(&json!({"caller": caller, "operation": scope}))?;
    } else {
        terminal.out().line(format_args!("revoked {} of {}", harmless(scope), harmless(caller)))?;
    }
    Ok(Ended::Well)
}

/// A consent as `consent.list` tells it.
fn line(held: &HeldConsent) -> Value {
    json!({
        "caller": held.caller,
        "operation": held.scope.to_string(),
        "reason": held.reason,
        "until": rfc3339(held.until),
    })
}

fn listed(consents: &[Value], terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    if terminal.is_json() {
        terminal.document(&consents)?;
        return Ok(Ended::Well);
    }
    let text =
        |consent: &Value, member: &str| harmless(consent.get(member).and_then(Value::as_str).unwrap_or_default());
    let width = |member: &str| consents.iter().map(|one| text(one, member).chars().count()).max().unwrap_or_default();
    let (callers, scopes) = (width("caller"), width("operation"));
    let out = terminal.out();
    for consent in consents {
        let (caller, scope) = (out.paint(NAME, text(consent, "caller")), text(consent, "operation"));
        let reason = text(consent, "reason");
        let reason = if reason.is_empty() { reason } else { format!("  {reason}") };
        let until = out.paint(SOFT, format!("until {}", text(consent, "until")));
        out.line(format_args!("{caller:callers$}  {scope:scopes$}  {until}{reason}"))?;
    }
    Ok(Ended::Well)
}
