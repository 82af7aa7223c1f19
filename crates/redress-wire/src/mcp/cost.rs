//! What a tool costs whoever lists it.

use super::{Era, Tool};

/// What one tool costs whoever lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The tool.
    pub tool: String,
    /// Its bytes in `tools/list`.
    pub bytes: usize,
    /// About how many tokens that is: a quarter of the characters, rounded up.
    pub tokens: usize,
}

/// What `tool` costs whoever lists it.
pub fn cost(tool: &Tool) -> Cost {
    let json = tool.text(Era::Legacy).json();
    let characters = String::from_utf8_lossy(json).chars().count();
    Cost { tool: tool.name().to_owned(), bytes: json.len(), tokens: characters.div_ceil(4) }
}
