//! What stays on this machine.

/// Words that keep a field here, wherever they are in its name: it may hold what a library or a caller wrote. The local
/// log has it, under the same request id.
const WORDS: [&str; 23] = [
    "apikey",
    "authorization",
    "bearer",
    "body",
    "cause",
    "cookie",
    "credential",
    "credentials",
    "details",
    "err",
    "error",
    "exception",
    "input",
    "output",
    "panic",
    "params",
    "passwd",
    "password",
    "payload",
    "secret",
    "session",
    "source",
    "token",
];
/// Words that do so one after the other.
const PAIRS: [(&str, &str); 2] = [("api", "key"), ("pass", "word")];

/// Whether a field stays here, by the words of its name.
pub(super) fn stays(name: &str) -> bool {
    let is = |word: &str, private: &str| word.eq_ignore_ascii_case(private);
    let mut before = "";
    words(name).any(|word| {
        let pair = PAIRS.iter().any(|(first, second)| is(before, first) && is(word, second));
        before = word;
        pair || WORDS.iter().any(|private| is(word, private))
    })
}

/// The words of a name, as `user.auth_token`, `user-auth-token`, `userAuthToken` and `UserAUTHToken` have them.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', '_', '-']).flat_map(|part| {
        let bytes = part.as_bytes();
        let begins = move |at: usize| {
            let (before, here, after) = (bytes.get(at.wrapping_sub(1)), bytes.get(at), bytes.get(at + 1));
            let upper = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_uppercase);
            let lower = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_lowercase);
            upper(here) && (!upper(before) || lower(after))
        };
        let mut rest = 0;
        std::iter::from_fn(move || {
            let start = rest;
            if start >= part.len() {
                return None;
            }
            rest = (start + 1..part.len()).find(|at| begins(*at)).unwrap_or(part.len());
            part.get(start..rest)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_private_in_any_case_and_by_any_of_its_words() {
        for name in [
            "cause",
            "Error",
            "http.request.body",
            "error.chain",
            "auth_token",
            "user-password",
            "dbPassword",
            "APIKey",
            "api_key",
            "x.api-key",
            "apikey",
            "sessionId",
            "BEARER",
            "JWTToken",
            "pass_word",
        ] {
            assert!(stays(name), "{name}");
        }
        for name in ["code", "request_id", "errors_seen", "tokenizer", "key", "api", "elapsed_ms", "", "größe.übrig"]
        {
            assert!(!stays(name), "{name}");
        }
    }
}
