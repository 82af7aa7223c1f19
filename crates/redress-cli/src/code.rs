//! The codes with which the command itself cannot go on. An operation's own are not among
//! them: those are in its outcome.

use std::fmt;

/// Why the command could not run. Each has a page, which `explain` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleCode {
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

impl TroubleCode {
    /// Every code.
    pub const ALL: [TroubleCode; 33] = [
        TroubleCode::Usage,
        TroubleCode::ConfigUnknownKey,
        TroubleCode::ConfigInvalid,
        TroubleCode::ConfigNeedsRestart,
        TroubleCode::AccessUnusable,
        TroubleCode::StateUnusable,
        TroubleCode::TlsUnusable,
        TroubleCode::TelemetryUnusable,
        TroubleCode::TokenUnknown,
        TroubleCode::AuditUnreadable,
        TroubleCode::QuotaUnreadable,
        TroubleCode::ConsentUnreachable,
        TroubleCode::ConsentNotAsked,
        TroubleCode::ConsentUnknown,
        TroubleCode::PortInUse,
        TroubleCode::AddressUnusable,
        TroubleCode::NotLoopbackWithoutAccess,
        TroubleCode::ServerUnreachable,
        TroubleCode::ServerUntrusted,
        TroubleCode::ServerAnswerUnreadable,
        TroubleCode::InputNotJson,
        TroubleCode::FileUnreadable,
        TroubleCode::FileUnwritable,
        TroubleCode::RootUnusable,
        TroubleCode::RootNotApart,
        TroubleCode::PageUnknown,
        TroubleCode::RegistryInvalid,
        TroubleCode::SetupFailed,
        TroubleCode::DocumentUnreadable,
        TroubleCode::UpstreamUnusable,
        TroubleCode::ListenerFailed,
        TroubleCode::RuntimeUnavailable,
        TroubleCode::OutputUnwritable,
    ];

    /// The code of this name.
    pub fn parse(text: &str) -> Option<TroubleCode> {
        TroubleCode::ALL.into_iter().find(|code| code.as_str() == text)
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
            TroubleCode::Usage => ("USAGE", include_str!("codes/USAGE.md")),
            TroubleCode::ConfigUnknownKey => ("CONFIG_UNKNOWN_KEY", include_str!("codes/CONFIG_UNKNOWN_KEY.md")),
            TroubleCode::ConfigInvalid => ("CONFIG_INVALID", include_str!("codes/CONFIG_INVALID.md")),
            TroubleCode::ConfigNeedsRestart => ("CONFIG_NEEDS_RESTART", include_str!("codes/CONFIG_NEEDS_RESTART.md")),
            TroubleCode::AccessUnusable => ("ACCESS_UNUSABLE", include_str!("codes/ACCESS_UNUSABLE.md")),
            TroubleCode::StateUnusable => ("STATE_UNUSABLE", include_str!("codes/STATE_UNUSABLE.md")),
            TroubleCode::TlsUnusable => ("TLS_UNUSABLE", include_str!("codes/TLS_UNUSABLE.md")),
            TroubleCode::TelemetryUnusable => ("TELEMETRY_UNUSABLE", include_str!("codes/TELEMETRY_UNUSABLE.md")),
            TroubleCode::TokenUnknown => ("TOKEN_UNKNOWN", include_str!("codes/TOKEN_UNKNOWN.md")),
            TroubleCode::AuditUnreadable => ("AUDIT_UNREADABLE", include_str!("codes/AUDIT_UNREADABLE.md")),
            TroubleCode::QuotaUnreadable => ("QUOTA_UNREADABLE", include_str!("codes/QUOTA_UNREADABLE.md")),
            TroubleCode::ConsentUnreachable => ("CONSENT_UNREACHABLE", include_str!("codes/CONSENT_UNREACHABLE.md")),
            TroubleCode::ConsentNotAsked => ("CONSENT_NOT_ASKED", include_str!("codes/CONSENT_NOT_ASKED.md")),
            TroubleCode::ConsentUnknown => ("CONSENT_UNKNOWN", include_str!("codes/CONSENT_UNKNOWN.md")),
            TroubleCode::PortInUse => ("PORT_IN_USE", include_str!("codes/PORT_IN_USE.md")),
            TroubleCode::AddressUnusable => ("ADDRESS_UNUSABLE", include_str!("codes/ADDRESS_UNUSABLE.md")),
            TroubleCode::NotLoopbackWithoutAccess => {
                ("NOT_LOOPBACK_WITHOUT_ACCESS", include_str!("codes/NOT_LOOPBACK_WITHOUT_ACCESS.md"))
            }
            TroubleCode::ServerUnreachable => ("SERVER_UNREACHABLE", include_str!("codes/SERVER_UNREACHABLE.md")),
            TroubleCode::ServerUntrusted => ("SERVER_UNTRUSTED", include_str!("codes/SERVER_UNTRUSTED.md")),
            TroubleCode::ServerAnswerUnreadable => {
                ("SERVER_ANSWER_UNREADABLE", include_str!("codes/SERVER_ANSWER_UNREADABLE.md"))
            }
            TroubleCode::InputNotJson => ("INPUT_NOT_JSON", include_str!("codes/INPUT_NOT_JSON.md")),
            TroubleCode::FileUnreadable => ("FILE_UNREADABLE", include_str!("codes/FILE_UNREADABLE.md")),
            TroubleCode::FileUnwritable => ("FILE_UNWRITABLE", include_str!("codes/FILE_UNWRITABLE.md")),
            TroubleCode::RootUnusable => ("ROOT_UNUSABLE", include_str!("codes/ROOT_UNUSABLE.md")),
            TroubleCode::RootNotApart => ("ROOT_NOT_APART", include_str!("codes/ROOT_NOT_APART.md")),
            TroubleCode::PageUnknown => ("PAGE_UNKNOWN", include_str!("codes/PAGE_UNKNOWN.md")),
            TroubleCode::RegistryInvalid => ("REGISTRY_INVALID", include_str!("codes/REGISTRY_INVALID.md")),
            TroubleCode::SetupFailed => ("SETUP_FAILED", include_str!("codes/SETUP_FAILED.md")),
            TroubleCode::DocumentUnreadable => ("DOCUMENT_UNREADABLE", include_str!("codes/DOCUMENT_UNREADABLE.md")),
            TroubleCode::UpstreamUnusable => ("UPSTREAM_UNUSABLE", include_str!("codes/UPSTREAM_UNUSABLE.md")),
            TroubleCode::ListenerFailed => ("LISTENER_FAILED", include_str!("codes/LISTENER_FAILED.md")),
            TroubleCode::RuntimeUnavailable => ("RUNTIME_UNAVAILABLE", include_str!("codes/RUNTIME_UNAVAILABLE.md")),
            TroubleCode::OutputUnwritable => ("OUTPUT_UNWRITABLE", include_str!("codes/OUTPUT_UNWRITABLE.md")),
        }
    }
}

impl fmt::Display for TroubleCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_with_all_its_headings() {
        for code in TroubleCode::ALL {
            let page = code.page();
            assert!(page.starts_with(&format!("# {code}\n")), "{code}");
            for heading in ["What it means", "Why it matters", "Example", "What to do"] {
                assert!(page.contains(&format!("\n## {heading}\n")), "{code} lacks {heading}");
            }
            assert_eq!(TroubleCode::parse(code.as_str()), Some(code));
        }
    }

    #[test]
    fn no_code_of_the_command_is_one_of_the_engine() {
        for code in TroubleCode::ALL {
            assert!(redress_contract::EngineCode::parse(code.as_str()).is_none(), "{code}");
        }
    }
}
