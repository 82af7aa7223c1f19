//! Why the command itself could not go on, told by our own rules: a code, a message, a hint
//! and a next step, for people and for programs.

use std::io;

use redress_core::BuildError;
use serde_json::{Value, json};

use crate::{
    error_code::CliErrorCode,
    terminal::{
        output::{BAD, SOFT, TYPED, Terminal, harmless},
        shell,
    },
};

/// Why the command itself could not go on.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(all(feature = "state", feature = "tls")),
    expect(dead_code, reason = "what a build lacks cannot be in trouble")
)]
pub(crate) enum CliError {
    #[error("{says}")]
    Usage { says: String, tip: Option<String>, command: String },
    #[error("{path}, line {line}: `{key}` is not a setting")]
    ConfigUnknownKey { path: String, line: usize, key: String, similar: Vec<String> },
    #[error("{path}{}: {says}", at(line))]
    ConfigInvalid { path: String, line: Option<usize>, says: String },
    #[error("{path} changes {}, which needs a restart", quoted(keys))]
    ConfigNeedsRestart { path: String, keys: Vec<&'static str> },
    #[error("{says}")]
    AccessUnusable { says: String },
    #[error("the state in {path} cannot be used: {says}")]
    StateUnusable { path: String, says: String },
    #[error("{says}")]
    TlsUnusable { says: String },
    #[error("{says}")]
    TelemetryUnusable { says: String },
    #[error("there is no token `{id}` in {path}")]
    TokenUnknown { path: String, id: String, similar: Vec<String> },
    #[error("{says}")]
    AuditUnreadable { says: String },
    #[error("{says}")]
    QuotaUnreadable { says: String },
    #[error("{says}")]
    ConsentUnreachable { says: String },
    #[error("nothing called `{operation}` asks for consent")]
    ConsentNotAsked { operation: String, similar: Vec<String> },
    #[error("there is no consent to `{scope}` for `{caller}`")]
    ConsentUnknown { caller: String, scope: String, similar: Vec<String>, place: [String; 2] },
    #[error("something already listens on {address}")]
    PortInUse { address: String },
    #[error("nothing can listen on {address}: {}", reason(cause))]
    AddressUnusable { address: String, cause: io::Error },
    #[error("{address} can be reached from other machines, and nothing says who may call")]
    NotLoopbackWithoutAccess { address: String },
    #[error("{url} did not answer: {says}")]
    ServerUnreachable { url: String, says: String },
    #[error("the certificate of {url} is not trusted: {says}")]
    ServerUntrusted { url: String, says: String },
    #[error("{url} answered {status}, and not as redress does")]
    ServerAnswerUnreadable { url: String, status: u16 },
    #[error("the input is not JSON: {0}")]
    InputNotJson(serde_json::Error),
    #[error("{path} cannot be read: {}", reason(cause))]
    FileUnreadable { path: String, cause: io::Error },
    #[error("{path} cannot be written: {}", reason(cause))]
    FileUnwritable { path: String, cause: io::Error },
    #[error("the folder {path} cannot be opened: {says}")]
    RootUnusable { path: String, says: String },
    #[error("{}the folder {root} holds {held}, which callers must not {must_not}", before(place))]
    RootNotApart { place: Option<String>, root: String, held: String, must_not: &'static str },
    #[error("there is no code or rule `{wanted}`")]
    PageUnknown { wanted: String, similar: Vec<String> },
    #[error("the registry has {} problem(s)", .0.findings().len())]
    RegistryInvalid(BuildError),
    #[error("the program could not set itself up: {says}")]
    SetupFailed { says: String, hint: Option<String> },
    #[error("{path} is no document that can be imported: {says}")]
    DocumentUnreadable { path: String, says: String },
    #[error("the upstream `{name}` cannot be used: {says}")]
    UpstreamUnusable { name: String, says: String },
    #[error("the listener failed: {}", reason(.0))]
    ListenerFailed(io::Error),
    #[error("the system gave no threads: {}", reason(.0))]
    RuntimeUnavailable(io::Error),
    #[error("the output cannot be written: {}", reason(.0))]
    OutputUnwritable(#[from] io::Error),
}

fn at(line: &Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

fn before(place: &Option<String>) -> String {
    place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default()
}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// What an error says with all that caused it, without the numbers of the system.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut says = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !says.contains(&text) {
            says = format!("{says}: {text}");
        }
        source = cause.source();
    }
    says.split(" (os error").next().unwrap_or(&says).to_owned()
}

/// The system's own words, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl CliError {
    /// The same trouble, of which the help of this command says more.
    pub(crate) fn of_command(mut self, name: &str) -> CliError {
        if let CliError::Usage { command, .. } = &mut self {
            name.clone_into(command);
        }
        self
    }

    pub(crate) fn code(&self) -> CliErrorCode {
        match self {
            CliError::Usage { .. } => CliErrorCode::Usage,
            CliError::ConfigUnknownKey { .. } => CliErrorCode::ConfigUnknownKey,
            CliError::ConfigInvalid { .. } => CliErrorCode::ConfigInvalid,
            CliError::ConfigNeedsRestart { .. } => CliErrorCode::ConfigNeedsRestart,
            CliError::AccessUnusable { .. } => CliErrorCode::AccessUnusable,
            CliError::StateUnusable { .. } => CliErrorCode::StateUnusable,
            CliError::TlsUnusable { .. } => CliErrorCode::TlsUnusable,
            CliError::TelemetryUnusable { .. } => CliErrorCode::TelemetryUnusable,
            CliError::TokenUnknown { .. } => CliErrorCode::TokenUnknown,
            CliError::AuditUnreadable { .. } => CliErrorCode::AuditUnreadable,
            CliError::QuotaUnreadable { .. } => CliErrorCode::QuotaUnreadable,
            CliError::ConsentUnreachable { .. } => CliErrorCode::ConsentUnreachable,
            CliError::ConsentNotAsked { .. } => CliErrorCode::ConsentNotAsked,
            CliError::ConsentUnknown { .. } => CliErrorCode::ConsentUnknown,
            CliError::PortInUse { .. } => CliErrorCode::PortInUse,
            CliError::AddressUnusable { .. } => CliErrorCode::AddressUnusable,
            CliError::NotLoopbackWithoutAccess { .. } => CliErrorCode::NotLoopbackWithoutAccess,
            CliError::ServerUnreachable { .. } => CliErrorCode::ServerUnreachable,
            CliError::ServerUntrusted { .. } => CliErrorCode::ServerUntrusted,
            CliError::ServerAnswerUnreadable { .. } => CliErrorCode::ServerAnswerUnreadable,
            CliError::InputNotJson(_) => CliErrorCode::InputNotJson,
            CliError::FileUnreadable { .. } => CliErrorCode::FileUnreadable,
            CliError::FileUnwritable { .. } => CliErrorCode::FileUnwritable,
            CliError::RootUnusable { .. } => CliErrorCode::RootUnusable,
            CliError::RootNotApart { .. } => CliErrorCode::RootNotApart,
            CliError::PageUnknown { .. } => CliErrorCode::PageUnknown,
            CliError::RegistryInvalid(_) => CliErrorCode::RegistryInvalid,
            CliError::SetupFailed { .. } => CliErrorCode::SetupFailed,
            CliError::DocumentUnreadable { .. } => CliErrorCode::DocumentUnreadable,
            CliError::UpstreamUnusable { .. } => CliErrorCode::UpstreamUnusable,
            CliError::ListenerFailed(_) => CliErrorCode::ListenerFailed,
            CliError::RuntimeUnavailable(_) => CliErrorCode::RuntimeUnavailable,
            CliError::OutputUnwritable(_) => CliErrorCode::OutputUnwritable,
        }
    }

    /// What to do, in a sentence.
    pub(crate) fn hint(&self) -> String {
        match self {
            CliError::Usage { tip: Some(tip), .. } => tip.clone(),
            CliError::Usage { tip: None, .. } => "Look at the help of the command and type it again.".to_owned(),
            CliError::ConfigUnknownKey { similar, .. } => match similar.first() {
                Some(near) => format!("Write `{near}`, which is near, or take the line out."),
                None => "Take the line out, or look up what the file may hold.".to_owned(),
            },
            CliError::ConfigInvalid { .. } => "Correct the value; docs/redress.toml.md says what each takes.".to_owned(),
            CliError::ConfigNeedsRestart { .. } => "Put the value back, or restart the server.".to_owned(),
            CliError::AccessUnusable { .. } => "Correct what is named, and look again with the doctor.".to_owned(),
            CliError::StateUnusable { .. } => "Give a folder of its own that this process may write.".to_owned(),
            CliError::TlsUnusable { .. } => {
                "Give a certificate and the key that belongs to it, both in PEM form.".to_owned()
            }
            CliError::TelemetryUnusable { .. } => "Correct the path or the URL in `[telemetry]`.".to_owned(),
            CliError::TokenUnknown { .. } => "List the tokens, and give the id as it is shown.".to_owned(),
            CliError::AuditUnreadable { .. } | CliError::QuotaUnreadable { .. } => {
                "Name the configuration of the server, or its folder.".to_owned()
            }
            CliError::ConsentUnreachable { .. } => {
                "Name the server with `--server`, and a token that has `consent:grant`, or what it runs on, with `--state \
                 DIR` or `--config FILE`."
                    .to_owned()
            }
            CliError::ConsentNotAsked { .. } => "Name the operation that answered CONSENT_REQUIRED.".to_owned(),
            CliError::ConsentUnknown { .. } => "List the consents, and name one as it is written there.".to_owned(),
            CliError::PortInUse { .. } => {
                "Stop the other server, or listen on another port; 0 takes a free one.".to_owned()
            }
            CliError::AddressUnusable { .. } => "Give an address of this machine and a port that is allowed.".to_owned(),
            CliError::NotLoopbackWithoutAccess { .. } => {
                "Listen on loopback, or say in `[access]` of the configuration who may call.".to_owned()
            }
            CliError::ServerUnreachable { .. } => "Start the server, or correct the URL of its root.".to_owned(),
            CliError::ServerUntrusted { .. } => {
                "Give the file of its authority with `--ca`, or use the name that the certificate is for.".to_owned()
            }
            CliError::ServerAnswerUnreadable { .. } => {
                "Give the URL that the first screen of the server shows.".to_owned()
            }
            CliError::InputNotJson(_) => "Put the JSON in single quotes, so that the shell leaves it whole.".to_owned(),
            CliError::FileUnreadable { .. } => {
                "Check the path; a relative one starts from the current folder.".to_owned()
            }
            CliError::FileUnwritable { .. } => "Give a folder in which this process may write.".to_owned(),
            CliError::RootUnusable { .. } => "Give a folder that exists and may be read.".to_owned(),
            CliError::RootNotApart { held, .. } => {
                format!("Serve a folder beside it, with `serve.root` or `--root`, or move {held} out of the folder.")
            }
            CliError::PageUnknown { .. } => "Give the code or rule exactly as it was shown.".to_owned(),
            CliError::RegistryInvalid(_) => "Follow each finding and build the program again.".to_owned(),
            CliError::SetupFailed { hint, .. } => {
                hint.clone().unwrap_or_else(|| "Look at what the program opens first, such as its database.".to_owned())
            }
            CliError::DocumentUnreadable { .. } => "Give an OpenAPI document, 2.0 to 3.2, as JSON or YAML.".to_owned(),
            CliError::UpstreamUnusable { .. } => {
                "Correct its `[[upstream]]` table or flags; `redress import` shows what the document has.".to_owned()
            }
            CliError::ListenerFailed(_) => "Look at the limits of the process, then start it again.".to_owned(),
            CliError::RuntimeUnavailable(_) => "Look at the limits of the process and try again.".to_owned(),
            CliError::OutputUnwritable(_) => "Make room or write elsewhere, then run it again.".to_owned(),
        }
    }

    /// What to type next, for the program of this name.
    fn next(&self, program: &str) -> Vec<String> {
        let line = |words: &[&str]| vec![shell::line([program].into_iter().chain(words.iter().copied()))];
        match self {
            CliError::Usage { command, .. } => vec![format!("{command} --help")],
            CliError::PortInUse { address } => {
                let host = address.rsplit_once(':').map_or("127.0.0.1", |(host, _)| host);
                line(&["serve", "--listen", &format!("{host}:0")])
            }
            CliError::AddressUnusable { .. } | CliError::NotLoopbackWithoutAccess { .. } => {
                line(&["serve", "--listen", crate::config::DEFAULT_LISTEN])
            }
            CliError::ServerUnreachable { .. } => line(&["serve"]),
            CliError::RootUnusable { path, .. } => line(&["doctor", "--root", path]),
            CliError::PageUnknown { similar, .. } => {
                similar.iter().take(1).flat_map(|near| line(&["explain", near])).collect()
            }
            CliError::RegistryInvalid(error) => {
                let mut rules: Vec<&str> = error.findings().iter().map(|finding| finding.rule()).collect();
                rules.dedup();
                rules.into_iter().flat_map(|rule| line(&["explain", rule])).collect()
            }
            CliError::TokenUnknown { path, .. } => line(&["token", "list", "--file", path]),
            CliError::ConsentUnknown { place, .. } => {
                let words = ["consent", "list"].into_iter().chain(place.iter().map(String::as_str));
                line(&words.collect::<Vec<_>>())
            }
            CliError::ConfigUnknownKey { .. }
            | CliError::ConfigInvalid { .. }
            | CliError::ConfigNeedsRestart { .. }
            | CliError::AccessUnusable { .. }
            | CliError::StateUnusable { .. }
            | CliError::TlsUnusable { .. }
            | CliError::TelemetryUnusable { .. }
            | CliError::AuditUnreadable { .. }
            | CliError::QuotaUnreadable { .. }
            | CliError::ConsentUnreachable { .. }
            | CliError::ConsentNotAsked { .. }
            | CliError::RootNotApart { .. }
            | CliError::ServerUntrusted { .. }
            | CliError::ServerAnswerUnreadable { .. }
            | CliError::InputNotJson(_)
            | CliError::FileUnreadable { .. }
            | CliError::FileUnwritable { .. }
            | CliError::SetupFailed { .. }
            | CliError::DocumentUnreadable { .. }
            | CliError::UpstreamUnusable { .. }
            | CliError::ListenerFailed(_)
            | CliError::RuntimeUnavailable(_)
            | CliError::OutputUnwritable(_) => line(&["explain", self.code().as_str()]),
        }
    }

    fn similar(&self) -> &[String] {
        match self {
            CliError::ConfigUnknownKey { similar, .. }
            | CliError::PageUnknown { similar, .. }
            | CliError::ConsentNotAsked { similar, .. }
            | CliError::ConsentUnknown { similar, .. }
            | CliError::TokenUnknown { similar, .. } => similar,
            CliError::Usage { .. }
            | CliError::ConfigInvalid { .. }
            | CliError::ConfigNeedsRestart { .. }
            | CliError::AccessUnusable { .. }
            | CliError::StateUnusable { .. }
            | CliError::TlsUnusable { .. }
            | CliError::TelemetryUnusable { .. }
            | CliError::AuditUnreadable { .. }
            | CliError::QuotaUnreadable { .. }
            | CliError::ConsentUnreachable { .. }
            | CliError::PortInUse { .. }
            | CliError::AddressUnusable { .. }
            | CliError::NotLoopbackWithoutAccess { .. }
            | CliError::ServerUnreachable { .. }
            | CliError::ServerUntrusted { .. }
            | CliError::ServerAnswerUnreadable { .. }
            | CliError::InputNotJson(_)
            | CliError::FileUnreadable { .. }
            | CliError::FileUnwritable { .. }
            | CliError::RootUnusable { .. }
            | CliError::RootNotApart { .. }
            | CliError::RegistryInvalid(_)
            | CliError::SetupFailed { .. }
            | CliError::DocumentUnreadable { .. }
            | CliError::UpstreamUnusable { .. }
            | CliError::ListenerFailed(_)
            | CliError::RuntimeUnavailable(_)
            | CliError::OutputUnwritable(_) => &[],
        }
    }

    /// What the rules say, where declarations are at fault.
    fn findings(&self) -> &[redress_contract::Finding] {
        if let CliError::RegistryInvalid(error) = self { error.findings() } else { &[] }
    }

    /// Tells it: to programs on the output, where they read; to people on the error stream.
    pub(crate) fn tell(&self, terminal: &mut Terminal<'_>, program: &str) -> io::Result<()> {
        if terminal.is_json() {
            return terminal.document(&self.document(program));
        }
        let err = terminal.err();
        err.line(format_args!("{}  {}", err.paint(BAD, self.code()), harmless(&self.to_string())))?;
        for finding in self.findings() {
            err.line(format_args!("  {finding}"))?;
        }
        err.line(format_args!("  {:9} {}", err.paint(SOFT, "hint:"), harmless(&self.hint())))?;
        for line in self.next(program) {
            err.line(format_args!("  {:9} {}", err.paint(SOFT, "next:"), err.paint(TYPED, line)))?;
        }
        if !self.similar().is_empty() {
            let near = self.similar().join(", ");
            err.line(format_args!("  {:9} {}", err.paint(SOFT, "similar:"), harmless(&near)))?;
        }
        Ok(())
    }

    fn document(&self, program: &str) -> Value {
        let mut document = json!({
            "ok": false,
            "error": self.to_string(),
            "code": self.code().as_str(),
            "hint": self.hint(),
            "next": self.next(program),
        });
        if !self.similar().is_empty() {
            document["similar"] = self.similar().iter().map(|near| json!({"value": near})).collect();
        }
        if !self.findings().is_empty() {
            document["findings"] = json!(self.findings());
        }
        document
    }
}
