//! Why the command itself could not go on, told by our own rules: a code, a message, a hint
//! and a next step, for people and for programs.

use std::io;

use serde_json::{Value, json};

pub(crate) use crate::error_rows::CliError;
use crate::{
    config::secrets_outside_root::MustNot,
    terminal::{
        output::{BAD, SOFT, TYPED, Terminal, harmless},
        shell,
    },
};

pub(crate) fn at(line: &Option<usize>) -> String {
    line.map(|line| format!(", line {line}")).unwrap_or_default()
}

pub(crate) fn before(place: &Option<String>) -> String {
    place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default()
}

pub(crate) fn quoted(keys: &[&str]) -> String {
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
    without_number(&says).to_owned()
}

/// The system's own words, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    without_number(&error.to_string()).to_owned()
}

/// A text of the system without its number, which says nothing to people.
pub(crate) fn without_number(text: &str) -> &str {
    text.split(" (os error").next().unwrap_or(text)
}

impl CliError {
    /// The same trouble, of which the help of this command says more.
    pub(crate) fn of_command(mut self, name: &str) -> CliError {
        if let CliError::Usage { command, .. } = &mut self {
            name.clone_into(command);
        }
        self
    }

    /// What to do, in a sentence.
    pub(crate) fn hint(&self) -> String {
        if let CliError::Usage { tip: Some(own), .. } | CliError::SetupFailed { hint: Some(own), .. } = self {
            return own.clone();
        }
        if let CliError::ConfigUnknownKey { similar, .. } = self
            && let Some(near) = similar.first()
        {
            return format!("Write `{near}`, which is near, or take the line out.");
        }
        if let CliError::RootNotApart { held, must_not, .. } = self {
            let without_writing = match must_not {
                MustNot::Read => "",
                MustNot::Change => ", or serve it without `--write` and `serve.write`, so that nobody changes anything",
            };
            return format!(
                "Make a folder for the files alone and serve that, with `--root FOLDER` or `serve.root`; or move {} out of \
                 this one{without_writing}.",
                held.join(", ")
            );
        }
        self.code().hint().to_owned()
    }

    /// What to type next, for the program of this name: mostly for the page of the code.
    fn next(&self, program: &str) -> Vec<String> {
        let line = |words: &[&str]| vec![shell::line([program].into_iter().chain(words.iter().copied()))];
        if let CliError::Usage { command, .. } = self {
            vec![format!("{command} --help")]
        } else if let CliError::PortInUse { address } = self {
            let host = address.rsplit_once(':').map_or("127.0.0.1", |(host, _)| host);
            line(&["serve", "--listen", &format!("{host}:0")])
        } else if let CliError::AddressUnusable { .. } | CliError::NotLoopbackWithoutAccess { .. } = self {
            line(&["serve", "--listen", crate::config::defaults::LISTEN])
        } else if let CliError::ServerUnreachable { .. } = self {
            line(&["serve"])
        } else if let CliError::RootUnusable { path, .. } = self {
            line(&["doctor", "--root", path])
        } else if let CliError::PageUnknown { similar, .. } = self {
            similar.iter().take(1).flat_map(|near| line(&["explain", near])).collect()
        } else if let CliError::RegistryInvalid(error) = self {
            let mut rules: Vec<&str> = error.findings().iter().map(|finding| finding.rule()).collect();
            rules.dedup();
            rules.into_iter().flat_map(|rule| line(&["explain", rule])).collect()
        } else if let CliError::TokenUnknown { path, .. } = self {
            line(&["token", "list", "--file", path])
        } else if let CliError::ConsentUnknown { place, .. } = self {
            let words = ["consent", "list"].into_iter().chain(place.iter().map(String::as_str));
            line(&words.collect::<Vec<_>>())
        } else {
            line(&["explain", self.code().as_str()])
        }
    }

    /// What is there and near to what was named.
    fn similar(&self) -> &[String] {
        if let CliError::ConfigUnknownKey { similar, .. }
        | CliError::PageUnknown { similar, .. }
        | CliError::ConsentNotAsked { similar, .. }
        | CliError::ConsentUnknown { similar, .. }
        | CliError::TokenUnknown { similar, .. } = self
        {
            similar
        } else {
            &[]
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
