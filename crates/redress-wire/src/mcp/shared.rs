//! The codes that many tools of a namespace can fail with: told once, in the instructions.

use std::collections::BTreeMap;

use redress_contract::{FailureDeclaration, OperationDeclaration, Recovery};

use super::{
    describe::{ToolReader, advice, advised},
    prose::Spoken,
};

/// How many tools a code has to be of, and of how many in three.
const MIN_SHARERS: usize = 3;
const OF_THREE: usize = 1;
/// Of how many namespaces codes are told at once: instructions are read whole, whatever a model calls.
const MAX_NAMESPACES: usize = 8;

/// Failures by what is said of them, and of how many tools each is.
type Counts<'a> = BTreeMap<String, (usize, &'a FailureDeclaration)>;

/// By namespace, what is told of its tools at once: failures, by what is said of them to anybody.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedFailures(BTreeMap<String, BTreeMap<String, FailureDeclaration>>);

impl SharedFailures {
    /// What these operations share: the same code, with the same to do then.
    pub fn of<'a>(operations: impl Iterator<Item = &'a OperationDeclaration>) -> SharedFailures {
        let mut namespaces: BTreeMap<&str, (usize, Counts<'_>)> = BTreeMap::new();
        for operation in operations {
            let (tools, counts) = namespaces.entry(operation.name().namespace()).or_default();
            *tools += 1;
            for failure in operation.failures() {
                counts.entry(advice(failure)).or_insert((0, failure)).0 += 1;
            }
        }
        let shared = namespaces.into_iter().filter_map(|(namespace, (tools, counts))| {
            let is_shared = |count: usize| count >= MIN_SHARERS && count * 3 >= tools * OF_THREE;
            let codes = counts.into_iter().filter(|(_, (count, _))| is_shared(*count));
            let codes: BTreeMap<String, FailureDeclaration> =
                codes.map(|(advice, (_, failure))| (advice, failure.clone())).collect();
            (!codes.is_empty()).then_some((tools, namespace, codes))
        });
        let mut shared: Vec<_> = shared.collect();
        shared.sort_by(|(tools, one, _), (others, other, _)| others.cmp(tools).then_with(|| one.cmp(other)));
        shared.truncate(MAX_NAMESPACES);
        SharedFailures(shared.into_iter().map(|(_, namespace, codes)| (namespace.to_owned(), codes)).collect())
    }

    /// Whether a failure of the operation is told of all tools of its namespace at once.
    pub fn tells(&self, operation: &OperationDeclaration, failure: &FailureDeclaration) -> bool {
        self.0.get(operation.name().namespace()).is_some_and(|codes| codes.contains_key(&advice(failure)))
    }

    /// The lines about the namespaces that are seen. What leads to a tool that the reader cannot call, its own tools say
    /// otherwise, each for itself.
    pub(super) fn lines(&self, is_seen: &dyn Fn(&str) -> bool, reader: ToolReader<'_>) -> String {
        let leads_out = |failure: &FailureDeclaration| {
            let target = failure.recovery().and_then(Recovery::target);
            target.is_some_and(|target| (reader.names)(target.as_str()) == Spoken::Closed)
        };
        let seen = self.0.iter().filter(|(namespace, _)| is_seen(namespace));
        let line = |(namespace, codes): (&String, &BTreeMap<String, FailureDeclaration>)| {
            let codes = codes.values().filter(|failure| !leads_out(failure));
            let codes: Vec<String> = codes.map(|failure| advised(failure, reader)).collect();
            (!codes.is_empty()).then(|| format!("Tools {namespace}_* can also fail with: {}.\n", codes.join(", ")))
        };
        seen.filter_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redress_contract::Kind;

    fn tool(name: &str, codes: &[&str]) -> OperationDeclaration {
        let failure = |code: &&str| {
            FailureDeclaration::new(code, Kind::Conflict)
                .with_recovery(Recovery::ask_user("Ask somebody who may know it."))
        };
        OperationDeclaration::query(name).with_failures(codes.iter().map(failure).collect::<Vec<_>>())
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
        let told = "Tools lab_* can also fail with: WORN (ask the user).\n";
        assert_eq!(shared.lines(&|_| true, ToolReader::ANYBODY), told);
        assert_eq!(shared.lines(&|namespace| namespace != "lab", ToolReader::ANYBODY), "");
        let told =
            |tool: &OperationDeclaration| tool.failures().iter().filter(|failure| shared.tells(tool, failure)).count();
        assert_eq!(tools.each_ref().map(told), [1, 1, 1, 0, 0]);
    }

    #[test]
    fn what_leads_to_a_tool_is_told_to_those_who_can_call_it() {
        let gone = || {
            FailureDeclaration::new("GONE", Kind::NotFound)
                .with_recovery(Recovery::call("lab.list", "List all of them first."))
        };
        let tools = ["lab.a", "lab.b", "lab.c"].map(|name| OperationDeclaration::query(name).fails(gone()));
        let shared = SharedFailures::of(tools.iter());
        let told =
            |names: &dyn Fn(&str) -> Spoken| shared.lines(&|_| true, ToolReader { names, shared: &|_, _| false });
        assert_eq!(
            told(&|_| Spoken::Tool("lab_list".to_owned())),
            "Tools lab_* can also fail with: GONE (call lab_list).\n"
        );
        assert_eq!(told(&|_| Spoken::Closed), "");
    }

    #[test]
    fn so_many_namespaces_are_told_of_and_no_more() {
        let names: Vec<String> =
            (0..MAX_NAMESPACES + 3).flat_map(|n| (0..3).map(move |m| format!("n{n}.m{m}"))).collect();
        let tools: Vec<OperationDeclaration> = names.iter().map(|name| tool(name, &["WORN"])).collect();
        assert_eq!(
            SharedFailures::of(tools.iter()).lines(&|_| true, ToolReader::ANYBODY).lines().count(),
            MAX_NAMESPACES
        );
    }
}
