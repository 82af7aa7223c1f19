//! Names of callers and of scopes: they are shown in lists and sent in headers, so they must be text that can be.

use crate::AccessError;

/// Refuses a caller or scopes that cannot be shown and sent.
pub(crate) fn check(caller: &str, scopes: &[String]) -> Result<(), AccessError> {
    if caller.trim().is_empty() {
        return Err(AccessError::CallerUnnamed);
    }
    if !is_printable(caller) {
        return Err(AccessError::Unprintable { what: "caller" });
    }
    if !scopes.iter().all(|scope| is_scope(scope)) {
        return Err(AccessError::Unprintable { what: "scope" });
    }
    Ok(())
}

/// Whether a text can be shown in one line.
pub(crate) fn is_printable(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// A scope is a word without quotation marks and backslashes (RFC 6749, section 3.3).
pub(crate) fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}
