//! `done = "/pointer", is = value`: how the answer of a query shows that something took place.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote};
use syn::{Ident, Lit, LitStr, ext::IdentExt as _};

use crate::{
    attribute::{AttributeItem, AttributeItems},
    grammar,
    mistakes::Mistakes,
};

/// The two words as they stand.
#[derive(Default)]
pub(crate) struct ShownWords {
    done: Option<(Ident, Option<LitStr>)>,
    is: Option<(Ident, Option<Lit>)>,
}

/// What the two words mean, with nothing wrong in it.
pub(crate) struct ValidDone {
    pub(crate) pointer: String,
    is: Option<PlainValue>,
}

/// A value that every language compares alike.
enum PlainValue {
    Truth(bool),
    Text(String),
    Whole(i64),
}

impl ShownWords {
    /// Takes the word `done`.
    pub(crate) fn take_done(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        let pointer = item.text_like("/exists", mistakes);
        self.done = Some((item.name, pointer));
    }

    /// Takes the word `is`.
    pub(crate) fn take_is(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        let value = item.value(mistakes);
        self.is = Some((item.name, value));
    }

    /// The first of the two words, where one was written.
    pub(crate) fn word(&self) -> Option<&Ident> {
        self.done.as_ref().map(|(word, _)| word).or(self.is.as_ref().map(|(word, _)| word))
    }

    /// Judges the words, which `owner` needs and which are among `words`.
    pub(crate) fn judge(&self, owner: &Ident, words: &AttributeItems, mistakes: &mut Mistakes) -> Option<ValidDone> {
        let Some((_, pointer)) = &self.done else {
            if words.lacks("done") {
                let advice = "add `done = \"/pointer\"`, and `is = …` if a value shows it";
                mistakes.add(owner, format_args!("say where the answer shows that it took place: {advice}"));
            }
            return None;
        };
        let is = match &self.is {
            Some((_, value)) => Some(plain(value.as_ref()?, mistakes)?),
            None if words.lacks("is") => None,
            None => return None,
        };
        let pointer = pointer.as_ref()?;
        if !grammar::is_pointer(&pointer.value()) {
            mistakes.add(pointer, "point at what shows it, from the top of the answer: `done = \"/exists\"`");
            return None;
        }
        Some(ValidDone { pointer: pointer.value(), is })
    }
}

fn plain(value: &Lit, mistakes: &mut Mistakes) -> Option<PlainValue> {
    let plain = if let Lit::Bool(truth) = value {
        Some(PlainValue::Truth(truth.value))
    } else if let Lit::Str(text) = value {
        Some(PlainValue::Text(text.value()))
    } else if let Lit::Int(number) = value {
        number.base10_parse().ok().map(PlainValue::Whole)
    } else {
        None
    };
    if plain.is_none() {
        mistakes.add(value, "this is no value to compare with; write a string, a whole number, `true` or `false`");
    }
    plain
}

impl ValidDone {
    /// The call that adds the value to a verification.
    pub(crate) fn is(&self) -> Option<TokenStream> {
        self.is.as_ref().map(|is| quote!(.is(#is)))
    }
}

impl ToTokens for PlainValue {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            PlainValue::Truth(truth) => truth.to_tokens(tokens),
            PlainValue::Text(text) => text.to_tokens(tokens),
            PlainValue::Whole(number) => {
                // A literal with a sign is two tokens, which stand together in parentheses.
                let number = Literal::i64_suffixed(*number);
                tokens.extend(quote!((#number)));
            }
        }
    }
}

/// The expression that makes a verification.
pub(crate) fn verification(
    operation: &str,
    bind: &[(String, String)],
    why: Option<&str>,
    done: &ValidDone,
    hint: &str,
) -> TokenStream {
    let (pointer, is) = (&done.pointer, done.is());
    let bind = bind.iter().map(|(field, from)| quote!(.bind(#field, #from)));
    let why = why.iter().map(|why| quote!(.why(#why)));
    quote! {
        ::redress::__private::contract::Verification::new(#operation, #pointer, #hint) #is #(#bind)* #(#why)*
    }
}

/// The words of `bind(…)` as text; one that is bound twice is a mistake.
pub(crate) fn bindings(bound: &[(Ident, Ident)], mistakes: &mut Mistakes) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for (theirs, own) in bound {
        let (target, from) = (theirs.unraw().to_string(), own.unraw().to_string());
        if texts.iter().any(|(before, _)| *before == target) {
            mistakes.add(theirs, format_args!("`{target}` is bound twice; keep one"));
        }
        texts.push((target, from));
    }
    texts
}
