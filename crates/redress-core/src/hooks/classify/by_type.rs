//! The rows that go by an error's type.

use std::{any, borrow::Cow, env, error::Error, fmt, io, net, num, str, string, sync::Arc};

use redress_contract::{EngineCode, Kind};
use tokio::{task::JoinError, time::error::Elapsed};

use super::{Classification, ClassifierRow, ClassifierTable};

/// A row that knows a type.
#[derive(Clone)]
pub(super) struct TypeRow {
    pub(super) name: Cow<'static, str>,
    pattern: Cow<'static, str>,
    kind: Option<Kind>,
    /// What is answered, where the kind alone does not say it.
    code: Option<EngineCode>,
    judge: Arc<TypeJudge>,
}

/// What a row says about one error of a chain.
type TypeJudge = dyn Fn(&(dyn Error + 'static)) -> Option<Kind> + Send + Sync;

impl TypeRow {
    /// A row whose function says the kind; it is named for its type.
    pub(super) fn own<E: Error + 'static>(judge: fn(&E) -> Option<Kind>) -> TypeRow {
        let name = Cow::Borrowed(any::type_name::<E>());
        TypeRow {
            name: name.clone(),
            pattern: name,
            kind: None,
            code: None,
            judge: Arc::new(move |error| judge(error.downcast_ref()?)),
        }
    }

    /// A row that says `kind` of every `E` for which `holds`.
    pub(super) fn when<E: Error + 'static>(
        name: &'static str,
        pattern: &'static str,
        kind: Kind,
        holds: fn(&E) -> bool,
    ) -> TypeRow {
        TypeRow::matching(name, pattern.into(), kind, move |error| error.downcast_ref().is_some_and(holds))
    }

    /// A row that says `kind` of every error that `matches`.
    pub(super) fn matching(
        name: &'static str,
        pattern: Cow<'static, str>,
        kind: Kind,
        matches: impl Fn(&(dyn Error + 'static)) -> bool + Send + Sync + 'static,
    ) -> TypeRow {
        let judge = Arc::new(move |error: &(dyn Error + 'static)| matches(error).then_some(kind));
        TypeRow { name: Cow::Borrowed(name), pattern, kind: Some(kind), code: None, judge }
    }

    /// The same row, answered with this code.
    fn answered(self, code: EngineCode) -> TypeRow {
        TypeRow { code: Some(code), ..self }
    }

    /// What sort of bad ending `error` is, if this row knows it.
    pub(super) fn judge(&self, error: &(dyn Error + 'static)) -> Option<Classification> {
        let found = Classification::of_kind((self.judge)(error)?, self.name.clone());
        Some(match self.code {
            None => found,
            Some(code) => Classification { code, ..found },
        })
    }

    pub(super) fn printed(&self, table: ClassifierTable) -> ClassifierRow<'_> {
        ClassifierRow { table, name: &self.name, pattern: &self.pattern, kind: self.kind }
    }
}

/// The types that are known from the start.
pub(super) fn standard() -> Vec<TypeRow> {
    let mut rows = Vec::new();
    #[cfg(feature = "reqwest")]
    rows.extend(super::http_client::rows());
    #[cfg(feature = "sqlx")]
    rows.extend(super::database::rows());
    rows.extend([
        TypeRow::when::<Elapsed>("tokio-elapsed", "tokio::time::error::Elapsed", Kind::Timeout, |_| true),
        TypeRow::when("tokio-cancelled", "tokio::task::JoinError, cancelled", Kind::Cancelled, JoinError::is_cancelled),
        TypeRow::when("tokio-panic", "tokio::task::JoinError, panicked", Kind::Internal, JoinError::is_panic),
        TypeRow::when::<serde_json::Error>("json", "serde_json::Error", Kind::Serialization, |error| !error.is_io()),
    ]);
    // It is this very process that has no more of them, so the caller is told so: it may come again.
    rows.push(
        TypeRow::when("io-descriptors", "std::io::Error, EMFILE or ENFILE", Kind::Unavailable, |error: &io::Error| {
            cfg!(unix) && error.raw_os_error().is_some_and(|code| OUT_OF_DESCRIPTORS.contains(&code))
        })
        .answered(EngineCode::Overloaded),
    );
    rows.extend(IO.iter().map(|(name, kind, io_kinds)| {
        let pattern = format!("std::io::Error, {io_kinds:?}");
        TypeRow::matching(name, pattern.into(), *kind, |error| io_kind(error).is_some_and(|of| io_kinds.contains(&of)))
    }));
    rows.extend([
        TypeRow::matching("std-parse", "parse and conversion errors of std".into(), Kind::Validation, is_parse),
        TypeRow::when::<fmt::Error>("std-fmt", "std::fmt::Error", Kind::Serialization, |_| true),
        TypeRow::when::<env::VarError>("std-env", "std::env::VarError", Kind::Configuration, |_| true),
    ]);
    rows
}

/// `ENFILE` and `EMFILE`, which have the same numbers on every Unix: the system, or this process, has
/// as many files open as it may.
const OUT_OF_DESCRIPTORS: [i32; 2] = [23, 24];

/// What an `io::Error` is, by its kind. `Other` and the kinds that have no stable name are
/// absent, so that what such an error wraps, or says, is asked instead.
const IO: [(&str, Kind, &[io::ErrorKind]); 9] = {
    use io::ErrorKind::*;
    [
        ("io-not-found", Kind::NotFound, &[NotFound]),
        ("io-forbidden", Kind::Forbidden, &[PermissionDenied]),
        ("io-timeout", Kind::Timeout, &[TimedOut]),
        (
            "io-unavailable",
            Kind::Unavailable,
            &[
                ConnectionRefused,
                ConnectionReset,
                ConnectionAborted,
                NotConnected,
                BrokenPipe,
                HostUnreachable,
                NetworkUnreachable,
                NetworkDown,
                WouldBlock,
                Interrupted,
                ResourceBusy,
                StaleNetworkFileHandle,
                StorageFull,
                QuotaExceeded,
            ],
        ),
        ("io-conflict", Kind::Conflict, &[AlreadyExists, DirectoryNotEmpty, ExecutableFileBusy, Deadlock]),
        (
            "io-validation",
            Kind::Validation,
            &[InvalidInput, InvalidFilename, NotADirectory, IsADirectory, FileTooLarge, ArgumentListTooLong],
        ),
        ("io-serialization", Kind::Serialization, &[InvalidData, UnexpectedEof]),
        ("io-configuration", Kind::Configuration, &[AddrInUse, AddrNotAvailable, ReadOnlyFilesystem, Unsupported]),
        ("io-internal", Kind::Internal, &[OutOfMemory, WriteZero, NotSeekable, CrossesDevices, TooManyLinks]),
    ]
};

/// The kind of an `io::Error`, or of the one inside a JSON error, which hides it from its chain.
fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let json = || error.downcast_ref().and_then(serde_json::Error::io_error_kind);
    error.downcast_ref().map(io::Error::kind).or_else(json)
}

/// Whether a value that was given could not be read as what it was meant to be.
fn is_parse(error: &(dyn Error + 'static)) -> bool {
    error.is::<num::ParseIntError>()
        || error.is::<num::ParseFloatError>()
        || error.is::<num::TryFromIntError>()
        || error.is::<str::ParseBoolError>()
        || error.is::<std::char::ParseCharError>()
        || error.is::<str::Utf8Error>()
        || error.is::<string::FromUtf8Error>()
        || error.is::<net::AddrParseError>()
}

#[cfg(test)]
mod tests {
    use std::{future, time::Duration};

    use super::*;
    use crate::hooks::classify::Classifier;

    fn classify(error: impl Error + 'static) -> (Kind, String) {
        let found = Classifier::standard().classify(&error);
        (found.kind, found.row.into_owned())
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
    }

    #[test]
    fn every_io_kind_is_mapped_once() {
        // The list is written out, since a kind that is missing in the table would be
        // missing in a list made from it.
        use io::ErrorKind::*;
        let kinds = [
            (NotFound, Kind::NotFound),
            (PermissionDenied, Kind::Forbidden),
            (ConnectionRefused, Kind::Unavailable),
            (ConnectionReset, Kind::Unavailable),
            (HostUnreachable, Kind::Unavailable),
            (NetworkUnreachable, Kind::Unavailable),
            (ConnectionAborted, Kind::Unavailable),
            (NotConnected, Kind::Unavailable),
            (AddrInUse, Kind::Configuration),
            (AddrNotAvailable, Kind::Configuration),
            (NetworkDown, Kind::Unavailable),
            (BrokenPipe, Kind::Unavailable),
            (AlreadyExists, Kind::Conflict),
            (WouldBlock, Kind::Unavailable),
            (NotADirectory, Kind::Validation),
            (IsADirectory, Kind::Validation),
            (DirectoryNotEmpty, Kind::Conflict),
            (ReadOnlyFilesystem, Kind::Configuration),
            (StaleNetworkFileHandle, Kind::Unavailable),
            (InvalidInput, Kind::Validation),
            (InvalidData, Kind::Serialization),
            (TimedOut, Kind::Timeout),
            (WriteZero, Kind::Internal),
            (StorageFull, Kind::Unavailable),
            (NotSeekable, Kind::Internal),
            (QuotaExceeded, Kind::Unavailable),
            (FileTooLarge, Kind::Validation),
            (ResourceBusy, Kind::Unavailable),
            (ExecutableFileBusy, Kind::Conflict),
            (Deadlock, Kind::Conflict),
            (CrossesDevices, Kind::Internal),
            (TooManyLinks, Kind::Internal),
            (InvalidFilename, Kind::Validation),
            (ArgumentListTooLong, Kind::Validation),
            (Interrupted, Kind::Unavailable),
            (Unsupported, Kind::Configuration),
            (UnexpectedEof, Kind::Serialization),
            (OutOfMemory, Kind::Internal),
        ];
        for (io_kind, kind) in kinds {
            assert_eq!(
                classify(io::Error::from(io_kind)),
                (kind, format!("io-{kind}").replace('_', "-")),
                "{io_kind:?}"
            );
            assert_eq!(IO.iter().filter(|(_, _, of)| of.contains(&io_kind)).count(), 1, "{io_kind:?}");
        }
        assert_eq!(IO.iter().map(|(_, _, of)| of.len()).sum::<usize>(), kinds.len());
    }

    #[test]
    #[cfg(unix)]
    fn running_out_of_descriptors_is_a_want_of_capacity() {
        for code in OUT_OF_DESCRIPTORS {
            let plain = io::Error::from_raw_os_error(code);
            let wrapped = io::Error::other(io::Error::from_raw_os_error(code));
            for error in [plain, wrapped] {
                let found = Classifier::standard().classify(&error);
                assert_eq!((found.kind, found.code), (Kind::Unavailable, EngineCode::Overloaded), "{error:?}");
            }
        }
        let other = Classifier::standard().classify(&io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!((other.kind, other.code), (Kind::Unavailable, EngineCode::UpstreamUnreachable));
    }

    #[test]
    fn an_io_error_without_a_telling_kind_is_asked_for_what_it_wraps() {
        let wrapped = "x".parse::<u8>().unwrap_err();
        assert_eq!(classify(io::Error::other(wrapped)), (Kind::Validation, "std-parse".into()));
        let twice = io::Error::other(io::Error::from(io::ErrorKind::TimedOut));
        assert_eq!(classify(twice), (Kind::Timeout, "io-timeout".into()));
        assert_eq!(classify(io::Error::other("forbidden")), (Kind::Forbidden, "text-forbidden".into()));
        assert_eq!(classify(io::Error::other("hm")), (Kind::Internal, "fallback".into()));
    }

    #[test]
    fn the_outermost_error_that_a_row_knows_decides() {
        let inner = io::Error::from(io::ErrorKind::TimedOut);
        assert_eq!(classify(io::Error::new(io::ErrorKind::NotFound, inner)).0, Kind::NotFound);
    }

    #[test]
    fn the_runtimes_errors_are_known() {
        let errors = runtime().block_on(async {
            let elapsed = tokio::time::timeout(Duration::ZERO, future::pending::<()>()).await.unwrap_err();
            let task = tokio::spawn(future::pending::<()>());
            task.abort();
            (elapsed, task.await.unwrap_err(), tokio::spawn(async { panic!("timeout") }).await.unwrap_err())
        });
        assert_eq!(classify(errors.0), (Kind::Timeout, "tokio-elapsed".into()));
        assert_eq!(classify(errors.1), (Kind::Cancelled, "tokio-cancelled".into()));
        // What a panic said is not asked.
        assert_eq!(classify(errors.2), (Kind::Internal, "tokio-panic".into()));
    }

    #[test]
    fn a_json_error_is_about_the_value_unless_reading_it_failed() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let syntax = serde_json::from_str::<u8>("{").unwrap_err();
        assert_eq!(classify(syntax), (Kind::Serialization, "json".into()));
        let reading = serde_json::from_reader::<_, u8>(Broken).unwrap_err();
        assert_eq!(classify(reading), (Kind::Unavailable, "io-unavailable".into()));
    }

    #[test]
    fn what_std_cannot_parse_is_a_matter_of_validation() {
        // Syntax and range errors: what was given cannot be read.
        let errors: [Box<dyn Error>; 8] = [
            Box::new("x".parse::<u8>().unwrap_err()),
            Box::new("x".parse::<f64>().unwrap_err()),
            Box::new("x".parse::<bool>().unwrap_err()),
            Box::new("xy".parse::<char>().unwrap_err()),
            Box::new(u8::try_from(300).unwrap_err()),
            Box::new(str::from_utf8(&[b'a', 0xFF][..]).unwrap_err()),
            Box::new(String::from_utf8(vec![0xFF]).unwrap_err()),
            Box::new("x".parse::<net::IpAddr>().unwrap_err()),
        ];
        for error in errors {
            let found = Classifier::standard().classify(error.as_ref());
            assert_eq!((found.kind, found.row.as_ref()), (Kind::Validation, "std-parse"), "{error:?}");
        }
        assert_eq!(classify(fmt::Error).0, Kind::Serialization);
        assert_eq!(classify(env::VarError::NotPresent).0, Kind::Configuration);
    }
}
