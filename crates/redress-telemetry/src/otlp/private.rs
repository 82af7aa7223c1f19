//! What stays on this machine.

/// Names of fields that never leave: they may hold what a library or a caller wrote. The local log has them, under
/// the same request id.
const NAMES: [&str; 19] = [
    "api_key",
    "authorization",
    "body",
    "cause",
    "cookie",
    "credential",
    "details",
    "err",
    "error",
    "exception",
    "input",
    "output",
    "panic",
    "params",
    "password",
    "payload",
    "secret",
    "source",
    "token",
];

/// Whether a field stays here: by its name, or by any part of it between dots.
pub(super) fn stays(name: &str) -> bool {
    name.split('.').any(|part| NAMES.iter().any(|private| part.eq_ignore_ascii_case(private)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_private_in_any_case_and_as_part_of_a_longer_one() {
        assert!(stays("cause") && stays("Error") && stays("http.request.body") && stays("error.chain"));
        assert!(!stays("code") && !stays("request_id") && !stays("errors_seen"));
    }
}
