//! Consents in the state folder that a person may write.

use std::{path::PathBuf, time::Duration};

use redress_core::{Consent, ConsentScope, HeldConsent, Registry, rfc3339};
use redress_state::{ConsentDesk, DeskError};
use serde_json::{Value, json};

use super::{granted, listed, revoked, usage};
use crate::{
    arguments::{self, ConsentPlace},
    config::{ServeSettings, WhereState},
    error::{CliError, chain},
    near::nearest,
    program::{CommandEnd, Setup, wait},
    terminal::output::{DOUBTFUL, Terminal, harmless, leads},
};

/// Whose calls a consent in a folder lets pass, where nobody says and nothing tells callers apart.
const LOCAL: &str = "local";

/// The folder of a state, and what its configuration tells.
pub(super) struct StateFolder<'a> {
    setup: &'a Setup,
    path: PathBuf,
    /// The configuration that was named.
    config: Option<PathBuf>,
    desk: ConsentDesk,
    /// The operations, where it is known which are served.
    registry: Option<Registry>,
    /// Whether callers are told apart.
    has_access: bool,
}

impl<'a> StateFolder<'a> {
    /// The folder that is named, or that a configuration names which is named itself. One that lies in the current folder
    /// is not taken up unasked: whoever may write files there could have it lead to the state of another service.
    pub(super) fn of(setup: &'a Setup, place: &ConsentPlace) -> Result<StateFolder<'a>, CliError> {
        let nowhere = |says: &str| Err(CliError::ConsentUnreachable { says: says.to_owned() });
        let Some(config) = place.config.clone() else {
            let Some(path) = place.state.clone() else {
                return nowhere("no server, state folder or configuration is named");
            };
            let registry = setup.own_registry()?;
            let has_access = registry.as_ref().is_some_and(|registry| registry.identity().is_some());
            return Ok(StateFolder { setup, desk: ConsentDesk::at(&path), path, config: None, registry, has_access });
        };
        let serve = arguments::ServeArgs { config: Some(config.clone()), ..Default::default() };
        let settings = setup.settings(&serve)?;
        let path = match (&place.state, &settings.state) {
            (Some(path), _) => path.clone(),
            (None, WhereState::Folder(table)) => table.folder.clone().unwrap_or_default(),
            (None, WhereState::Memory) => return nowhere("the configuration keeps the state in memory"),
        };
        let registry = Some(setup.registry(&settings)?);
        let identified = registry.as_ref().is_some_and(|registry| registry.identity().is_some());
        let has_access = settings.access.is_some() || identified;
        Ok(StateFolder { setup, desk: ConsentDesk::at(&path), path, config: Some(config), registry, has_access })
    }

    /// Tells which state was changed.
    fn used(&self, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
        Ok(terminal.used(&self.path, self.config.as_deref())?)
    }

    /// What was done, and in which state, for programs.
    fn done(&self, mut document: Value) -> Value {
        document["state"] = leads(&self.path).display().to_string().into();
        document
    }

    pub(super) fn grant(
        &self,
        args: &arguments::GrantConsentArgs,
        terminal: &mut Terminal<'_>,
    ) -> Result<CommandEnd, CliError> {
        let caller = self.caller(&args.place)?;
        let scope = self.asking(&args.operation)?;
        self.doubt(&scope, terminal)?;
        let consent = Consent {
            caller: caller.to_owned(),
            scope: scope.clone(),
            lasts: Duration::from_secs(args.minutes * 60),
            reason: args.reason.clone().unwrap_or_default(),
        };
        wait(async { self.desk.grant(consent).await.map_err(|error| self.unusable(&error)) })?;
        if terminal.is_json() {
            let told = json!({"caller": caller, "operation": scope.to_string(), "minutes": args.minutes});
            terminal.document(&self.done(told))?;
            return Ok(CommandEnd::Well);
        }
        granted(caller, &scope.to_string(), args.minutes, terminal)?;
        self.used(terminal)?;
        Ok(CommandEnd::Well)
    }

    pub(super) fn list(
        &self,
        args: &arguments::ListConsentsArgs,
        terminal: &mut Terminal<'_>,
    ) -> Result<CommandEnd, CliError> {
        let consents: Vec<Value> = self.held(args.place.caller.as_deref())?.iter().map(line).collect();
        listed(&consents, terminal)
    }

    pub(super) fn revoke(
        &self,
        args: &arguments::RevokeConsentArgs,
        terminal: &mut Terminal<'_>,
    ) -> Result<CommandEnd, CliError> {
        let caller = self.caller(&args.place)?;
        let unknown = || {
            let held = self.held(Some(caller)).unwrap_or_default();
            let scopes: Vec<String> = held.iter().map(|held| held.scope.to_string()).collect();
            let similar = nearest(&args.operation, scopes.iter().map(String::as_str));
            let place = match &self.config {
                Some(config) => ["--config".to_owned(), config.display().to_string()],
                None => ["--state".to_owned(), self.path.display().to_string()],
            };
            CliError::ConsentUnknown { caller: caller.to_owned(), scope: args.operation.clone(), similar, place }
        };
        let scope: ConsentScope = args.operation.parse().map_err(|_| unknown())?;
        let taken = wait(async { self.desk.withdraw(caller, &scope).await.map_err(|error| self.unusable(&error)) })?;
        if !taken {
            return Err(unknown());
        }
        if terminal.is_json() {
            terminal.document(&self.done(json!({"caller": caller, "operation": scope.to_string()})))?;
            return Ok(CommandEnd::Well);
        }
        revoked(caller, &scope.to_string(), terminal)?;
        self.used(terminal)?;
        Ok(CommandEnd::Well)
    }

    fn held(&self, caller: Option<&str>) -> Result<Vec<HeldConsent>, CliError> {
        wait(async { self.desk.list(caller).await.map_err(|error| self.unusable(&error)) })
    }

    /// Whose calls are meant.
    fn caller<'p>(&self, place: &'p ConsentPlace) -> Result<&'p str, CliError> {
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
    fn asking(&self, wanted: &str) -> Result<ConsentScope, CliError> {
        let asks = || {
            let all = self.registry.iter().flat_map(|registry| registry.contract().operations());
            all.filter(|operation| operation.is_external() && operation.access().needs_consent())
        };
        let unknown = || CliError::ConsentNotAsked {
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

    /// Says so where nothing is known that asks for this consent. Which operations the service of a bare folder has, only
    /// that service knows; most have those that come with the command.
    fn doubt(&self, scope: &ConsentScope, terminal: &mut Terminal<'_>) -> Result<(), CliError> {
        if self.registry.is_some() {
            return Ok(());
        }
        let folder = arguments::FolderArgs { write: Some(true), ..self.setup.folder.clone() };
        let Ok(built_in) = ServeSettings::local(&folder).and_then(|settings| self.setup.registry(&settings)) else {
            return Ok(());
        };
        let asks = || built_in.contract().operations().iter().filter(|one| one.access().needs_consent());
        if asks().any(|operation| scope.covers(operation.name())) {
            return Ok(());
        }
        let near = nearest(&scope.to_string(), asks().map(|operation| operation.name().as_str()));
        let near = if near.is_empty() { String::new() } else { format!(" (near: {})", near.join(", ")) };
        let says = format!(
            "no operation of {} itself that is called {scope} asks for consent{near}: it lets nothing pass, unless the \
             service of this folder has such a one",
            self.setup.program.name()
        );
        let err = terminal.err();
        Ok(err.line(err.paint(DOUBTFUL, harmless(&says)))?)
    }

    fn unusable(&self, error: &DeskError) -> CliError {
        if let DeskError::Missing(_) = error {
            return CliError::ConsentUnreachable { says: format!("{error}, so that no service would see the consent") };
        }
        CliError::StateUnusable { path: self.path.display().to_string(), says: chain(error) }
    }
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
