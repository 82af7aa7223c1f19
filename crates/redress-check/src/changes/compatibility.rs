//! What a change means for those who call.

use std::fmt;

use serde::Serialize;

/// What a change means for those who call, from the worst on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compatibility {
    /// Never to be done, whoever agrees: a code that has meant one thing means another.
    Forbidden,
    /// Some caller that works now does not work then.
    Breaking,
    /// It cannot be told, and nothing was found that shows either.
    Undecided,
    /// The words are others. To a model, which goes by them, that is a change of its own.
    Wording,
    /// Every caller that works now works then.
    Compatible,
}

impl Compatibility {
    /// Every one, from the worst on.
    pub const ALL: [Compatibility; 5] = [
        Compatibility::Forbidden,
        Compatibility::Breaking,
        Compatibility::Undecided,
        Compatibility::Wording,
        Compatibility::Compatible,
    ];

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Compatibility::Forbidden => "forbidden",
            Compatibility::Breaking => "breaking",
            Compatibility::Undecided => "undecided",
            Compatibility::Wording => "wording",
            Compatibility::Compatible => "compatible",
        }
    }

    /// Whether a gate lets it pass without anybody having said so.
    pub const fn passes(self) -> bool {
        matches!(self, Compatibility::Wording | Compatibility::Compatible)
    }

    /// The version that has to be raised for it.
    pub const fn bump(self) -> Bump {
        match self {
            Compatibility::Forbidden | Compatibility::Breaking | Compatibility::Undecided => Bump::Major,
            Compatibility::Wording => Bump::Patch,
            Compatibility::Compatible => Bump::Minor,
        }
    }
}

impl fmt::Display for Compatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which number of a version has to be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    /// None.
    None,
    /// The third.
    Patch,
    /// The second.
    Minor,
    /// The first.
    Major,
}

impl Bump {
    /// What changes need as a whole.
    ///
    /// ```
    /// use redress_check::{Bump, Compatibility};
    ///
    /// assert_eq!(Bump::of([Compatibility::Wording, Compatibility::Breaking]), Bump::Major);
    /// assert_eq!(Bump::of([]), Bump::None);
    /// ```
    pub fn of(changes: impl IntoIterator<Item = Compatibility>) -> Bump {
        changes.into_iter().map(Compatibility::bump).max().unwrap_or(Bump::None)
    }

    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Bump::None => "none",
            Bump::Patch => "patch",
            Bump::Minor => "minor",
            Bump::Major => "major",
        }
    }
}
