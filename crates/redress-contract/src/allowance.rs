//! What is left of an allowance of calls.

/// What is left of an allowance of calls that a caller has for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// What it is called among the allowances of a service, in visible ASCII.
    pub policy: std::sync::Arc<str>,
    /// How many calls it is for.
    pub limit: u64,
    /// How many of them are left.
    pub remaining: u64,
    /// For how many seconds it is.
    pub window_seconds: u64,
    /// In how many seconds it is whole again.
    pub renews_seconds: u64,
}
