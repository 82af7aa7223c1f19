//! The codes with which the command itself cannot go on. An operation's own are not among
//! them: those are in its outcome.

use std::fmt;

/// Why the command could not run. Each has a page, which `explain` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliErrorCode {
    /// What was typed is not a command.
    Usage,
    /// The configuration has a key that nothing reads.
    ConfigUnknownKey,
    /// The configuration cannot be read.
    ConfigInvalid,
    /// A new configuration changes what cannot change while the server runs.
    ConfigNeedsRestart,
    /// What says who may call cannot be used.
    AccessUnusable,
    /// The folder of the state cannot be used.
    StateUnusable,
    /// The certificate or its key cannot be used.
    TlsUnusable,
    /// Nothing can be told to where it should be.
    TelemetryUnusable,
    /// There is no token of this id.
    TokenUnknown,
    /// There is no audit to be read.
    AuditUnreadable,
    /// No quotas could be read.
    QuotaUnreadable,
    /// Nothing says where consents are kept.
    ConsentUnreachable,
    /// Nothing of this name asks for consent.
    ConsentNotAsked,
    /// There is no such consent.
    ConsentUnknown,
    /// Something else listens on this port.
    PortInUse,
    /// Nothing can listen on this address.
    AddressUnusable,
    /// The address can be reached from other machines, and nothing says who may call.
    NotLoopbackWithoutAccess,
    /// The server did not answer.
    ServerUnreachable,
    /// The server's certificate is not trusted.
    ServerUntrusted,
    /// The server answered, but not as redress does.
    ServerAnswerUnreadable,
    /// The input is not JSON.
    InputNotJson,
    /// A file that was named cannot be read.
    FileUnreadable,
    /// A file cannot be written.
    FileUnwritable,
    /// The folder of the file operations cannot be opened.
    RootUnusable,
    /// The folder of the file operations holds what says who may call.
    RootNotApart,
    /// There is no page of this name.
    PageUnknown,
    /// The declarations of the operations are not sound.
    RegistryInvalid,
    /// The program could not make its operations.
    SetupFailed,
    /// A file is no document that can be imported.
    DocumentUnreadable,
    /// What is said of a service does not fit its document.
    UpstreamUnusable,
    /// The server stopped listening.
    ListenerFailed,
    /// The system gave the command no threads to run on.
    RuntimeUnavailable,
    /// What was asked for could not be written.
    OutputUnwritable,
}

impl CliErrorCode {
    /// Every code.
    pub const ALL: [CliErrorCode; 33] = [
        CliErrorCode::Usage,
        CliErrorCode::ConfigUnknownKey,
        CliErrorCode::ConfigInvalid,
        CliErrorCode::ConfigNeedsRestart,
        CliErrorCode::AccessUnusable,
        CliErrorCode::StateUnusable,
        CliErrorCode::TlsUnusable,
        CliErrorCode::TelemetryUnusable,
        CliErrorCode::TokenUnknown,
        CliErrorCode::AuditUnreadable,
        CliErrorCode::QuotaUnreadable,
        CliErrorCode::ConsentUnreachable,
        CliErrorCode::ConsentNotAsked,
        CliErrorCode::ConsentUnknown,
        CliErrorCode::PortInUse,
        CliErrorCode::AddressUnusable,
        CliErrorCode::NotLoopbackWithoutAccess,
        CliErrorCode::ServerUnreachable,
        CliErrorCode::ServerUntrusted,
        CliErrorCode::ServerAnswerUnreadable,
        CliErrorCode::InputNotJson,
        CliErrorCode::FileUnreadable,
        CliErrorCode::FileUnwritable,
        CliErrorCode::RootUnusable,
        CliErrorCode::RootNotApart,
        CliErrorCode::PageUnknown,
        CliErrorCode::RegistryInvalid,
        CliErrorCode::SetupFailed,
        CliErrorCode::DocumentUnreadable,
        CliErrorCode::UpstreamUnusable,
        CliErrorCode::ListenerFailed,
        CliErrorCode::RuntimeUnavailable,
        CliErrorCode::OutputUnwritable,
    ];

    /// The code of this name.
    pub fn parse(text: &str) -> Option<CliErrorCode> {
        CliErrorCode::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// Its stable name.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// Its page, in Markdown.
    pub const fn page(self) -> &'static str {
        self.row().1
    }

    const fn row(self) -> (&'static str, &'static str) {
        match self {
            CliErrorCode::Usage => ("USAGE", include_str!("codes/USAGE.md")),
            CliErrorCode::ConfigUnknownKey => ("CONFIG_UNKNOWN_KEY", include_str!("codes/CONFIG_UNKNOWN_KEY.md")),
            CliErrorCode::ConfigInvalid => ("CONFIG_INVALID", include_str!("codes/CONFIG_INVALID.md")),
            CliErrorCode::ConfigNeedsRestart => ("CONFIG_NEEDS_RESTART", include_str!("codes/CONFIG_NEEDS_RESTART.md")),
            CliErrorCode::AccessUnusable => ("ACCESS_UNUSABLE", include_str!("codes/ACCESS_UNUSABLE.md")),
            CliErrorCode::StateUnusable => ("STATE_UNUSABLE", include_str!("codes/STATE_UNUSABLE.md")),
            CliErrorCode::TlsUnusable => ("TLS_UNUSABLE", include_str!("codes/TLS_UNUSABLE.md")),
            CliErrorCode::TelemetryUnusable => ("TELEMETRY_UNUSABLE", include_str!("codes/TELEMETRY_UNUSABLE.md")),
            CliErrorCode::TokenUnknown => ("TOKEN_UNKNOWN", include_str!("codes/TOKEN_UNKNOWN.md")),
            CliErrorCode::AuditUnreadable => ("AUDIT_UNREADABLE", include_str!("codes/AUDIT_UNREADABLE.md")),
            CliErrorCode::QuotaUnreadable => ("QUOTA_UNREADABLE", include_str!("codes/QUOTA_UNREADABLE.md")),
            CliErrorCode::ConsentUnreachable => ("CONSENT_UNREACHABLE", include_str!("codes/CONSENT_UNREACHABLE.md")),
            CliErrorCode::ConsentNotAsked => ("CONSENT_NOT_ASKED", include_str!("codes/CONSENT_NOT_ASKED.md")),
            CliErrorCode::ConsentUnknown => ("CONSENT_UNKNOWN", include_str!("codes/CONSENT_UNKNOWN.md")),
            CliErrorCode::PortInUse => ("PORT_IN_USE", include_str!("codes/PORT_IN_USE.md")),
            CliErrorCode::AddressUnusable => ("ADDRESS_UNUSABLE", include_str!("codes/ADDRESS_UNUSABLE.md")),
            CliErrorCode::NotLoopbackWithoutAccess => {
                ("NOT_LOOPBACK_WITHOUT_ACCESS", include_str!("codes/NOT_LOOPBACK_WITHOUT_ACCESS.md"))
            }
            CliErrorCode::ServerUnreachable => ("SERVER_UNREACHABLE", include_str!("codes/SERVER_UNREACHABLE.md")),
            CliErrorCode::ServerUntrusted => ("SERVER_UNTRUSTED", include_str!("codes/SERVER_UNTRUSTED.md")),
            CliErrorCode::ServerAnswerUnreadable => {
                ("SERVER_ANSWER_UNREADABLE", include_str!("codes/SERVER_ANSWER_UNREADABLE.md"))
            }
            CliErrorCode::InputNotJson => ("INPUT_NOT_JSON", include_str!("codes/INPUT_NOT_JSON.md")),
            CliErrorCode::FileUnreadable => ("FILE_UNREADABLE", include_str!("codes/FILE_UNREADABLE.md")),
            CliErrorCode::FileUnwritable => ("FILE_UNWRITABLE", include_str!("codes/FILE_UNWRITABLE.md")),
            CliErrorCode::RootUnusable => ("ROOT_UNUSABLE", include_str!("codes/ROOT_UNUSABLE.md")),
            CliErrorCode::RootNotApart => ("ROOT_NOT_APART", include_str!("codes/ROOT_NOT_APART.md")),
            CliErrorCode::PageUnknown => ("PAGE_UNKNOWN", include_str!("codes/PAGE_UNKNOWN.md")),
            CliErrorCode::RegistryInvalid => ("REGISTRY_INVALID", include_str!("codes/REGISTRY_INVALID.md")),
            CliErrorCode::SetupFailed => ("SETUP_FAILED", include_str!("codes/SETUP_FAILED.md")),
            CliErrorCode::DocumentUnreadable => ("DOCUMENT_UNREADABLE", include_str!("codes/DOCUMENT_UNREADABLE.md")),
            CliErrorCode::UpstreamUnusable => ("UPSTREAM_UNUSABLE", include_str!("codes/UPSTREAM_UNUSABLE.md")),
            CliErrorCode::ListenerFailed => ("LISTENER_FAILED", include_str!("codes/LISTENER_FAILED.md")),
            CliErrorCode::RuntimeUnavailable => ("RUNTIME_UNAVAILABLE", include_str!("codes/RUNTIME_UNAVAILABLE.md")),
            CliErrorCode::OutputUnwritable => ("OUTPUT_UNWRITABLE", include_str!("codes/OUTPUT_UNWRITABLE.md")),
        }
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
