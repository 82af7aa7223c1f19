//! What a `sqlx::Error` is.

use redress_contract::Kind;
use sqlx::{Error, error::ErrorKind};

use super::by_type::TypeRow;

pub(super) fn rows() -> [TypeRow; 8] {
    [
        TypeRow::when("sqlx-not-found", "sqlx::Error, RowNotFound", Kind::NotFound, |error| {
            matches!(error, Error::RowNotFound)
        }),
        TypeRow::when("sqlx-timeout", "sqlx::Error, PoolTimedOut", Kind::Timeout, |error| {
            matches!(error, Error::PoolTimedOut)
        }),
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

/// The constraint that the database says was broken.
fn constraint(error: &Error) -> Option<ErrorKind> {
    error.as_database_error().map(|error| error.kind())
}

#[cfg(test)]
mod tests {
    use std::{error::Error as StdError, fmt, io};

    use sqlx::error::DatabaseError;

    use super::*;
    use crate::classify::Classifier;

    /// What a database says, without a database.
    #[derive(Debug)]
    struct Said(fn() -> ErrorKind);

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
        // 1.5.
        let said = |kind| Error::Database(Box::new(Said(kind)));
        let table = [
            (Error::RowNotFound, Kind::NotFound, "sqlx-not-found"),
            (Error::PoolTimedOut, Kind::Timeout, "sqlx-timeout"),
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
