//! The patterns that foreign texts are matched against: what providers say, what libraries
//! commonly say, in the order that they are tried in, and what databases say that are busy.
//!
//! They are written without word bounds and case; both are added where they are compiled.
//! Small differences of spelling (`status_code: 404`, `doesn’t`) are part of a row; a phrase
//! of another meaning is not. What stands between two words of a phrase is counted in bytes: forty
//! characters of any script would take megabytes once they are compiled.

use std::borrow::Cow;

use redress_contract::Kind;

use super::{ClassifierRow, ClassifierTable};

/// A row that goes by what an error says.
#[derive(Clone)]
pub(super) struct TextRow {
    table: ClassifierTable,
    pub(super) name: Cow<'static, str>,
    pub(super) pattern: Cow<'static, str>,
    pub(super) kind: Kind,
}

impl TextRow {
    pub(super) fn own(name: String, pattern: String, kind: Kind) -> TextRow {
        TextRow { table: ClassifierTable::OwnText, name: name.into(), pattern: pattern.into(), kind }
    }

    pub(super) fn printed(&self) -> ClassifierRow<'_> {
        ClassifierRow { table: self.table, name: &self.name, pattern: &self.pattern, kind: Some(self.kind) }
    }
}

/// A row's name, pattern and kind.
type PatternLine = (&'static str, &'static str, Kind);

/// Both tables, the provider table first.
pub(super) fn standard() -> impl Iterator<Item = TextRow> {
    let row = |table| {
        move |&(name, pattern, kind): &PatternLine| TextRow {
            table,
            name: Cow::Borrowed(name),
            pattern: Cow::Borrowed(pattern),
            kind,
        }
    };
    PROVIDER.iter().map(row(ClassifierTable::Provider)).chain(COMMON.iter().map(row(ClassifierTable::Common)))
}

const PROVIDER: [PatternLine; 22] = [
    ("aws-throttling", "ThrottlingException|TooManyRequestsException", Kind::RateLimited),
    ("aws-access-denied", "AccessDenied(?:Exception)?|UnauthorizedOperation", Kind::Forbidden),
    ("aws-not-found", "ResourceNotFoundException", Kind::NotFound),
    ("status-401", r"status[\s_-]?code[\s:=]{1,3}401", Kind::Unauthorized),
    ("status-403", r"status[\s_-]?code[\s:=]{1,3}403", Kind::Forbidden),
    ("status-404", r"status[\s_-]?code[\s:=]{1,3}404", Kind::NotFound),
    ("status-409", r"status[\s_-]?code[\s:=]{1,3}409", Kind::Conflict),
    ("status-429", r"status[\s_-]?code[\s:=]{1,3}429", Kind::RateLimited),
    ("status-5xx", r"status[\s_-]?code[\s:=]{1,3}5[0-9]{2}", Kind::Unavailable),
    ("connection-refused", "ECONNREFUSED|connection refused", Kind::Unavailable),
    ("connection-timeout", "ETIMEDOUT|connection (?:timeout|timed out)", Kind::Timeout),
    ("unique-constraint", "unique constraint|duplicate key", Kind::Conflict),
    ("foreign-key", "foreign key constraint", Kind::Validation),
    ("jwt-expired", "jwt (?:is |has )?expired|ExpiredSignature", Kind::Unauthorized),
    ("row-level-security", r"row[\s-]level security", Kind::Forbidden),
    ("quota", "insufficient_quota|quota exceeded", Kind::RateLimited),
    ("model-not-found", "model_not_found", Kind::NotFound),
    ("context-length", "context_length_exceeded", Kind::Validation),
    // The last phrase is how Rust's own resolver puts it.
    ("dns", "ENOTFOUND|DNS|failed to lookup address", Kind::Unavailable),
    ("connection-reset", "ECONNRESET|connection reset", Kind::Unavailable),
    (
        "database-busy",
        concat!(
            "database (?:table |schema )?is locked|SQLITE_(?:BUSY|LOCKED)|too many (?:connections|clients)|deadlock",
            "|could not serialize access|lock wait timeout"
        ),
        Kind::Unavailable,
    ),
    // No deadline has passed: there are as many connections as there may be.
    ("pool-exhausted", "pool timed out|timed out waiting for (?:a )?connection|waiting for a slot", Kind::Unavailable),
];

const COMMON: [PatternLine; 10] = [
    (
        "text-unauthorized",
        concat!(
            r"unauthori[sz]ed|unauthenticated|not authori[sz]ed|not(?-u:\b.{0,40}\b)logged(?-u:\b.{0,40}\b)in",
            r"|(?:invalid|expired)(?-u:\b.{0,40}\b)token|token (?:(?:is|has) )?(?:invalid|expired)"
        ),
        Kind::Unauthorized,
    ),
    (
        "text-forbidden",
        r"permissions?|forbidden|access(?-u:\b.{0,40}\b)denied|not(?-u:\b.{0,40}\b)allowed",
        Kind::Forbidden,
    ),
    ("text-not-found", r"not[\s_-]?found|no such|does(?:n['’]t| not) exist|could(?:n['’]t| not) find", Kind::NotFound),
    (
        "text-invalid",
        concat!(
            r"invalid|validation|malformed|bad request|wrong format",
            r"|missing(?-u:\b.{0,40}\b)(?:required|param(?:eter)?s?|fields?|inputs?|values?|arg(?:ument)?s?)"
        ),
        Kind::Validation,
    ),
    ("text-conflict", r"conflicts?|already exists?|duplicated?|unique constraint", Kind::Conflict),
    ("text-rate-limit", r"rate[\s_-]?limit(?:s|ed|ing)?|too many requests|throttled", Kind::RateLimited),
    ("text-timeout", r"timeouts?|timed[\s-]out|deadline (?:has )?(?:exceeded|elapsed)", Kind::Timeout),
    // Something below was given up. The call itself was not, so it is answered as a fault; see `code_of`.
    ("text-cancelled", "abort(?:ed|error)?|cancell?ed", Kind::Cancelled),
    ("text-unavailable", "service unavailable|bad gateway|gateway timeout|upstream error", Kind::Unavailable),
    ("text-schema", "zod|schema validation", Kind::Validation),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::classify::{Classifier, foreign::Foreign};

    /// For each row: a text it matches, and a near one that is not its own
    /// because of word bounds or of a row before it.
    const TEXTS: [(&str, &str, &str); 32] = [
        ("aws-throttling", "ThrottlingException: slow down", "MyThrottlingExceptions"),
        ("aws-access-denied", "accessdeniedexception: role x", "AccessDeniedness"),
        ("aws-not-found", "ResourceNotFoundException", "ResourceNotFoundExceptions"),
        ("status-401", "Request failed with status code 401", "status code 4010"),
        ("status-403", "status_code=403", "connected to 10.0.0.1:403"),
        ("status-404", "Status code: 404, invalid", "exit status code 40404"),
        ("status-409", "statusCode: 409", "status codec 409"),
        ("status-429", "status code 429", "status code 4290"),
        ("status-5xx", "status code 503", "status code 50"),
        ("connection-refused", "tcp connect error: Connection refused (os error 111)", "reconnection refused"),
        ("connection-timeout", "connection timed out", "connection timeout_ms"),
        ("unique-constraint", "UNIQUE constraint failed: users.email", "ununique constraint"),
        ("foreign-key", "violates foreign key constraint \"fk\"", "foreign key constraints"),
        ("jwt-expired", "JWT expired", "jwt expiredness"),
        ("row-level-security", "new row violates row-level security policy", "arrow-level security"),
        ("quota", "quota exceeded for project", "quotation exceeded"),
        ("model-not-found", "code: model_not_found", "submodel_not_found"),
        ("context-length", "context_length_exceeded", "context_length_exceeded_by"),
        ("dns", "error: dns lookup", "dnsmasq is up"),
        ("connection-reset", "Connection reset by peer", "connection resets"),
        ("database-busy", "(code: 5) database is locked", "database is lockedness"),
        ("pool-exhausted", "pool timed out while waiting for an open connection", "pool timed outing"),
        ("text-unauthorized", "you are not currently logged in", "unauthorizedly"),
        ("text-forbidden", "Permission denied (os error 13)", "permissionless chain"),
        ("text-not-found", "the file doesn't exist", "founder not foundational"),
        ("text-invalid", "malformed header", "caches were invalidated"),
        ("text-conflict", "the user already exists", "conflicted feelings"),
        ("text-rate-limit", "Rate limit reached", "corporate limits"),
        ("text-timeout", "operation timed out", "bad timeout_ms"),
        ("text-cancelled", "the operation was canceled", "abortive cancellation"),
        ("text-unavailable", "502 Bad Gateway", "service unavailableness"),
        ("text-schema", "zod: at path a", "zodiac"),
    ];

    fn row_of(text: &str) -> String {
        Classifier::standard().classify(&Foreign::new(text)).row.into_owned()
    }

    #[test]
    fn the_tables_have_their_rows_in_the_order_that_they_are_tried_in() {
        use Kind::*;
        let kinds: Vec<Kind> = standard().map(|row| row.kind).collect();
        let provider = [
            [RateLimited, Forbidden, NotFound, Unauthorized, Forbidden],
            [NotFound, Conflict, RateLimited, Unavailable, Unavailable],
            [Timeout, Conflict, Validation, Unauthorized, Forbidden],
            [RateLimited, NotFound, Validation, Unavailable, Unavailable],
        ];
        let busy = [Unavailable, Unavailable];
        let common = [
            [Unauthorized, Forbidden, NotFound, Validation, Conflict],
            [RateLimited, Timeout, Cancelled, Unavailable, Validation],
        ];
        assert_eq!(kinds, [provider.as_flattened(), &busy, common.as_flattened()].concat());
        let names: Vec<_> = standard().map(|row| row.name).collect();
        assert_eq!(names, TEXTS.map(|(name, _, _)| name));
    }

    #[test]
    fn every_row_matches_its_text_and_leaves_the_near_one() {
        for (name, hit, near) in TEXTS {
            assert_eq!(row_of(hit), name, "{hit}");
            assert_eq!(row_of(&hit.to_uppercase()), name, "{hit}");
            assert_eq!(row_of(near), "fallback", "{near}");
        }
    }

    #[test]
    fn every_keyword_of_a_row_leads_to_it() {
        let words = [
            ("aws-throttling", "TooManyRequestsException"),
            ("aws-access-denied", "UnauthorizedOperation|AccessDenied"),
            ("status-5xx", "status code 500|status code 599"),
            ("connection-refused", "connect ECONNREFUSED 127.0.0.1:80"),
            ("connection-timeout", "ETIMEDOUT|connection timeout"),
            ("unique-constraint", "duplicate key value"),
            ("quota", "insufficient_quota"),
            ("dns", "getaddrinfo ENOTFOUND host|failed to lookup address information: Name or service not known"),
            ("connection-reset", "read ECONNRESET"),
            (
                "database-busy",
                "database table is locked|SQLITE_BUSY|FATAL: sorry, too many clients already|deadlock detected\
                 |could not serialize access due to concurrent update|Lock wait timeout exceeded",
            ),
            ("pool-exhausted", "timed out waiting for connection|Timeout occurred while waiting for a slot"),
            (
                "text-unauthorized",
                "unauthorized|unauthenticated|not authorized|invalid access token|expired token|token has expired",
            ),
            ("text-forbidden", "permission|permissions|forbidden|access to x was denied|this is not yet allowed"),
            ("text-not-found", "not found|NotFound|no such file|does not exist|doesn’t exist|couldn't find it"),
            ("text-invalid", "invalid|validation|bad request|wrong format|missing required a|missing a parameter"),
            ("text-conflict", "conflict|duplicate"),
            ("text-rate-limit", "rate-limited|too many requests|throttled"),
            ("text-timeout", "timeout|deadline exceeded|deadline has elapsed"),
            ("text-cancelled", "abort|aborted|cancelled|AbortError"),
            ("text-unavailable", "service unavailable|upstream error"),
        ];
        for (name, texts) in words {
            for text in texts.split('|') {
                assert_eq!(row_of(text), name, "{text}");
            }
        }
    }

    #[test]
    fn the_first_row_that_matches_wins() {
        // The order of the rows, not the order of the words.
        let texts = [
            ("invalid request: status code 404", "status-404"),
            ("status code 401, then status code 403", "status-401"),
            ("connection refused by DNS", "connection-refused"),
            ("unique constraint", "unique-constraint"),
            ("permission not found", "text-forbidden"),
            ("invalid id: not found", "text-not-found"),
            ("schema validation", "text-invalid"),
            ("duplicate request timed out", "text-conflict"),
            ("aborted after a timeout", "text-timeout"),
            ("gateway timeout", "text-timeout"),
        ];
        for (text, name) in texts {
            assert_eq!(row_of(text), name, "{text}");
        }
    }

    #[test]
    fn a_status_inside_another_number_says_nothing() {
        // Word-bounded.
        for text in ["127.0.0.1:4010 went away", "401", "job 404040 ended", "took 429 ms", "status code 5000"] {
            assert_eq!(row_of(text), "fallback", "{text}");
        }
    }
}
