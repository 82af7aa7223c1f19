//! The rules that declarations are held to when a registry is built: a row for each, with its page.
//!
//! A rule is named by its constant where it is checked, so that one without a row or a page does not compile. An id is never
//! used again for another rule: one that is retired keeps its row and its page, which says since when.
//!
//! Why so: docs/decisions/0136-rules-are-rows.md.

use redress_contract::{Rule, RuleLevel};

macro_rules! rules {
    ($($name:ident = $id:literal, since $since:literal, $level:ident;)+) => {
        $(
            pub(crate) static $name: Rule = Rule {
                id: $id,
                since: $since,
                level: RuleLevel::$level,
                page: include_str!(concat!("../../rules/", $id, ".md")),
            };
        )+

        /// Every rule that a registry is held to, in the order of their ids.
        ///
        /// ```
        /// let rule = redress_core::RULES.iter().find(|rule| rule.id == "no-recovery").unwrap();
        /// assert!(rule.page.starts_with("# no-recovery\n"));
        /// ```
        pub static RULES: [&Rule; [$($id),+].len()] = [$(&$name),+];
    };
}

rules! {
    BAD_ACCESS = "bad-access", since "0.1.0", Deny;
    BAD_CHECK = "bad-check", since "0.1.0", Deny;
    BAD_CODE = "bad-code", since "0.1.0", Deny;
    BAD_COMPLETION = "bad-completion", since "0.1.0", Deny;
    BAD_EXAMPLE = "bad-example", since "0.1.0", Deny;
    BAD_LINEAGE = "bad-lineage", since "0.1.0", Deny;
    BAD_MESSAGE = "bad-message", since "0.1.0", Deny;
    BAD_NAME = "bad-name", since "0.1.0", Deny;
    BAD_PROMPT = "bad-prompt", since "0.1.0", Deny;
    BAD_RESOURCE = "bad-resource", since "0.1.0", Deny;
    BAD_RETRY_AFTER = "bad-retry-after", since "0.1.0", Deny;
    BAD_SCHEMA = "bad-schema", since "0.1.0", Deny;
    BAD_SHAPE = "bad-shape", since "0.1.0", Deny;
    BAD_STATUS = "bad-status", since "0.1.0", Deny;
    CODE_NAMESPACE = "code-namespace", since "0.1.0", Deny;
    DEPRECATED_REPLACEMENT = "deprecated-replacement", since "0.1.0", Deny;
    DIVERGENT_CODE = "divergent-code", since "0.1.0", Deny;
    DUPLICATE_CODE = "duplicate-code", since "0.1.0", Deny;
    DUPLICATE_NAME = "duplicate-name", since "0.1.0", Deny;
    DUPLICATE_RESOURCE = "duplicate-resource", since "0.1.0", Deny;
    DUPLICATE_STATE = "duplicate-state", since "0.1.0", Deny;
    DUPLICATE_TOOL = "duplicate-tool", since "0.1.0", Deny;
    ENGINE_CODE = "engine-code", since "0.1.0", Deny;
    EVAL_GUARD = "eval-guard", since "0.1.0", Deny;
    EVAL_LANGUAGE = "eval-language", since "0.1.0", Deny;
    EVAL_QUERY = "eval-query", since "0.1.0", Deny;
    EVAL_SOURCE = "eval-source", since "0.1.0", Deny;
    EXTENSION_CONFIG = "extension-config", since "0.1.0", Deny;
    EXTENSION_MANIFEST = "extension-manifest", since "0.1.0", Deny;
    EXTENSION_NAMESPACE = "extension-namespace", since "0.1.0", Deny;
    EXTENSION_NEEDS_START = "extension-needs-start", since "0.1.0", Deny;
    EXTENSION_SET_UP = "extension-set-up", since "0.1.0", Deny;
    EXTENSION_VERSION = "extension-version", since "0.1.0", Deny;
    HINT_TEMPLATE = "hint-template", since "0.1.0", Deny;
    IMPOSSIBLE_SCHEMA = "impossible-schema", since "0.1.0", Deny;
    NAMESPACE_OWNER = "namespace-owner", since "0.1.0", Deny;
    NEEDLESS_AUTHORITY = "needless-authority", since "0.1.0", Deny;
    NEEDLESS_KEY = "needless-key", since "0.1.0", Deny;
    NO_RECOVERY = "no-recovery", since "0.1.0", Deny;
    NO_STATE = "no-state", since "0.1.0", Deny;
    NO_WHEN = "no-when", since "0.1.0", Deny;
    REACH_ACCESS = "reach-access", since "0.1.0", Deny;
    REACH_CONSENT = "reach-consent", since "0.1.0", Deny;
    REACH_SHAPE = "reach-shape", since "0.1.0", Deny;
    REACH_UNKNOWN = "reach-unknown", since "0.1.0", Deny;
    RECOVERY_ACCESS = "recovery-access", since "0.1.0", Deny;
    RECOVERY_CONSENT = "recovery-consent", since "0.1.0", Deny;
    RECOVERY_CYCLE = "recovery-cycle", since "0.1.0", Deny;
    RECOVERY_FIELD = "recovery-field", since "0.1.0", Deny;
    RECOVERY_HIDDEN = "recovery-hidden", since "0.1.0", Deny;
    RECOVERY_SCOPE = "recovery-scope", since "0.1.0", Deny;
    RECOVERY_SHAPE = "recovery-shape", since "0.1.0", Deny;
    RECOVERY_UNKNOWN = "recovery-unknown", since "0.1.0", Deny;
    SHORT_HINT = "short-hint", since "0.1.0", Deny;
    UNBOUND_HANDLER = "unbound-handler", since "0.1.0", Deny;
    VERIFY_DONE = "verify-done", since "0.1.0", Deny;
    VERIFY_NEEDLESS = "verify-needless", since "0.1.0", Deny;
    VERIFY_TARGET = "verify-target", since "0.1.0", Deny;
    ZERO_BUFFER = "zero-buffer", since "0.1.0", Deny;
    ZERO_DEADLINE = "zero-deadline", since "0.1.0", Deny;
}
