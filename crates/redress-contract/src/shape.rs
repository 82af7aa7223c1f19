//! How an operation is asked for, from where, and where its declaration came from.

use serde::{Deserialize, Serialize};

/// How an operation is asked for and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Reads, and may be asked any number of times.
    Query,
    /// Changes something.
    Mutation,
    /// Answers with a stream.
    Subscription,
}

/// From where an operation can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// From every face, and listed.
    External,
    /// Only by other operations; to the outside it does not exist.
    Internal,
}

/// Where a declaration came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// This program.
    Local,
    /// An OpenAPI document.
    Openapi,
    /// An MCP server.
    Mcp,
    /// Another redress service.
    Call,
    /// An extension.
    Extension,
}
