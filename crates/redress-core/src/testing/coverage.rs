//! Which (operation, code) pairs a test run produced.

use std::{
    collections::BTreeSet,
    fmt,
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use redress_contract::{Code, Name, OperationDeclaration};
use serde::{Deserialize, Serialize};

use crate::{EndedCall, Observer, Registry};

/// One way an operation ended: with this code, or well where there is none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covered {
    /// The operation, under its own name even if an alias was called.
    pub operation: Name,
    /// The code, an engine's included; nothing where it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.code {
            Some(code) => write!(f, "{}/{code}", self.operation),
            None => write!(f, "{}", self.operation),
        }
    }
}

/// Records which (operation, code) pairs calls produced, successes included.
///
/// It is an [`Observer`], because an observer is told of every end exactly once: of calls from
/// a face, of the calls that operations make below, and of streams. A
/// [`Harness`](super::Harness) adds one by itself. Tests that do not go through a harness,
/// such as those of a running server, add it where they build: `.observer(Coverage::from_env())`.
///
/// # The file
///
/// With the environment variable `REDRESS_COVERAGE` set, the pairs are appended to the file that
/// it names. Each line is one JSON object, `{"operation":"files.read","code":"FILE_NOT_FOUND"}`,
/// without `code` for a good end. Lines come in any order and may repeat, since threads and
/// processes share the file; [`Coverage::read`] sorts them and drops repetitions. A call to an
/// operation that does not exist is no pair. The file is only ever appended to: delete it
/// before a run that should count alone.
///
/// ```
/// use redress_core::testing::Coverage;
/// use redress_core::{Operation, Registry, Request, contract};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ping = contract::OperationDeclaration::query("net.ping").with_summary("Answer.");
/// let ping = Operation::dynamic(ping).with_handler(|_, _| async { Ok(json!("pong")) });
/// let coverage = Coverage::recorder();
/// let registry = Registry::builder().add(ping).observer(coverage.clone()).build().unwrap();
///
/// registry.call("net.ping", Request::new(b"{}")).await;
/// assert_eq!(coverage.pairs()[0].code.as_ref().map(|code| code.as_str()), Some("AUTH_REQUIRED"));
/// # });
/// ```
#[derive(Clone, Debug, Default)]
pub struct Coverage(Arc<Mutex<CoverageRecords>>);

#[derive(Debug, Default)]
struct CoverageRecords {
    pairs: BTreeSet<Covered>,
    file: Option<File>,
}

impl Coverage {
    /// The environment variable that names the file.
    pub const VARIABLE: &'static str = "REDRESS_COVERAGE";

    /// A recorder that keeps the pairs in memory.
    pub fn recorder() -> Coverage {
        Coverage::default()
    }

    /// A recorder that also appends the pairs to the file at `path`.
    pub fn to_file(path: impl AsRef<Path>) -> io::Result<Coverage> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Coverage(Arc::new(Mutex::new(CoverageRecords { pairs: BTreeSet::new(), file: Some(file) }))))
    }

    /// A recorder that also appends to the file that `REDRESS_COVERAGE` names, if it names one.
    ///
    /// # Panics
    ///
    /// When that file cannot be opened: a run that was asked to record and cannot has failed.
    #[track_caller]
    pub fn from_env() -> Coverage {
        let Some(path) = std::env::var_os(Coverage::VARIABLE) else { return Coverage::recorder() };
        match Coverage::to_file(&path) {
            Ok(coverage) => coverage,
            Err(error) => panic!("{} names {}: {error}", Coverage::VARIABLE, path.display()),
        }
    }

    /// The pairs so far, sorted.
    pub fn pairs(&self) -> Vec<Covered> {
        self.records().pairs.iter().cloned().collect()
    }

    /// Whether `operation` has ended with `code`.
    pub fn has(&self, operation: &str, code: &str) -> bool {
        let ended = |pair: &Covered| pair.code.as_ref().is_some_and(|found| *found == *code);
        self.records().pairs.iter().any(|pair| pair.operation == *operation && ended(pair))
    }

    /// The failures that operations of `registry` declare and that no call has produced: each is a guess until one does.
    /// What the engine answers for every operation is not among them, nor what operations declare that come with redress
    /// itself, such as `services.schema`.
    pub fn never_produced(&self, registry: &Registry) -> Vec<Covered> {
        Coverage::missing(&self.pairs(), registry)
    }

    /// The same for the pairs of a file, which [`read`](Coverage::read) gives, when more than one process has tested.
    pub fn missing(pairs: &[Covered], registry: &Registry) -> Vec<Covered> {
        let of_the_service = |operation: &&OperationDeclaration| !comes_with_redress(registry, operation.name());
        let declared = registry.contract().operations().iter().filter(of_the_service).flat_map(|operation| {
            let codes = operation.failures().iter().map(|failure| failure.code().clone());
            codes.map(|code| Covered { operation: operation.name().clone(), code: Some(code) })
        });
        let missing: BTreeSet<Covered> = declared.filter(|pair| !pairs.contains(pair)).collect();
        missing.into_iter().collect()
    }

    /// Asserts that every declared failure was produced, but for those in `except`, written `"files.read/DISK_FULL"`.
    ///
    /// # Panics
    ///
    /// When one never was, or one that is excepted was: then it needs no exception.
    #[track_caller]
    pub fn assert_all_produced(&self, registry: &Registry, except: &[&str]) {
        let missing: Vec<String> = self.never_produced(registry).iter().map(ToString::to_string).collect();
        let unexpected: Vec<&String> = missing.iter().filter(|pair| !except.contains(&pair.as_str())).collect();
        let needless: Vec<&&str> = except.iter().filter(|pair| !missing.iter().any(|found| found == *pair)).collect();
        assert!(unexpected.is_empty(), "{} declared failure(s) were never produced: {unexpected:?}", unexpected.len());
        assert!(needless.is_empty(), "these were produced, or are not declared, and need no exception: {needless:?}");
    }

    /// The pairs in a file, sorted and without repetitions.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<Covered>> {
        let mut pairs = BTreeSet::new();
        for line in BufReader::new(File::open(path)?).lines() {
            pairs.insert(serde_json::from_str(&line?)?);
        }
        Ok(pairs.into_iter().collect())
    }

    fn records(&self) -> MutexGuard<'_, CoverageRecords> {
        // A pair is in the set or it is not, so a lock without poison will do.
        self.0.lock()
    }
}

impl Observer for Coverage {
    fn ended(&self, call: &EndedCall<'_>) {
        let Some(operation) = call.operation.filter(|_| !call.asks) else { return };
        let pair =
            Covered { operation: operation.name().clone(), code: call.problem.map(|problem| problem.code.clone()) };
        let mut records = self.records();
        if records.pairs.contains(&pair) {
            return;
        }
        if let Some(file) = &mut records.file
            && let Err(error) = append(file, &pair)
        {
            tracing::error!(%error, "a pair could not be recorded");
        }
        records.pairs.insert(pair);
    }
}

/// Whether an operation comes with redress, where it is tested.
pub(super) fn comes_with_redress(registry: &Registry, operation: &Name) -> bool {
    registry.find(operation.as_str()).is_some_and(|entry| entry.of_redress)
}

/// Appends one whole line, under a lock that other processes respect as well.
fn append(file: &mut File, pair: &Covered) -> io::Result<()> {
    let mut line = serde_json::to_vec(pair)?;
    line.push(b'\n');
    file.lock()?;
    let written = file.write_all(&line);
    file.unlock()?;
    written
}
