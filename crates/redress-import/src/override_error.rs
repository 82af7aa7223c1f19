//! What is wrong with an override.

use redress_contract::Name;

/// What is wrong with an override.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// It finds no operation.
    #[error("no operation is `{pattern}`{}", nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NothingFound {
        /// What was looked for.
        pattern: String,
        /// The operation whose name is nearest.
        nearest: Option<String>,
    },
    /// It names a member that the input does not have.
    #[error("`{operation}` takes no `{field}`{}", nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoField {
        /// The operation.
        operation: String,
        /// The member.
        field: String,
        /// The member whose name is nearest.
        nearest: Option<String>,
    },
    /// It hides what the service cannot do without.
    #[error("`{operation}` cannot do without `{field}`, which is hidden; give it a fixed value instead")]
    HiddenRequired {
        /// The operation.
        operation: String,
        /// The member.
        field: String,
    },
    /// It names a failure that none of the operations declares.
    #[error("`{pattern}` does not fail with `{code}`{}", nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NoFailure {
        /// What was looked for.
        pattern: String,
        /// The code.
        code: String,
        /// The code that is nearest.
        nearest: Option<String>,
    },
    /// It refuses a next call that nobody proposed.
    #[error("no next call of `{pattern}` is `{refused}`")]
    NoNextCall {
        /// What was looked for.
        pattern: String,
        /// What was refused.
        refused: String,
    },
    /// It renames more than one operation.
    #[error("`{pattern}` is {found} operations, and only one can be called `{rename}`")]
    RenamesMany {
        /// What was looked for.
        pattern: String,
        /// How many there are.
        found: usize,
        /// The name.
        rename: String,
    },
    /// What it would be called is no name.
    #[error("`{name}` is not an operation name: write lower-case words joined by dots, at most {} letters", Name::MAX)]
    BadName {
        /// The name.
        name: String,
    },
    /// Two operations would be called alike.
    #[error("two operations would be called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
}
