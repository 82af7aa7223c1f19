//! The codes that many tools of a namespace can fail with: told once, in the instructions.

use std::collections::{BTreeMap, BTreeSet};

use redress_contract::{Operation, Recovery, Verb};

use super::describe::advice;

/// How many tools a code has to be of, and of how many in three.
const LEAST_SHARERS: usize = 3;
const OF_THREE: usize = 1;
/// Of how many namespaces codes are told at once: instructions are read whole, whatever a model calls.
const MOST_NAMESPACES: usize = 8;

/// By namespace, what is told of its tools at once: codes, each with what to do then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedFailures(BTreeMap<String, BTreeSet<String>>);

impl SharedFailures {
    /// What these operations share. A failure that sends its caller to another tool is told where it can happen, since
    /// not every reader can call that tool.
    pub fn of<'a>(operations: impl Iterator<Item = &'a Operation>) -> SharedFailures {
        let mut namespaces: BTreeMap<&str, (usize, BTreeMap<String, usize>)> = BTreeMap::new();
        for operation in operations {
            let (tools, counts) = namespaces.entry(operation.name().namespace()).or_default();
            *tools += 1;
            let told: BTreeSet<String> =
                operation.failures().iter().filter(|failure| !leads(failure.recovery())).map(advice).collect();
            told.into_iter().for_each(|advice| *counts.entry(advice).or_default() += 1);
        }
        let shared = namespaces.into_iter().filter_map(|(namespace, (tools, counts))| {
            let is_shared = |count: usize| count >= LEAST_SHARERS && count * 3 >= tools * OF_THREE;
            let codes: BTreeSet<String> =
                counts.into_iter().filter(|(_, count)| is_shared(*count)).map(|(advice, _)| advice).collect();
            (!codes.is_empty()).then_some((tools, namespace, codes))
        });
        let mut shared: Vec<_> = shared.collect();
        shared.sort_by(|(tools, one, _), (others, other, _)| others.cmp(tools).then_with(|| one.cmp(other)));
        shared.truncate(MOST_NAMESPACES);
        SharedFailures(shared.into_iter().map(|(_, namespace, codes)| (namespace.to_owned(), codes)).collect())
    }

    /// What is told of all tools of the operation's namespace.
    pub fn with(&self, operation: &Operation) -> Option<&BTreeSet<String>> {
        self.0.get(operation.name().namespace())
    }

    /// The lines about these namespaces.
    pub(super) fn lines(&self, is_seen: impl Fn(&str) -> bool) -> String {
        let seen = self.0.iter().filter(|(namespace, _)| is_seen(namespace));
        seen.map(|(namespace, codes)| {
            let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
            format!("Tools {namespace}_* can also fail with: {}.\n", codes.join(", "))
        })
        .collect()
    }
}

fn leads(recovery: Option<&Recovery>) -> bool {
    match recovery.map(Recovery::verb) {
        Some(Verb::Call { .. } | Verb::Verify { .. }) => true,
        Some(Verb::FixInput { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. } | Verb::Stop) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redress_contract::{Failure, Kind};

    fn tool(name: &str, codes: &[&str]) -> Operation {
        let failure = |code: &&str| {
            Failure::new(code, Kind::Conflict).with_recovery(Recovery::ask_user("Ask somebody who may know it."))
        };
        Operation::query(name).with_failures(codes.iter().map(failure).collect::<Vec<_>>())
    }

    #[test]
    fn codes_of_many_tools_are_told_once_and_only_to_those_who_see_one() {
        let tools = [
            tool("lab.a", &["WORN", "A_OWN"]),
            tool("lab.b", &["WORN"]),
            tool("lab.c", &["WORN", "RARE"]),
            tool("lab.d", &["RARE"]),
            tool("one.a", &["LONE"]),
        ];
        let shared = SharedFailures::of(tools.iter());
        assert_eq!(shared.lines(|_| true), "Tools lab_* can also fail with: WORN (ask the user).\n");
        assert_eq!(shared.lines(|namespace| namespace != "lab"), "");
        assert!(shared.with(&tools[0]).is_some() && shared.with(&tools[4]).is_none());
    }

    #[test]
    fn so_many_namespaces_are_told_of_and_no_more() {
        let names: Vec<String> =
            (0..MOST_NAMESPACES + 3).flat_map(|n| (0..3).map(move |m| format!("n{n}.m{m}"))).collect();
        let tools: Vec<Operation> = names.iter().map(|name| tool(name, &["WORN"])).collect();
        assert_eq!(SharedFailures::of(tools.iter()).lines(|_| true).lines().count(), MOST_NAMESPACES);
    }
}
