//! That a declaration is on its way out.

use serde::{Deserialize, Serialize};

/// That a declaration is on its way out, and what to use instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// The version that deprecated it.
    pub since: String,
    /// What to use instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// The version that will remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_in: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
