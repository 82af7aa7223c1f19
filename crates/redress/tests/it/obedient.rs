//! A canary: an agent that follows every advice of every failure of every example.

#[path = "../../../redress-bin/tests/it/obedient/walk.rs"]
mod walk;

use std::{collections::BTreeSet, fs};

use redress::{Caller, Registry, Request, contract::Shape};
use walk::{Tools, Walk, inputs};

use crate::example::{command, output_of};

/// The examples that make a registry and show calls of it.
macro_rules! examples {
    ($($name:ident at $path:literal,)*) => {
        $(
            #[expect(dead_code, reason = "the example is a program, and only its registry is walked here")]
            #[path = $path]
            mod $name;
        )*
    };
}

examples! {
    compose at "../../../../examples/compose.rs",
    extension at "../../../../examples/extension.rs",
    retries at "../../../../examples/retries.rs",
    tickets at "../../../../examples/tickets.rs",
}

/// The examples that have the commands, each with words for the texts in inputs, what is left out because it does not end,
/// and a code that the agent has to meet.
const SERVED: [(&str, &[&str], &[&str], &str); 4] = [
    ("serve", &["x"], &[], "INVALID_INPUT"),
    ("orders", &["o-1", "o-9", "desk", "lamp"], &[], "CONSENT_REQUIRED"),
    ("tools", &["x"], &[], "INVALID_INPUT"),
    ("conformance", &["x"], &[], "INVALID_INPUT"),
];
/// The examples that show something and end; what they print is all that an agent could follow.
const SHOWN: [&str; 11] =
    ["ask", "compose", "extension", "fitted", "mount", "notes", "quota", "retries", "streams", "tickets", "web_socket"];

#[test]
fn no_advice_of_a_served_example_leads_to_a_consent() {
    for (example, words, skipped, code) in SERVED {
        let mut tools = Tools::start(&mut command(example, &["mcp", "--log-level", "off"]));
        let walk = tools.walk(words, skipped);
        assert!(walk.codes.contains(code), "{example} met {:?}", walk.codes);
    }
}

#[test]
fn no_advice_that_an_example_prints_leads_to_a_consent() {
    for example in SHOWN {
        let printed = output_of(example);
        assert!(!printed.contains("consent.grant") && !printed.contains("consent_grant"), "{example}: {printed}");
    }
}

/// Calls every operation of a registry in every way, and follows what it is told.
fn walked(runtime: &tokio::runtime::Runtime, registry: &Registry, caller: &Caller, words: &[&str]) -> Walk {
    let mut walk = Walk::default();
    let mut call = |operation: &str, input: &serde_json::Value| {
        let request = Request::new(input.to_string().into_bytes()).with_caller(caller.clone());
        let envelope = runtime.block_on(registry.call(operation, request));
        envelope.problem()?;
        Some(serde_json::from_slice(&envelope.to_bytes()).unwrap())
    };
    let open = registry.open_to(Some(caller)).filter(|operation| operation.shape() != Shape::Subscription);
    // The last ones first, so that what the first ones do has not been done yet.
    for operation in open.collect::<Vec<_>>().into_iter().rev() {
        for input in inputs(operation.input().as_value(), words) {
            walk.make(operation.name().as_str(), &input, &mut call);
        }
    }
    walk
}

#[test]
fn no_advice_of_the_registry_of_an_example_leads_to_a_consent() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ada = |scopes: &[&'static str]| Caller::new("ada").scopes(scopes.iter().copied());
    let bank = retries::Bank::default();
    (0..8).for_each(|_| bank.next(retries::Mishap::Unsure));
    let registries = [
        (compose::registry().unwrap(), ada(&["ledger:read"]), &["ada", "eve"][..], "ACCOUNT_UNKNOWN"),
        (runtime.block_on(extension::started()), ada(&[]), &["x"], "trace.NOT_RECORDING"),
        (retries::registry(&bank).unwrap(), ada(&[]), &["x"], "BANK_UNSURE"),
        (tickets::registry().unwrap(), ada(&["tickets:read", "tickets:write"]), &["t-1", "t-9"], "TICKET_UNKNOWN"),
    ];
    let mut advised = 0;
    for (registry, caller, words, code) in registries {
        let walk = walked(&runtime, &registry, &caller, words);
        assert!(walk.codes.contains(code), "{code} is not among {:?}", walk.codes);
        advised += walk.advised;
    }
    assert!(advised >= 2, "{advised}");
}

#[test]
fn every_example_is_walked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned())).collect();
    let walked = SERVED.iter().map(|(example, ..)| example).chain(&SHOWN).map(|name| (*name).to_owned()).collect();
    assert_eq!(there, walked);
}
