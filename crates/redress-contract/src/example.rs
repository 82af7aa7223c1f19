//! Inputs with the endings they lead to.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An input with the ending it leads to: documentation, test and drill data at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What goes in.
    pub input: Value,
    /// What comes out.
    #[serde(flatten)]
    pub ending: ExampleEnding,
}

/// How an example ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExampleEnding {
    /// With this output.
    Output(Value),
    /// With the failure of this code.
    Failure(String),
}
