//! How a caller is asked for a token, or for a better one (RFC 6750).
//!
//! Why so: docs/decisions/0023-a-refused-token-is-refused-without-a-reason.md.

use std::borrow::Cow;

use redress_contract::{EngineCode, Problem, RecoveryStep};
use serde::Deserialize;

use super::status::status;

/// How a caller is asked to say who it is.
pub const CHALLENGE: &str = r#"Bearer realm="redress""#;

/// What a challenge says about a token that tells nobody. It is the same for every such token.
pub const INVALID_TOKEN: &str =
    r#"error="invalid_token", error_description="the token is not valid, or is not valid any more""#;

/// What a challenge says to a caller that lacks a scope, or several with spaces between them.
pub fn insufficient_scope(scope: &str) -> String {
    // A scope is a word without quotation marks (RFC 6749, section 3.3), or it cannot be said here.
    let said: Vec<&str> = scope.split(' ').filter(|scope| is_word(scope)).collect();
    format!(r#"error="insufficient_scope", scope="{}""#, said.join(" "))
}

/// What `WWW-Authenticate` says with a bad ending, where it says anything.
pub fn challenge(problem: &Problem) -> Option<Cow<'static, str>> {
    match (status(problem), &problem.recovery) {
        (401, _) if is_refused_token(problem) => Some(Cow::Owned(format!("{CHALLENGE}, {INVALID_TOKEN}"))),
        (401, _) => Some(Cow::Borrowed(CHALLENGE)),
        (403, Some(RecoveryStep::GetAccess { scope })) => {
            Some(Cow::Owned(format!("{CHALLENGE}, {}", insufficient_scope(scope))))
        }
        _ => None,
    }
}

/// Whether the call came with a token, which was refused.
fn is_refused_token(problem: &Problem) -> bool {
    #[derive(Deserialize)]
    struct ChallengeDetails {
        token: Option<String>,
    }
    let details =
        problem.details.as_ref().and_then(|details| serde_json::from_str::<ChallengeDetails>(details.get()).ok());
    problem.code.as_str() == EngineCode::AuthRequired.as_str() && details.is_some_and(|details| details.token.is_some())
}

fn is_word(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}
