//! The list inside an attribute: `kind = not_found, strict, recover(wait, hint = "…")`.
//!
//! It is cut at its commas before anything is understood, so that a mistake in one item
//! does not hide a mistake in the next.

use std::{collections::BTreeSet, fmt::Display};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Ident, Lit, LitBool, LitInt, LitStr, ext::IdentExt, parse::Parse, parse::Parser, punctuated::Punctuated};

use crate::{
    mistakes::Mistakes,
    nearest::{BacktickList, nearest},
};

/// One item of the list.
pub(crate) struct AttributeItem {
    /// The word it begins with.
    pub(crate) name: Ident,
    value: AttributeValue,
}

enum AttributeValue {
    Nothing,
    Is(TokenStream),
    Of(TokenStream),
}

impl AttributeItem {
    /// The word it begins with, as text.
    pub(crate) fn word(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The text in `name = "…"`.
    pub(crate) fn text(&self, mistakes: &mut Mistakes) -> Option<LitStr> {
        self.text_like("…", mistakes)
    }

    /// The text in `name = "…"`, of which `example` is one.
    pub(crate) fn text_like(&self, example: &str, mistakes: &mut Mistakes) -> Option<LitStr> {
        let text: LitStr = self.is(mistakes, format_args!("{} = \"{example}\"", self.name))?;
        if text.value().trim().is_empty() {
            mistakes.add(&text, format_args!("`{}` is empty; write what it is between the quotes", self.name));
            return None;
        }
        Some(text)
    }

    /// The word in `name = word`.
    pub(crate) fn ident(&self, example: &str, mistakes: &mut Mistakes) -> Option<Ident> {
        self.is::<AttributeName>(mistakes, format_args!("{} = {example}", self.name)).map(|AttributeName(ident)| ident)
    }

    /// The function in `name = function`, or `name = module::function`.
    pub(crate) fn path(&self, example: &str, mistakes: &mut Mistakes) -> Option<syn::Path> {
        self.is(mistakes, format_args!("{} = {example}", self.name))
    }

    /// The truth in `name = true`.
    pub(crate) fn truth(&self, mistakes: &mut Mistakes) -> Option<LitBool> {
        self.is(mistakes, format_args!("{0} = true` or `{0} = false", self.name))
    }

    /// The number in `name = 404`.
    pub(crate) fn number(&self, example: u16, mistakes: &mut Mistakes) -> Option<LitInt> {
        self.is(mistakes, format_args!("{} = {example}", self.name))
    }

    /// The value in `name = true`, `name = 3` or `name = "…"`.
    pub(crate) fn value(&self, mistakes: &mut Mistakes) -> Option<Lit> {
        let example = format!("{0} = true`, `{0} = \"done\"` or `{0} = 1", self.name);
        self.is(mistakes, example)
    }

    /// The word in `name = word`, or the text in `name = "…"`.
    pub(crate) fn ident_or_text(&self, example: &str, mistakes: &mut Mistakes) -> Option<Result<Ident, LitStr>> {
        let either: Either = self.is(mistakes, format_args!("{} = {example}", self.name))?;
        Some(either.0)
    }

    /// That there is the name and nothing else.
    pub(crate) fn alone(&self, mistakes: &mut Mistakes) -> bool {
        let alone = matches!(self.value, AttributeValue::Nothing);
        if !alone {
            mistakes.add(&self.name, format_args!("`{0}` takes no value; write `{0}` alone", self.name));
        }
        alone
    }

    /// The name itself, which has to stand alone.
    pub(crate) fn named_alone(self, mistakes: &mut Mistakes) -> Option<Ident> {
        self.alone(mistakes);
        Some(self.name)
    }

    /// What is between the parentheses of `name(…)`.
    pub(crate) fn list(&self, example: &str, mistakes: &mut Mistakes) -> Option<TokenStream> {
        match &self.value {
            AttributeValue::Of(list) if !list.is_empty() => Some(list.clone()),
            AttributeValue::Of(_) | AttributeValue::Is(_) | AttributeValue::Nothing => {
                mistakes.add(&self.name, format_args!("write `{}({example})`", self.name));
                None
            }
        }
    }

    /// Whether this is `name(word)`.
    pub(crate) fn is_list_of(&self, word: &str) -> bool {
        matches!(&self.value, AttributeValue::Of(list) if list.to_string() == word)
    }

    /// The texts in `name = "…"` or `name("…", "…")`.
    pub(crate) fn texts(&self, example: &str, mistakes: &mut Mistakes) -> Vec<LitStr> {
        if let AttributeValue::Is(_) = self.value {
            return self.text(mistakes).into_iter().collect();
        }
        let Some(list) = self.list(example, mistakes) else { return Vec::new() };
        match Punctuated::<LitStr, syn::Token![,]>::parse_terminated.parse2(list) {
            Ok(texts) => texts.into_iter().collect(),
            Err(_) => {
                mistakes.add(&self.name, format_args!("write `{}({example})`", self.name));
                Vec::new()
            }
        }
    }

    fn is<T: Parse>(&self, mistakes: &mut Mistakes, example: impl Display) -> Option<T> {
        let AttributeValue::Is(tokens) = &self.value else {
            mistakes.add(&self.name, format_args!("write `{example}`"));
            return None;
        };
        match syn::parse2(tokens.clone()) {
            Ok(value) => Some(value),
            Err(_) => {
                mistakes.add(tokens, format_args!("write `{example}`"));
                None
            }
        }
    }
}

struct AttributeName(Ident);

impl Parse for AttributeName {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<AttributeName> {
        Ident::parse_any(input).map(AttributeName)
    }
}

struct Either(Result<Ident, LitStr>);

impl Parse for Either {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Either> {
        if input.peek(LitStr) {
            input.parse().map(|text| Either(Err(text)))
        } else {
            input.parse().map(|word| Either(Ok(word)))
        }
    }
}

/// The items of a list, together with what is known about the words in it.
#[derive(Default)]
pub(crate) struct AttributeItems {
    /// The items that could be read and stand there once.
    pub(crate) items: Vec<AttributeItem>,
    seen: BTreeSet<String>,
    unreadable: bool,
    unknown: bool,
}

/// A word that a list may hold, and how it is read into `T`. Each list has one table of these, so that no word is known and
/// then read as another one.
pub(crate) struct WordRow<T: 'static> {
    pub(crate) name: &'static str,
    pub(crate) read: fn(&mut T, AttributeItem, &mut Mistakes),
}

impl<T> WordRow<T> {
    /// The words of a table.
    pub(crate) fn names(rows: &[WordRow<T>]) -> Vec<&'static str> {
        rows.iter().map(|row| row.name).collect()
    }

    /// Reads each item by its row.
    pub(crate) fn read_all(rows: &[WordRow<T>], items: Vec<AttributeItem>, into: &mut T, mistakes: &mut Mistakes) {
        for item in items {
            let word = item.word();
            if let Some(row) = rows.iter().find(|row| row.name == word) {
                (row.read)(into, item, mistakes);
            }
        }
    }
}

impl AttributeItems {
    /// The items of a list of which nothing could be read.
    pub(crate) fn unreadable() -> AttributeItems {
        AttributeItems { unreadable: true, ..AttributeItems::default() }
    }

    /// Whether nobody wrote any of `words`. A word that nobody knows counts as one of
    /// them: its mistake is told already.
    pub(crate) fn lacks_all(&self, words: &[&str]) -> bool {
        !self.unknown && words.iter().all(|word| self.lacks(word))
    }

    /// Whether nobody wrote `word`. A word that was misspelt, or that may be in a part
    /// that could not be read, counts as written: its mistake is told already.
    pub(crate) fn lacks(&self, word: &str) -> bool {
        !self.unreadable && !self.seen.contains(word)
    }

    /// Adds the items in `tokens`, of which only `repeatable` ones may come again.
    pub(crate) fn read(&mut self, tokens: TokenStream, known: &[&str], repeatable: &[&str], mistakes: &mut Mistakes) {
        for piece in pieces(tokens) {
            let Some(item) = item(piece, mistakes) else {
                self.unreadable = true;
                continue;
            };
            let word = item.word();
            if !known.contains(&word.as_str()) {
                match nearest(&word, known.iter().copied()) {
                    Some(meant) => {
                        self.seen.insert(meant.to_owned());
                        mistakes.add(&item.name, format_args!("there is no `{word}` here; did you mean `{meant}`?"));
                    }
                    None => {
                        self.unknown = true;
                        let (known, verb) = (BacktickList(known), if known.len() == 1 { "is only" } else { "are" });
                        mistakes.add(&item.name, format_args!("there is no `{word}` here; there {verb} {known}"));
                    }
                }
            } else if self.seen.insert(word.clone()) || repeatable.contains(&word.as_str()) {
                self.items.push(item);
            } else {
                mistakes.add(&item.name, format_args!("`{word}` is here twice; keep one"));
            }
        }
    }
}

/// The items of a list in which every word is allowed.
pub(crate) fn pairs(tokens: TokenStream, mistakes: &mut Mistakes) -> Vec<AttributeItem> {
    pieces(tokens).into_iter().filter_map(|piece| item(piece, mistakes)).collect()
}

/// The words on both sides of each `=` in `bind(their_field = own_field)`.
pub(crate) fn bound(item: &AttributeItem, mistakes: &mut Mistakes) -> Vec<(Ident, Ident)> {
    let Some(list) = item.list("their_field = own_field", mistakes) else { return Vec::new() };
    let bound =
        |pair: AttributeItem, mistakes: &mut Mistakes| pair.ident("own_field", mistakes).map(|own| (pair.name, own));
    pairs(list, mistakes).into_iter().filter_map(|pair| bound(pair, mistakes)).collect()
}

fn pieces(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut pieces = vec![Vec::new()];
    for token in tokens {
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => pieces.push(Vec::new()),
            TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => {
                if let Some(last) = pieces.last_mut() {
                    last.push(token);
                }
            }
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn item(piece: Vec<TokenTree>, mistakes: &mut Mistakes) -> Option<AttributeItem> {
    let mut tokens = piece.into_iter();
    let name = match tokens.next()? {
        TokenTree::Ident(name) => name,
        other @ (TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Literal(_)) => {
            mistakes.add(other, "write a word here, as in `word`, `word = …` or `word(…)`");
            return None;
        }
    };
    let value = match tokens.next() {
        None => AttributeValue::Nothing,
        Some(TokenTree::Punct(punct)) if punct.as_char() == '=' => {
            let rest: TokenStream = tokens.collect();
            if rest.is_empty() {
                mistakes.add(&name, format_args!("`{name} =` has no value; write one after the `=`"));
                return None;
            }
            // One value is one token here, except for a sign before a number.
            if let Some(next @ TokenTree::Ident(_)) = rest.clone().into_iter().nth(1) {
                mistakes.add(next, "put a comma before this");
                return None;
            }
            AttributeValue::Is(rest)
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => match tokens.next() {
            None => AttributeValue::Of(group.stream()),
            Some(next) => {
                mistakes.add(next, "put a comma before this");
                return None;
            }
        },
        Some(TokenTree::Ident(next)) => {
            mistakes.add(next, "put a comma before this");
            return None;
        }
        Some(other) => {
            mistakes.add(other, format_args!("write `{name}`, `{name} = …` or `{name}(…)`"));
            return None;
        }
    };
    Some(AttributeItem { name, value })
}

/// The list inside `attribute`, or a mistake at its name if it has none.
pub(crate) fn list_of(attribute: &syn::Attribute, example: &str, mistakes: &mut Mistakes) -> Option<TokenStream> {
    match &attribute.meta {
        syn::Meta::List(list) => Some(list.tokens.clone()),
        syn::Meta::Path(_) | syn::Meta::NameValue(_) => {
            mistakes.add(attribute.meta.path().to_token_stream(), format_args!("write `{example}`"));
            None
        }
    }
}
