//! What a tool costs a model that is shown it.

use super::Tool;

/// What one tool costs a model: what hosts show of it, which is its name, its description and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The tool.
    pub tool: String,
    /// The bytes of that as JSON.
    pub bytes: usize,
    /// About how many tokens that is: a quarter of the characters, rounded up.
    pub tokens: usize,
}

/// What `tool` costs a model that is shown it.
pub fn cost(tool: &Tool) -> Cost {
    let shown = tool.shown();
    Cost { tool: tool.name().to_owned(), bytes: shown.len(), tokens: shown.chars().count().div_ceil(4) }
}
