//! The first screen of `serve`: who may call, what is kept, and where each face is.

use std::io;

use redress_contract::Caller;
use redress_core::Registry;
use redress_serve::{Address, Descriptors, ServerLimits};
use serde_json::{Value, json};

use crate::{
    config::{AccessTable, ServeSettings, WhereState},
    program::Program,
    terminal::{
        face_address::FACES,
        output::{GOOD, NAME, SOFT, TYPED, Terminal},
    },
};

/// What is known when the server starts.
pub(crate) struct Screen<'a> {
    pub(crate) program: &'a Program,
    pub(crate) settings: &'a ServeSettings,
    pub(crate) registry: &'a Registry,
    pub(crate) addresses: Vec<Address>,
    pub(crate) held: ConnectionsShown,
}

/// How many connections there may be: as many as were asked for, or as file descriptors are left for.
pub(crate) struct ConnectionsShown {
    pub(crate) wanted: ServerLimits,
    pub(crate) in_force: ServerLimits,
    pub(crate) descriptors: Option<Descriptors>,
}

impl ConnectionsShown {
    /// What holds, in words; nothing, where it is what was asked for.
    pub(crate) fn says(&self) -> Option<String> {
        let of = |limits: &ServerLimits| (limits.connections, limits.per_address);
        let descriptors = self.descriptors.filter(|_| of(&self.wanted) != of(&self.in_force))?;
        let (connections, per_address) = of(&self.in_force);
        let (limit, kept) = (descriptors.limit(), descriptors.kept_back());
        Some(format!(
            "{connections} at most, {per_address} from one address: {limit} files may be open, {kept} are kept for work"
        ))
    }

    fn document(&self) -> Value {
        json!({
            "at_most": self.in_force.connections,
            "per_address": self.in_force.per_address,
            "configured": {"at_most": self.wanted.connections, "per_address": self.wanted.per_address},
            "descriptors": self.descriptors.map(|descriptors| descriptors.limit()),
        })
    }
}

impl Screen<'_> {
    fn count(&self) -> usize {
        self.registry.open_to(Some(&Caller::local())).count()
    }

    /// Whether clients must speak TLS: they do on every address, and on no Unix socket.
    fn secure(&self) -> bool {
        self.settings.tls.is_some() && matches!(self.addresses.first(), Some(Address::Tcp(_)))
    }

    /// What follows the scheme. A Unix socket has no address, and clients name any host.
    fn authority(&self) -> String {
        match self.addresses.first() {
            Some(Address::Tcp(address)) => address.to_string(),
            Some(_) | None => "localhost".to_owned(),
        }
    }

    fn url(&self) -> String {
        format!("{}://{}", if self.secure() { "https" } else { "http" }, self.authority())
    }

    pub(crate) fn show(&self, terminal: &mut Terminal<'_>) -> io::Result<()> {
        let program = self.program;
        let out = terminal.out();
        out.line(format_args!("{} {}\n", out.paint(NAME, program.name()), program.version()))?;
        let mut row = |label: &str, text: String| out.line(format_args!("  {:14}{text}", out.paint(SOFT, label)));
        if program.is_built_in() {
            let mode =
                if self.settings.write { "read and write" } else { "read only; --write lets operations change it" };
            row("folder", format!("{} ({mode})", self.settings.root.display()))?;
        }
        row("caller", self.caller())?;
        row("state", self.state())?;
        if let Some(limits) = self.limits() {
            row("limits", limits)?;
        }
        if let Some(held) = self.held.says() {
            row("connections", held)?;
        }
        if let Some(seen) = self.seen() {
            row("telemetry", seen)?;
        }
        for address in &self.addresses {
            if let Address::Unix(_) = address {
                row("socket", address.to_string())?;
            } else if self.settings.tls.is_some() {
                row("TLS", format!("on {address}"))?;
            }
        }
        row("operations", format!("{}; `{} ops --server {}` lists them", self.count(), program.name(), self.url()))?;
        out.line("")?;
        for face in &FACES {
            let url = face.url(self.secure(), &self.authority());
            out.line(format_args!("  {:14}{}", out.paint(SOFT, face.name), out.paint(TYPED, url)))?;
        }
        out.line(format_args!("\n  {}", out.paint(GOOD, "Ctrl-C to stop")))
    }

    fn caller(&self) -> String {
        match (&self.settings.access, self.registry.identity()) {
            (Some(access), _) => format!("known by {}", known_by(access).join(", ")),
            (None, Some(_)) => "told by the token of each call".to_owned(),
            (None, None) => {
                "local, with all scopes but consent:grant: no access is configured, and only this machine can call"
                    .to_owned()
            }
        }
    }

    fn state(&self) -> String {
        match &self.settings.state {
            WhereState::Memory => "in memory; it ends with this process".to_owned(),
            WhereState::Folder(table) => {
                let folder = table.folder.clone().unwrap_or_default();
                let audited = if self.settings.audit.enabled.unwrap_or(crate::config::defaults::AUDITED) {
                    "calls are audited"
                } else {
                    "no audit"
                };
                format!("in {} ({audited})", folder.display())
            }
        }
    }

    fn limits(&self) -> Option<String> {
        let limits = &self.settings.limits;
        let said = [
            limits.rate.map(|rate| rate.0.to_string()),
            limits.quota.as_ref().map(ToString::to_string),
            limits.in_flight.map(|calls| format!("{calls} in flight")),
            limits.shed.unwrap_or(crate::config::defaults::SHED).then(|| "shed when slow".to_owned()),
            (!limits.rules.is_empty()).then(|| format!("{} rule(s)", limits.rules.len())),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| format!("per caller: {}", said.join(", ")))
    }

    fn seen(&self) -> Option<String> {
        let telemetry = &self.settings.telemetry;
        let said = [
            telemetry.collector().map(|origin| format!("OTLP to {origin}")),
            telemetry.access_log.as_ref().map(|log| format!("access log {log}")),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    pub(crate) fn document(&self) -> Value {
        let faces: serde_json::Map<String, Value> =
            FACES.iter().map(|face| (face.key.to_owned(), face.url(self.secure(), &self.authority()).into())).collect();
        let listens: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        json!({
            "ok": true,
            "program": self.program.about().name(),
            "version": self.program.about().version(),
            "url": self.url(),
            "listens": listens,
            "caller": if self.registry.identity().is_some() { "token" } else { "local" },
            "state": match &self.settings.state {
                WhereState::Memory => json!("memory"),
                WhereState::Folder(table) => json!({"folder": table.folder}),
            },
            "connections": self.held.document(),
            "operations": self.count(),
            "faces": faces,
        })
    }
}

fn known_by(access: &AccessTable) -> Vec<String> {
    let tokens = access.tokens.as_ref().map(|path| format!("tokens in {}", path.display()));
    let jwt = access.jwt.as_ref().map(|jwt| match &jwt.issuer {
        Some(issuer) => format!("JSON Web Tokens of {issuer}"),
        None => "JSON Web Tokens".to_owned(),
    });
    let certificates = access.certificates.as_ref().map(|_| "client certificates".to_owned());
    [tokens, jwt, certificates].into_iter().flatten().collect()
}
