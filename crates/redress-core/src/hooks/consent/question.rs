//! What a person is told whose consent is needed: the question, and the command where nobody can be asked.

use redress_contract::{self as contract, Caller};

use super::shown::shown;
use crate::{Field, Form, Question, Registry};

/// The question by which a face that can ask obtains the consent to this one call. There is none where its input is too
/// much for a person to look through: nobody agrees to what they are not shown.
pub(crate) fn question(operation: &contract::OperationDeclaration, input: &[u8]) -> Option<Question> {
    let (name, summary, input) = (operation.name(), operation.summary(), shown(input)?);
    let message = format!("Do you agree to `{name}`, this once? {summary}\nIts input: {input}");
    Some(Question::form(message, Form::new().field("agree", Field::boolean().titled("I agree"))))
}

/// Whoever calls on this very machine where nothing tells who calls, or by pipes, where no server is.
const LOCAL: &str = "local";

/// How a person can give a consent from outside the process that was called.
#[derive(Clone, Copy)]
enum ConsentChannel {
    /// In the state folder.
    Folder,
    /// By a call of `consent.grant`, with a token.
    Server,
    /// Not at all: the consents are in memory, and nothing tells a person from an agent.
    Nowhere,
}

impl ConsentChannel {
    fn of(registry: &Registry, caller: &Caller) -> ConsentChannel {
        // A face for agents has no `consent.grant`, but the server that it belongs to may.
        let takes_calls = || {
            let known = registry.contract().operations().iter().any(|one| one.name().as_str() == "consent.grant");
            known && registry.identity().is_some() && caller.id() != LOCAL
        };
        match registry.consent().is_in_folder() {
            true => ConsentChannel::Folder,
            false if takes_calls() => ConsentChannel::Server,
            false => ConsentChannel::Nowhere,
        }
    }
}

/// What to do where the person has said no.
pub(crate) const DECLINED: &str =
    "The user was asked and said no. Leave it, and call again only when the user asks for it.";

/// What to do where the person went away from the question.
pub(crate) const UNANSWERED: &str =
    "The user was asked and gave no answer. Find out what the user wants before you call again.";

/// What to do where nobody could be asked, with what a person has to type. Where the folder is, no caller is told: the
/// first screen of the service says it, and so does its configuration.
pub(crate) fn hint(registry: &Registry, operation: &contract::OperationDeclaration, caller: &Caller) -> String {
    told(ConsentChannel::of(registry, caller), operation, caller)
}

fn told(reach: ConsentChannel, operation: &contract::OperationDeclaration, caller: &Caller) -> String {
    let name = operation.name();
    // A shell must read the caller's name as one word, or it is left to the person.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@');
    let id = caller.id();
    let is_word = !id.is_empty() && !id.starts_with('-') && id.bytes().all(plain);
    let whose = if is_word { id } else { "CALLER" };
    match reach {
        ConsentChannel::Folder => format!(
            "Ask the user to agree: only a person can, with the command `redress consent grant {name} --caller {whose} \
             --state DIR`, where DIR is the state folder of this service. Then call again."
        ),
        ConsentChannel::Server => format!(
            "Ask the user to agree: only a person can, with a token for this caller that has the scope `consent:grant`, \
             and the command `redress consent grant {name} --server URL`. Then call again."
        ),
        ConsentChannel::Nowhere => format!(
            "Ask the user: this service keeps consents in memory, where no command reaches them. A person has to start \
             it with a state folder of its own outside of what is served, `--state DIR`, and can agree then with the command `redress consent grant {name} --caller {whose} \
             --state DIR`. Then call again."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_in_the_hint_is_one_that_can_be_typed() {
        let wipe = contract::OperationDeclaration::mutation("disk.wipe");
        for reach in [ConsentChannel::Folder, ConsentChannel::Nowhere] {
            let told = |id: &str| told(reach, &wipe, &Caller::new(id));
            let command = "`redress consent grant disk.wipe --caller ada@example.org --state DIR`";
            assert!(told("ada@example.org").contains(command));
            assert!(told("local").contains("disk.wipe --caller local --state DIR`"));
            for odd in ["a; rm -rf /", "-x", "", "a`b", "a b"] {
                assert!(told(odd).contains("disk.wipe --caller CALLER --state DIR`"), "{odd}");
            }
        }
        let server = told(ConsentChannel::Server, &wipe, &Caller::new("ada"));
        assert!(
            server.contains("`redress consent grant disk.wipe --server URL`") && server.contains("`consent:grant`")
        );
    }
}
