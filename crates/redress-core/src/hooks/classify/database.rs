//! What a `sqlx::Error` is.

use std::borrow::Cow;

use redress_contract::Kind;
use sqlx::{Error, error::ErrorKind};

use super::by_type::TypeRow;

pub(super) fn rows() -> [TypeRow; 10] {
    [
        TypeRow::when("sqlx-not-found", "sqlx::Error, RowNotFound", Kind::NotFound, |error| {
            matches!(error, Error::RowNotFound)
        }),
        // No deadline has passed: there are as many connections as there may be.
        TypeRow::when("sqlx-pool", "sqlx::Error, PoolTimedOut", Kind::Unavailable, |error| {
            matches!(error, Error::PoolTimedOut)
        }),
        TypeRow::when("sqlx-busy", "sqlx::Error, locked, deadlocked, full or going down", Kind::Unavailable, |error| {
            code(error).is_some_and(|code| is_busy(&code))
        }),
        TypeRow::when(
            "sqlx-statement-timeout",
            "sqlx::Error, a statement that took too long",
            Kind::Timeout,
            |error| code(error).is_some_and(|code| code == STATEMENT_TIMEOUT),
        ),
        TypeRow::when("sqlx-unavailable", "sqlx::Error, Io, Tls or PoolClosed", Kind::Unavailable, |error| {
            matches!(error, Error::Io(_) | Error::Tls(_) | Error::PoolClosed)
        }),
        TypeRow::when("sqlx-configuration", "sqlx::Error, Configuration", Kind::Configuration, |error| {
            matches!(error, Error::Configuration(_))
        }),
        TypeRow::when("sqlx-unique", "sqlx::Error, a unique constraint", Kind::Conflict, |error| {
            matches!(constraint(error), Some(ErrorKind::UniqueViolation))
        }),
        TypeRow::when("sqlx-foreign-key", "sqlx::Error, a foreign key", Kind::Validation, |error| {
            matches!(constraint(error), Some(ErrorKind::ForeignKeyViolation))
        }),
        TypeRow::when("sqlx-check", "sqlx::Error, a not-null or check constraint", Kind::Validation, |error| {
            matches!(constraint(error), Some(ErrorKind::NotNullViolation | ErrorKind::CheckViolation))
        }),
        TypeRow::when::<Error>("sqlx", "sqlx::Error", Kind::Database, |_| true),
    ]
}

/// `query_canceled` of PostgreSQL, as a `statement_timeout` ends a statement.
const STATEMENT_TIMEOUT: &str = "57014";

/// The database's own code of what went wrong.
fn code(error: &Error) -> Option<Cow<'_, str>> {
    error.as_database_error()?.code()
}

/// Whether the same statement may pass a moment later.
fn is_busy(code: &str) -> bool {
    // SQLSTATE has five characters: connections (08), transactions that lost a race, resources (53), locks that are
    // not to be had, and a server that starts or stops. SQLite has numbers, the basic one in the low byte: BUSY, LOCKED.
    match code.len() {
        5 => {
            code.starts_with("08")
                || code.starts_with("53")
                || matches!(code, "40001" | "40P01" | "55P03" | "57P01" | "57P02" | "57P03")
        }
        _ => code.parse::<u32>().is_ok_and(|code| matches!(code & 0xff, 5 | 6)),
    }
}

/// The constraint that the database says was broken.
fn constraint(error: &Error) -> Option<ErrorKind> {
    error.as_database_error().map(|error| error.kind())
}

#[cfg(test)]
mod tests {
    use std::{error::Error as StdError, fmt, io};

    use sqlx::error::DatabaseError;

    use super::*;
    use crate::hooks::classify::Classifier;

    /// What a database says, without a database.
    #[derive(Debug)]
    struct Said(fn() -> ErrorKind, Option<&'static str>);

    impl fmt::Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("said by the database")
        }
    }

    impl StdError for Said {}

    impl DatabaseError for Said {
        fn message(&self) -> &str {
            "said by the database"
        }
        fn kind(&self) -> ErrorKind {
            (self.0)()
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            self.1.map(Cow::Borrowed)
        }
        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }
    }

    #[test]
    fn every_row_has_an_error_that_leads_to_it() {
        let said = |kind| Error::Database(Box::new(Said(kind, None)));
        let coded = |code| Error::Database(Box::new(Said(|| ErrorKind::Other, Some(code))));
        let table = [
            (Error::RowNotFound, Kind::NotFound, "sqlx-not-found"),
            (Error::PoolTimedOut, Kind::Unavailable, "sqlx-pool"),
            // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_BUSY_SNAPSHOT; a deadlock, too many connections, a shutdown.
            (coded("5"), Kind::Unavailable, "sqlx-busy"),
            (coded("6"), Kind::Unavailable, "sqlx-busy"),
            (coded("517"), Kind::Unavailable, "sqlx-busy"),
            (coded("40P01"), Kind::Unavailable, "sqlx-busy"),
            (coded("53300"), Kind::Unavailable, "sqlx-busy"),
            (coded("57P01"), Kind::Unavailable, "sqlx-busy"),
            (coded("08006"), Kind::Unavailable, "sqlx-busy"),
            (coded("57014"), Kind::Timeout, "sqlx-statement-timeout"),
            (coded("25P02"), Kind::Database, "sqlx"),
            (coded("1"), Kind::Database, "sqlx"),
            (Error::PoolClosed, Kind::Unavailable, "sqlx-unavailable"),
            // The kind of the io error below does not count: no file was asked for.
            (Error::Io(io::ErrorKind::NotFound.into()), Kind::Unavailable, "sqlx-unavailable"),
            (Error::Tls("bad certificate".into()), Kind::Unavailable, "sqlx-unavailable"),
            (Error::Configuration("bad url".into()), Kind::Configuration, "sqlx-configuration"),
            (said(|| ErrorKind::UniqueViolation), Kind::Conflict, "sqlx-unique"),
            (said(|| ErrorKind::ForeignKeyViolation), Kind::Validation, "sqlx-foreign-key"),
            (said(|| ErrorKind::NotNullViolation), Kind::Validation, "sqlx-check"),
            (said(|| ErrorKind::CheckViolation), Kind::Validation, "sqlx-check"),
            (said(|| ErrorKind::Other), Kind::Database, "sqlx"),
            (Error::ColumnNotFound("permission".into()), Kind::Database, "sqlx"),
        ];
        for (error, kind, row) in table {
            let found = Classifier::standard().classify(&error);
            assert_eq!((found.kind, found.row.as_ref()), (kind, row), "{error:?}");
        }
    }
}
