//! What is meant by `recover(…)`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Ident, LitStr, ext::IdentExt};

use super::{
    parse::{Declaration, FailureField, Recover},
    validate::public_field,
};
use crate::{
    grammar,
    mistakes::Mistakes,
    shown::{ValidDone, bindings, verification},
    template,
};

/// The fewest words a hint may have.
const HINT_WORDS: usize = 5;

const VERBS: [&str; 7] = ["call", "verify", "wait", "ask_user", "stop", "fix_input", "get_access"];

/// What the caller can do, with nothing wrong in it.
pub(crate) struct Recovery {
    verb: Verb,
    hint: String,
}

enum Verb {
    Call { operation: String, bind: Vec<(String, String)>, why: Option<String> },
    Verify { operation: String, bind: Vec<(String, String)>, why: Option<String>, done: ValidDone },
    Wait,
    AskUser,
    Stop,
    FixInput(String),
    GetAccess(String),
}

/// Judges `recover(…)`; `heals` is whether time alone can heal the failure, where that is known.
pub(super) fn recovery(
    ident: &Ident,
    declaration: &Declaration,
    fields: &[FailureField],
    heals: Option<bool>,
    mistakes: &mut Mistakes,
) -> Option<Recovery> {
    let Some(recover) = &declaration.recover else {
        if declaration.words.lacks("recover") {
            mistakes.add(
                ident,
                format_args!("failure `{ident}` has no recovery; add `recover(stop, hint = \"…\")`, or another verb"),
            );
        }
        return None;
    };
    let hint = hint(recover, mistakes);
    let bind = bind(recover, fields, mistakes);
    let verb = verb(recover, bind, mistakes);
    if let Some((word, _)) = recover.verbs.first() {
        misplaced(recover, word, mistakes);
        contradictions(word, declaration, heals, mistakes);
    }
    Some(Recovery { verb: verb?, hint: hint? })
}

fn hint(recover: &Recover, mistakes: &mut Mistakes) -> Option<String> {
    let Some(hint) = &recover.hint else {
        if recover.words.lacks("hint") {
            mistakes.add(
                &recover.ident,
                "this recovery has no hint; add `hint = \"…\"`, which says in five words or more what to do",
            );
        }
        return None;
    };
    let text = hint.value();
    if text.split_whitespace().count() < HINT_WORDS {
        mistakes.add(hint, "a hint says in five words or more what to do; write it out");
    }
    if let Some(place) = template::place(&text) {
        let advice = "put the field into `message`, or write `.with_hint(format!(…))` where it is raised";
        mistakes.add(hint, format_args!("a hint is shown as it stands, `{{{place}}}` included; {advice}"));
    }
    Some(text)
}

fn bind(recover: &Recover, fields: &[FailureField], mistakes: &mut Mistakes) -> Vec<(String, String)> {
    for (_, own) in &recover.bind {
        public_field(&own.unraw().to_string(), own, fields, mistakes);
    }
    bindings(&recover.bind, mistakes)
}

fn verb(recover: &Recover, bind: Vec<(String, String)>, mistakes: &mut Mistakes) -> Option<Verb> {
    let Some((word, value)) = recover.verbs.first() else {
        if recover.words.lacks_all(&VERBS) {
            let verbs = "`call = \"…\"`, `verify = \"…\"`, `wait`, `ask_user`, `stop`, `fix_input = \"…\"` or `get_access = \"…\"`";
            mistakes.add(&recover.ident, format_args!("this recovery has no verb; add {verbs}"));
        }
        return None;
    };
    if let Some((second, _)) = recover.verbs.get(1) {
        mistakes.add(second, format_args!("a recovery has one verb; keep `{word}` or `{second}`"));
    }
    match word.to_string().as_str() {
        "wait" => Some(Verb::Wait),
        "ask_user" => Some(Verb::AskUser),
        "stop" => Some(Verb::Stop),
        "call" => {
            let operation = value.as_ref()?;
            is_name(operation, "call = \"files.list\"", mistakes);
            let why = recover.why.as_ref().map(LitStr::value);
            Some(Verb::Call { operation: operation.value(), bind, why })
        }
        "verify" => {
            let done = recover.done.judge(word, &recover.words, mistakes);
            let operation = value.as_ref()?;
            is_name(operation, "verify = \"files.check\"", mistakes);
            let why = recover.why.as_ref().map(LitStr::value);
            Some(Verb::Verify { operation: operation.value(), bind, why, done: done? })
        }
        "fix_input" => {
            let pointer = value.as_ref()?;
            if !grammar::is_pointer(&pointer.value()) {
                mistakes.add(pointer, "point at the field to fix, from the top of the input: `fix_input = \"/path\"`");
            }
            Some(Verb::FixInput(pointer.value()))
        }
        "get_access" => Some(Verb::GetAccess(value.as_ref()?.value())),
        // The table of words has no other verb.
        _ => None,
    }
}

fn is_name(operation: &LitStr, example: &str, mistakes: &mut Mistakes) {
    let text = operation.value();
    if !grammar::is_name(&text) {
        mistakes.add(operation, format_args!("`{text}` is not an operation's name; write one such as `{example}`"));
    }
}

/// What only a next call can have, and what only one that verifies can.
fn misplaced(recover: &Recover, verb: &Ident, mistakes: &mut Mistakes) {
    if let Some(word) = recover.done.word()
        && verb != "verify"
    {
        let says =
            format_args!("`{word}` tells how an answer shows that it took place; write `verify = \"…\"`, or remove it");
        mistakes.add(word, says);
    }
    if verb == "call" || verb == "verify" {
        return;
    }
    if let Some(word) = &recover.bind_word {
        mistakes.add(word, format_args!("`{verb}` has no input to bind; write `call = \"…\"`, or remove `bind`"));
    }
    if let Some(word) = &recover.why_word {
        mistakes.add(word, "`why` tells why a next call helps; write `call = \"…\"`, or say it in the hint");
    }
}

fn contradictions(verb: &Ident, declaration: &Declaration, heals: Option<bool>, mistakes: &mut Mistakes) {
    match (verb.to_string().as_str(), heals) {
        ("wait", Some(false)) => {
            mistakes.add(
                verb,
                "this failure is not retryable, so waiting does not help; add `retryable = true`, or use another verb",
            );
        }
        ("verify", _) if declaration.effect.as_ref().is_some_and(|effect| effect == "none") => {
            mistakes.add(
                verb,
                "nothing was changed, so there is nothing to verify; write `effect = unknown`, or use another verb",
            );
        }
        ("stop", Some(true)) if declaration.retryable.is_some() => {
            mistakes.add(verb, "`stop` contradicts `retryable = true`; use `wait`, or remove `retryable`");
        }
        _ => {}
    }
}

impl ToTokens for Recovery {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let hint = &self.hint;
        let recovery = quote!(::redress::__private::contract::Recovery);
        tokens.extend(match &self.verb {
            Verb::Call { operation, bind, why } => {
                let bind = bind.iter().map(|(field, from)| quote!(.bind(#field, #from)));
                let why = why.iter().map(|why| quote!(.why(#why)));
                quote!(#recovery::call(#operation, #hint) #(#bind)* #(#why)*)
            }
            Verb::Verify { operation, bind, why, done } => {
                let verification = verification(operation, bind, why.as_deref(), done, hint);
                quote!(#recovery::from(#verification))
            }
            Verb::Wait => quote!(#recovery::wait(#hint)),
            Verb::AskUser => quote!(#recovery::ask_user(#hint)),
            Verb::Stop => quote!(#recovery::stop(#hint)),
            Verb::FixInput(pointer) => quote!(#recovery::fix_input(#pointer, #hint)),
            Verb::GetAccess(scope) => quote!(#recovery::get_access(#scope, #hint)),
        });
    }
}
