//! The details of a failure have a member whose name is that of a secret.

use redress_contract::{Rule, RuleLevel};

use crate::{
    Lock,
    lint::{LintRule, LintsOf, address, failures},
};

#[doc = include_str!("secret_detail.md")]
pub(crate) static SECRET_DETAIL: LintRule = LintRule {
    rule: Rule { id: "secret-detail", since: "0.1.0", level: RuleLevel::Deny, page: include_str!("secret_detail.md") },
    check,
};

fn check(lock: &Lock, lints: &mut LintsOf) {
    for (operation, failure) in failures(lock) {
        for name in failure.details().properties().filter(|name| is_secret(name)) {
            let says = format!("its details have the member `{name}`");
            lints.push(&address(operation, failure), says, "make the field private");
        }
    }
}

/// Words that stand in the names of secrets.
const SECRET: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "credential",
    "authorization",
    "cookie",
    "privatekey",
    "stacktrace",
];

fn is_secret(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    // What a next page is asked for with, and what a text costs, is no secret.
    let is_harmless = ["pagetoken", "nexttoken", "tokens"].into_iter().any(|word| plain.contains(word));
    !is_harmless && SECRET.iter().any(|word| plain.contains(word))
}
