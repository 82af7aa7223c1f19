//! What sort of bad ending a foreign error is: by its type first, by its text last.
//!
//! Best effort by design: a failure that is declared needs none of this. What is absent on
//! purpose is the foreign text itself. It is read here and goes no further; a
//! [`Classification`] has no place to hold it.

mod by_type;
mod chain;
#[cfg(feature = "sqlx")]
mod database;
#[cfg(test)]
mod foreign;
#[cfg(feature = "reqwest")]
mod http_client;
mod judged;
mod tables;

use std::{borrow::Cow, error::Error, fmt, sync::LazyLock};

use redress_contract::{EngineCode, Kind, Problem};
use regex::bytes::{RegexSet, RegexSetBuilder};

use self::{by_type::TypeRow, tables::TextRow};
pub(crate) use self::{
    chain::{chain, write_text},
    judged::Judged,
};

/// What a foreign error was taken for. It holds none of the error's own text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// What sort of error it is, for the log and the metrics. A caller is told the code and the
    /// code's own kind: that a library did not find its file is nothing that its caller did.
    pub kind: Kind,
    /// The code it is answered with: the engine's own where a caller can act on it,
    /// `INTERNAL` everywhere else.
    pub code: EngineCode,
    /// The name of the row that decided, for the log; `fallback` if none did.
    pub row: Cow<'static, str>,
}

/// The rows by which foreign errors are classified, in order.
///
/// 1. **Types.** The error and everything it was caused by, outermost first, are looked at by
///    type: first the types given to [`with_type`](Classifier::with_type), then the known ones.
///    The outermost error that a row knows decides, since it knows most about the call.
/// 2. **Texts.** Every row is a pattern, matched without regard to case and only as whole
///    words, against the text of the error and of each of its causes. The first row that
///    matches any of them decides: rows given to
///    [`with_row_first`](Classifier::with_row_first), then what providers say, then what
///    errors commonly say.
/// 3. Anything else is [`Kind::Internal`].
///
/// At most 20 errors of a chain are looked at, and at most 4 kB of each text.
///
/// ```
/// use std::io;
/// use redress_contract::{EngineCode, Kind};
/// use redress_core::Classifier;
///
/// let classifier = Classifier::standard();
///
/// let refused = classifier.classify(&io::Error::from(io::ErrorKind::ConnectionRefused));
/// assert_eq!((refused.kind, refused.code), (Kind::Unavailable, EngineCode::UpstreamUnreachable));
///
/// let missing = classifier.classify(&io::Error::from(io::ErrorKind::NotFound));
/// assert_eq!((missing.kind, missing.code), (Kind::NotFound, EngineCode::Internal));
///
/// let slow = classifier.classify(&io::Error::other("upstream said: deadline exceeded"));
/// assert_eq!((slow.kind, slow.code), (Kind::Timeout, EngineCode::Timeout));
/// assert_eq!(slow.row, "text-timeout");
/// ```
#[derive(Clone)]
pub struct Classifier {
    own_types: Vec<TypeRow>,
    types: Vec<TypeRow>,
    texts: Vec<TextRow>,
    /// The patterns of `texts`, under the same numbers.
    set: RegexSet,
}

/// One row of a [`Classifier`], as it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassifierRow<'a> {
    /// The table it stands in.
    pub table: ClassifierTable,
    /// The name it is removed by, and logged under.
    pub name: &'a str,
    /// The type it knows, or the pattern it looks for.
    pub pattern: &'a str,
    /// What it says; `None` where the type's own function says it.
    pub kind: Option<Kind>,
}

/// The tables of a [`Classifier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassifierTable {
    /// Types that were added to the standard ones.
    OwnType,
    /// Types that are known from the start.
    Type,
    /// Patterns that were added to the standard ones.
    OwnText,
    /// What providers and drivers say: exact names and phrases.
    Provider,
    /// What errors commonly say.
    Common,
}

/// Why a row was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The pattern is no regular expression, or too large a one.
    #[error("the pattern of row `{row}` cannot be compiled")]
    Uncompilable {
        /// The row's name.
        row: String,
        /// What is wrong in it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Another row has the name.
    #[error("there is already a row named `{row}`")]
    NameTaken {
        /// The row's name.
        row: String,
    },
}

static STANDARD: LazyLock<Classifier> = LazyLock::new(|| {
    let texts: Vec<TextRow> = tables::standard().collect();
    let set = compile(&texts).expect("the standard patterns compile, as a test proves");
    Classifier { own_types: Vec::new(), types: by_type::standard(), texts, set }
});

/// See [`crate::warm_up`].
pub(crate) fn warm_up() {
    LazyLock::force(&STANDARD);
}

impl Classification {
    /// What is answered for `kind`, and what decided on it.
    pub(crate) fn of_kind(kind: Kind, row: impl Into<Cow<'static, str>>) -> Classification {
        Classification { kind, code: code_of(kind), row: row.into() }
    }

    /// What is answered where a composed call ended with `problem` and nobody had promised that. What the engine said
    /// of this very service stays what it is: its own limits are no upstream's.
    pub(crate) fn of_called(problem: &Problem) -> Classification {
        let found = Classification::of_kind(problem.kind, "composed call");
        match EngineCode::parse(problem.code.as_str()) {
            Some(code @ (EngineCode::RateLimited | EngineCode::Overloaded)) => Classification { code, ..found },
            Some(_) | None => found,
        }
    }
}

/// The engine's own code for a kind, where a caller can act on it: what the operation leans on is
/// down, busy or over its limit, or some deadline has passed. Everything else is a bug of the
/// service. An upstream's limit is none of ours, so it is not RATE_LIMITED; and a text that says
/// "aborted" has cancelled nobody's call, so nothing here is CANCELLED.
const fn code_of(kind: Kind) -> EngineCode {
    match kind {
        Kind::Timeout => EngineCode::Timeout,
        Kind::Unavailable | Kind::RateLimited => EngineCode::UpstreamUnreachable,
        Kind::Cancelled
        | Kind::Parse
        | Kind::InvalidRequest
        | Kind::MethodNotFound
        | Kind::InvalidParams
        | Kind::Internal
        | Kind::NotFound
        | Kind::Conflict
        | Kind::Forbidden
        | Kind::Unauthorized
        | Kind::Validation
        | Kind::Configuration
        | Kind::Initialization
        | Kind::Database
        | Kind::Serialization
        | Kind::Unknown => EngineCode::Internal,
    }
}

impl Classifier {
    /// The standard rows. They are compiled once in the life of the process.
    pub fn standard() -> Classifier {
        STANDARD.clone()
    }

    /// No rows: every error is [`Kind::Internal`] until some are added.
    pub fn empty() -> Classifier {
        Classifier { own_types: Vec::new(), types: Vec::new(), texts: Vec::new(), set: RegexSet::empty() }
    }

    /// Adds a pattern before all other patterns; types still come before it.
    ///
    /// The pattern is a regular expression in the syntax of the `regex` crate. Case does not
    /// matter, and it matches whole words only: `quota` does not match `quotation`.
    ///
    /// ```
    /// use std::io;
    /// use redress_contract::Kind;
    /// use redress_core::Classifier;
    ///
    /// # fn main() -> Result<(), redress_core::PatternError> {
    /// let classifier = Classifier::standard().with_row_first("ledger-closed", "ledger is closed", Kind::Conflict)?;
    /// let closed = classifier.classify(&io::Error::other("invalid posting: the ledger is closed"));
    /// assert_eq!(closed.kind, Kind::Conflict);
    /// # Ok(()) }
    /// ```
    pub fn with_row_first(
        mut self,
        name: impl Into<String>,
        pattern: impl Into<String>,
        kind: Kind,
    ) -> Result<Classifier, PatternError> {
        let (name, pattern) = (name.into(), pattern.into());
        if self.rows().any(|row| row.name == name) {
            return Err(PatternError::NameTaken { row: name });
        }
        let uncompilable =
            |source: regex::Error| PatternError::Uncompilable { row: name.clone(), source: Box::new(source) };
        // Alone first: unbalanced brackets must not borrow ours from around them.
        regex::Regex::new(&pattern).map_err(uncompilable)?;
        let row = TextRow::own(name.clone(), pattern, kind);
        self.texts.insert(0, row);
        self.set = compile(&self.texts).map_err(uncompilable)?;
        Ok(self)
    }

    /// Adds a type before all other rows. `judge` gives `None` for an error that it leaves to
    /// the rows after it. The row is named for the type; adding the type again replaces it.
    ///
    /// ```
    /// use redress_contract::Kind;
    /// use redress_core::Classifier;
    ///
    /// #[derive(Debug)]
    /// struct LedgerError { closed: bool }
    /// # impl std::fmt::Display for LedgerError {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("ledger") }
    /// # }
    /// impl std::error::Error for LedgerError {}
    ///
    /// let classifier =
    ///     Classifier::standard().with_type::<LedgerError>(|error| error.closed.then_some(Kind::Conflict));
    /// assert_eq!(classifier.classify(&LedgerError { closed: true }).kind, Kind::Conflict);
    /// assert_eq!(classifier.classify(&LedgerError { closed: false }).kind, Kind::Internal);
    /// ```
    #[must_use]
    pub fn with_type<E: Error + 'static>(mut self, judge: fn(&E) -> Option<Kind>) -> Classifier {
        let row = TypeRow::own(judge);
        self.own_types.retain(|other| other.name != row.name);
        self.own_types.insert(0, row);
        self
    }

    /// Leaves out the row of that name. A name that no row has changes nothing.
    #[must_use]
    pub fn without(mut self, name: &str) -> Classifier {
        self.own_types.retain(|row| row.name != name);
        self.types.retain(|row| row.name != name);
        let before = self.texts.len();
        self.texts.retain(|row| row.name != name);
        if self.texts.len() < before {
            self.set = compile(&self.texts).expect("fewer patterns compile where more of them did");
        }
        self
    }

    /// Every row, in the order in which they are asked.
    pub fn rows(&self) -> impl Iterator<Item = ClassifierRow<'_>> {
        let own = self.own_types.iter().map(|row| row.printed(ClassifierTable::OwnType));
        let types = self.types.iter().map(|row| row.printed(ClassifierTable::Type));
        own.chain(types).chain(self.texts.iter().map(TextRow::printed))
    }

    /// Says what sort of bad ending `error` is.
    pub fn classify(&self, error: &(dyn Error + 'static)) -> Classification {
        self.by_type(error)
            .or_else(|| self.by_text(error))
            .unwrap_or_else(|| Classification::of_kind(Kind::Internal, "fallback"))
    }

    fn by_type(&self, error: &(dyn Error + 'static)) -> Option<Classification> {
        [&self.own_types, &self.types]
            .into_iter()
            .find_map(|rows| chain(error).find_map(|cause| rows.iter().find_map(|row| row.judge(cause))))
    }

    fn by_text(&self, error: &(dyn Error + 'static)) -> Option<Classification> {
        let mut text = String::new();
        let first = chain(error).filter_map(|cause| {
            chain::write_text(cause, &mut text);
            self.set.matches(text.as_bytes()).iter().next()
        });
        let row = self.texts.get(first.min()?)?;
        Some(Classification::of_kind(row.kind, row.name.clone()))
    }
}

/// Compiles the patterns of `rows`, so that each matches whole words in any case.
fn compile(rows: &[TextRow]) -> Result<RegexSet, regex::Error> {
    // ASCII word bounds, because the fast engines of `regex` give up at Unicode ones as soon
    // as a text holds a letter that is not ASCII, and the text may be an attacker's.
    let bounded = |row: &TextRow| format!(r"(?-u:\b{{start-half}})(?:{})(?-u:\b{{end-half}})", row.pattern);
    RegexSetBuilder::new(rows.iter().map(bounded)).case_insensitive(true).build()
}

impl Default for Classifier {
    fn default() -> Classifier {
        Classifier::standard()
    }
}

/// One line for each row, in order, and one for what no row knows.
impl fmt::Display for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows().map(|row| row.name.len()).max().unwrap_or(0);
        for ClassifierRow { table, name, pattern, kind } in self.rows() {
            let kind = kind.map_or("(its own)", Kind::as_str);
            writeln!(f, "{:<8}  {name:<width$}  {kind:<14}  {pattern}", table.as_str())?;
        }
        writeln!(f, "{:<8}  {:<width$}  {:<14}  anything else", "", "fallback", Kind::Internal.as_str())
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rows()).finish()
    }
}

impl ClassifierTable {
    /// The table as it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            ClassifierTable::OwnType => "own type",
            ClassifierTable::Type => "type",
            ClassifierTable::OwnText => "own text",
            ClassifierTable::Provider => "provider",
            ClassifierTable::Common => "common",
        }
    }
}

impl fmt::Display for ClassifierTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests;
