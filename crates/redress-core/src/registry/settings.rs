//! The numbers that bound every call.

use std::time::Duration;

/// The numbers that bound every call of a registry.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long a call may take where its operation does not say.
    pub deadline: Duration,
    /// How many bytes of input an operation takes where it does not say.
    pub max_input: usize,
    /// How many bytes of output an operation may give at once where it does not say.
    pub max_output: usize,
    /// How deep the JSON of an input may nest: at most 127, where the parser itself stops.
    pub json_depth: usize,
    /// How many members of objects and items of arrays an input may hold, all of them together.
    pub json_members: usize,
    /// How deep operations may call each other.
    pub max_depth: usize,
    /// From when on a call is worth a warning.
    pub slow: Duration,
    /// Whether the outputs and details of typed operations are checked against their
    /// schemas. Those of operations declared as data always are.
    pub check_outputs: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            deadline: Duration::from_secs(30),
            max_input: 1024 * 1024,
            max_output: 16 * 1024 * 1024,
            json_depth: 127,
            json_members: 100_000,
            max_depth: 8,
            slow: Duration::from_secs(1),
            check_outputs: cfg!(debug_assertions),
        }
    }
}
