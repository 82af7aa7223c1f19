//! What is meant by `verify(…)`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Ident, LitStr};

use super::parse::Verify;
use crate::{
    grammar,
    mistakes::Mistakes,
    shown::{self, ValidDone, bindings},
};

/// The fewest words a hint may have.
const HINT_WORDS: usize = 5;

/// How an operation is verified, with nothing wrong in it.
pub(super) struct Verification {
    query: String,
    bind: Vec<(String, String)>,
    done: ValidDone,
    why: Option<String>,
    hint: String,
}

/// Judges `verify(…)` of an operation of this shape, where that is known.
pub(super) fn judge(verify: &Verify, shape: Option<&Ident>, mistakes: &mut Mistakes) -> Option<Verification> {
    if let Some(shape) = shape.filter(|shape| *shape != "mutation") {
        mistakes.add(
            &verify.ident,
            format_args!("a `{shape}` changes nothing that could be verified; remove this, or write `mutation`"),
        );
        return None;
    }
    let query = query(verify, mistakes);
    let done = verify.shown.judge(&verify.ident, &verify.words, mistakes);
    let bind = bindings(&verify.bind, mistakes);
    let hint = hint(verify, mistakes);
    Some(Verification { query: query?, bind, done: done?, why: verify.why.as_ref().map(LitStr::value), hint: hint? })
}

fn query(verify: &Verify, mistakes: &mut Mistakes) -> Option<String> {
    let Some(query) = &verify.query else {
        if verify.words.lacks("query") {
            mistakes.add(&verify.ident, "name the query that shows it: `verify(query = \"files.check\", …)`");
        }
        return None;
    };
    let text = query.value();
    if !grammar::is_name(&text) {
        mistakes.add(
            query,
            format_args!("`{text}` is not an operation's name; write one such as `query = \"files.check\"`"),
        );
    }
    Some(text)
}

fn hint(verify: &Verify, mistakes: &mut Mistakes) -> Option<String> {
    let Some(hint) = &verify.hint else {
        if verify.words.lacks("hint") {
            mistakes.add(
                &verify.ident,
                "this has no hint; add `hint = \"…\"`, which says in five words or more what to do",
            );
        }
        return None;
    };
    let text = hint.value();
    if text.split_whitespace().count() < HINT_WORDS {
        mistakes.add(hint, "a hint says in five words or more what to do; write it out");
    }
    Some(text)
}

impl ToTokens for Verification {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Verification { query, bind, done, why, hint } = self;
        tokens.extend(shown::verification(query, bind, why.as_deref(), done, hint));
    }
}
