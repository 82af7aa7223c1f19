//! A canary: an agent that follows every advice of every failure of every example.

#[path = "../../../redress-bin/tests/it/obedient/walk.rs"]
mod walk;

use std::{collections::BTreeSet, fs};

use walk::Tools;

use crate::example::{command, output_of};

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

#[test]
fn every_example_is_walked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let there: BTreeSet<String> = names.filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned())).collect();
    let walked = SERVED.iter().map(|(example, ..)| example).chain(&SHOWN).map(|name| (*name).to_owned()).collect();
    assert_eq!(there, walked);
}
