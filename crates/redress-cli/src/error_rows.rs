//! The errors of the command itself, a row for each: its code and page, what it carries, what it says and what to do. An
//! operation's own failures are not among them: those are in its outcome.

use std::{fmt, io};

use redress_core::BuildError;

use crate::{
    config::secrets_outside_root::MustNot,
    error::{at, before, quoted, reason},
};

macro_rules! cli_errors {
    ($(#[$of_error:meta])+ CliError; $(
        $(#[doc = $doc:literal])+
        $code:ident, $variant:ident $fields:tt
            says($($says:tt)+)
            hint $hint:literal;
    )+) => {
        /// Why the command could not run. Each has a page, which `explain` shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CliErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl CliErrorCode {
            /// Every code.
            pub const ALL: [CliErrorCode; [$(stringify!($code)),+].len()] = [$(CliErrorCode::$variant),+];

            /// Its stable name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(CliErrorCode::$variant => stringify!($code),)+
                }
            }

            /// Its page, in Markdown.
            pub const fn page(self) -> &'static str {
                match self {
                    $(CliErrorCode::$variant => include_str!(concat!("codes/", stringify!($code), ".md")),)+
                }
            }

            /// What to do, in a sentence, where nothing more is known.
            pub(crate) const fn hint(self) -> &'static str {
                match self {
                    $(CliErrorCode::$variant => $hint,)+
                }
            }
        }

        $(#[$of_error])+
        pub(crate) enum CliError {
            $(#[error($($says)+)] $variant $fields,)+
        }

        impl CliError {
            pub(crate) fn code(&self) -> CliErrorCode {
                match self {
                    $(CliError::$variant { .. } => CliErrorCode::$variant,)+
                }
            }
        }
    };
}

// What the fields of an unnamed one are called is known to the derive alone, so that it stands beside the rows.
cli_errors! {
    /// Why the command itself could not go on.
    #[derive(Debug, thiserror::Error)]
    #[cfg_attr(
        not(all(feature = "state", feature = "tls")),
        expect(dead_code, reason = "what a build lacks cannot be in trouble")
    )]
    CliError;

    /// What was typed is not a command.
    USAGE, Usage { says: String, tip: Option<String>, command: String }
        says("{says}")
        hint "Look at the help of the command and type it again.";

    /// The configuration has a key that nothing reads.
    CONFIG_UNKNOWN_KEY, ConfigUnknownKey { path: String, line: usize, key: String, similar: Vec<String> }
        says("{path}, line {line}: `{key}` is not a setting")
        hint "Take the line out, or look up what the file may hold.";

    /// The configuration cannot be read.
    CONFIG_INVALID, ConfigInvalid { path: String, line: Option<usize>, says: String }
        says("{path}{}: {says}", at(line))
        hint "Correct the value; docs/redress.toml.md says what each takes.";

    /// A new configuration changes what cannot change while the server runs.
    CONFIG_NEEDS_RESTART, ConfigNeedsRestart { path: String, keys: Vec<&'static str> }
        says("{path} changes {}, which needs a restart", quoted(keys))
        hint "Put the value back, or restart the server.";

    /// What says who may call cannot be used.
    ACCESS_UNUSABLE, AccessUnusable { says: String }
        says("{says}")
        hint "Correct what is named, and look again with the doctor.";

    /// The folder of the state cannot be used.
    STATE_UNUSABLE, StateUnusable { path: String, says: String }
        says("the state in {path} cannot be used: {says}")
        hint "Give a folder of its own that this process may write.";

    /// The certificate or its key cannot be used.
    TLS_UNUSABLE, TlsUnusable { says: String }
        says("{says}")
        hint "Give a certificate and the key that belongs to it, both in PEM form.";

    /// Nothing can be told to where it should be.
    TELEMETRY_UNUSABLE, TelemetryUnusable { says: String }
        says("{says}")
        hint "Correct the path or the URL in `[telemetry]`.";

    /// There is no token of this id.
    TOKEN_UNKNOWN, TokenUnknown { path: String, id: String, similar: Vec<String> }
        says("there is no token `{id}` in {path}")
        hint "List the tokens, and give the id as it is shown.";

    /// There is no audit to be read.
    AUDIT_UNREADABLE, AuditUnreadable { says: String }
        says("{says}")
        hint "Name the configuration of the server, or its folder.";

    /// No quotas could be read.
    QUOTA_UNREADABLE, QuotaUnreadable { says: String }
        says("{says}")
        hint "Name the configuration of the server, or its folder.";

    /// Nothing says where consents are kept.
    CONSENT_UNREACHABLE, ConsentUnreachable { says: String }
        says("{says}")
        hint "Name the server with `--server`, and a token that has `consent:grant`, or what it runs on, with `--state DIR` or `--config FILE`.";

    /// Nothing of this name asks for consent.
    CONSENT_NOT_ASKED, ConsentNotAsked { operation: String, similar: Vec<String> }
        says("nothing called `{operation}` asks for consent")
        hint "Name the operation that answered CONSENT_REQUIRED.";

    /// There is no such consent.
    CONSENT_UNKNOWN, ConsentUnknown { caller: String, scope: String, similar: Vec<String>, place: [String; 2] }
        says("there is no consent to `{scope}` for `{caller}`")
        hint "List the consents, and name one as it is written there.";

    /// Something else listens on this port.
    PORT_IN_USE, PortInUse { address: String }
        says("something already listens on {address}")
        hint "Stop the other server, or listen on another port; 0 takes a free one.";

    /// Nothing can listen on this address.
    ADDRESS_UNUSABLE, AddressUnusable { address: String, cause: io::Error }
        says("nothing can listen on {address}: {}", reason(cause))
        hint "Give an address of this machine and a port that is allowed.";

    /// The address can be reached from other machines, and nothing says who may call.
    NOT_LOOPBACK_WITHOUT_ACCESS, NotLoopbackWithoutAccess { address: String }
        says("{address} can be reached from other machines, and nothing says who may call")
        hint "Listen on loopback, or say in `[access]` of the configuration who may call.";

    /// The server did not answer.
    SERVER_UNREACHABLE, ServerUnreachable { url: String, says: String }
        says("{url} did not answer: {says}")
        hint "Start the server, or correct the URL of its root.";

    /// The server's certificate is not trusted.
    SERVER_UNTRUSTED, ServerUntrusted { url: String, says: String }
        says("the certificate of {url} is not trusted: {says}")
        hint "Give the file of its authority with `--ca`, or use the name that the certificate is for.";

    /// The server answered, but not as redress does.
    SERVER_ANSWER_UNREADABLE, ServerAnswerUnreadable { url: String, status: u16 }
        says("{url} answered {status}, and not as redress does")
        hint "Give the URL that the first screen of the server shows.";

    /// The input is not JSON.
    INPUT_NOT_JSON, InputNotJson (serde_json::Error)
        says("the input is not JSON: {0}")
        hint "Put the JSON in single quotes, so that the shell leaves it whole.";

    /// A file that was named cannot be read.
    FILE_UNREADABLE, FileUnreadable { path: String, cause: io::Error }
        says("{path} cannot be read: {}", reason(cause))
        hint "Check the path; a relative one starts from the current folder.";

    /// A file cannot be written.
    FILE_UNWRITABLE, FileUnwritable { path: String, cause: io::Error }
        says("{path} cannot be written: {}", reason(cause))
        hint "Give a folder in which this process may write.";

    /// The folder of the file operations cannot be opened.
    ROOT_UNUSABLE, RootUnusable { path: String, says: String }
        says("the folder {path} cannot be opened: {says}")
        hint "Give a folder that exists and may be read.";

    /// The folder of the file operations holds what says who may call.
    ROOT_NOT_APART, RootNotApart { place: Option<String>, root: String, held: Vec<String>, must_not: MustNot }
        says("{}the folder {root} holds {}, which callers must not {}", before(place), held.join(", "), must_not.as_str())
        hint "Make a folder for the files alone and serve that, with `--root FOLDER` or `serve.root`.";

    /// There is no page of this name.
    PAGE_UNKNOWN, PageUnknown { wanted: String, similar: Vec<String> }
        says("there is no code or rule `{wanted}`")
        hint "Give the code or rule exactly as it was shown.";

    /// The declarations of the operations are not sound.
    REGISTRY_INVALID, RegistryInvalid (BuildError)
        says("the registry has {} problem(s)", .0.findings().len())
        hint "Follow each finding and build the program again.";

    /// The program could not make its operations.
    SETUP_FAILED, SetupFailed { says: String, hint: Option<String> }
        says("the program could not set itself up: {says}")
        hint "Look at what the program opens first, such as its database.";

    /// A file is no document that can be imported.
    DOCUMENT_UNREADABLE, DocumentUnreadable { path: String, says: String }
        says("{path} is no document that can be imported: {says}")
        hint "Give an OpenAPI document, 2.0 to 3.2, as JSON or YAML.";

    /// What is said of a service does not fit its document.
    UPSTREAM_UNUSABLE, UpstreamUnusable { name: String, says: String }
        says("the upstream `{name}` cannot be used: {says}")
        hint "Correct its `[[upstream]]` table or flags; `redress import` shows what the document has.";

    /// The server stopped listening.
    LISTENER_FAILED, ListenerFailed (io::Error)
        says("the listener failed: {}", reason(.0))
        hint "Look at the limits of the process, then start it again.";

    /// The system gave the command no threads to run on.
    RUNTIME_UNAVAILABLE, RuntimeUnavailable (io::Error)
        says("the system gave no threads: {}", reason(.0))
        hint "Look at the limits of the process and try again.";

    /// What was asked for could not be written.
    OUTPUT_UNWRITABLE, OutputUnwritable (#[from] io::Error)
        says("the output cannot be written: {}", reason(.0))
        hint "Make room or write elsewhere, then run it again.";
}

impl CliErrorCode {
    /// The code of this name.
    pub fn parse(text: &str) -> Option<CliErrorCode> {
        CliErrorCode::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for CliErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_with_all_its_headings() {
        for code in CliErrorCode::ALL {
            let page = code.page();
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            for heading in ["What it means", "Why it matters", "Example", "What to do"] {
                assert!(page.contains(&format!("\n## {heading}\n")), "{code} lacks {heading}");
            }
            assert_eq!(CliErrorCode::parse(code.as_str()), Some(code));
        }
    }

    #[test]
    fn no_code_of_the_command_is_one_of_the_engine() {
        for code in CliErrorCode::ALL {
            assert!(redress_contract::EngineCode::parse(code.as_str()).is_none(), "{code}");
        }
    }
}
