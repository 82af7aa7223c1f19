//! What is written: attributes as they stand, with their tokens.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Attribute, Data, DeriveInput, Fields, Ident, LitBool, LitInt, LitStr, Member, Path, Token, Type, parse::Parser,
    punctuated::Punctuated,
};

use crate::{
    attribute::{AttributeItem, AttributeItems, WordRow, bound, list_of},
    deprecation::Deprecation,
    docs,
    mistakes::Mistakes,
    shown::ShownWords,
};

/// An example of the attribute, for whoever has none yet.
pub(crate) const EXAMPLE: &str = "#[failure(kind = not_found, recover(stop, hint = \"…\"))]";

static WORDS: [WordRow<Declaration>; 12] = [
    WordRow { name: "kind", read: |into, item, mistakes| into.kind = item.ident("not_found", mistakes) },
    WordRow { name: "message", read: |into, item, mistakes| into.message = item.text(mistakes) },
    WordRow { name: "effect", read: |into, item, mistakes| into.effect = item.ident("none", mistakes) },
    WordRow { name: "retryable", read: |into, item, mistakes| into.retryable = item.truth(mistakes) },
    WordRow { name: "http", read: |into, item, mistakes| into.http = item.number(404, mistakes) },
    WordRow { name: "retry_after", read: |into, item, mistakes| into.retry_after = item.ident("wait_ms", mistakes) },
    WordRow {
        name: "extends",
        read: |into, item, mistakes| into.extends = item.texts("\"NEAREST\", \"FURTHER\"", mistakes),
    },
    WordRow { name: "code", read: |into, item, mistakes| into.code = item.text_like("FILE_NOT_FOUND", mistakes) },
    WordRow { name: "since", read: |into, item, mistakes| into.since = item.text(mistakes) },
    WordRow { name: "deprecated", read: |into, item, mistakes| into.deprecated = Deprecation::read(&item, mistakes) },
    WordRow { name: "recover", read: |into, item, mistakes| into.recover = Recover::read(&item, mistakes) },
    // Known here only to be told where it belongs.
    WordRow {
        name: "private",
        read: |_, item, mistakes| {
            mistakes.add(&item.name, "`private` goes on a field: `#[failure(private)] path: String`");
        },
    },
];

static RECOVER_WORDS: [WordRow<Recover>; 12] = [
    WordRow { name: "call", read: |into, item, mistakes| into.verb_with("files.list", item, mistakes) },
    WordRow { name: "verify", read: |into, item, mistakes| into.verb_with("files.check", item, mistakes) },
    WordRow { name: "wait", read: Recover::verb },
    WordRow { name: "ask_user", read: Recover::verb },
    WordRow { name: "stop", read: Recover::verb },
    WordRow { name: "fix_input", read: |into, item, mistakes| into.verb_with("/path", item, mistakes) },
    WordRow { name: "get_access", read: |into, item, mistakes| into.verb_with("files:read", item, mistakes) },
    WordRow { name: "hint", read: |into, item, mistakes| into.hint = item.text(mistakes) },
    WordRow {
        name: "bind",
        read: |into, item, mistakes| {
            into.bind = bound(&item, mistakes);
            into.bind_word = Some(item.name);
        },
    },
    WordRow {
        name: "why",
        read: |into, item, mistakes| {
            into.why = item.text(mistakes);
            into.why_word = Some(item.name);
        },
    },
    WordRow { name: "done", read: |into, item, mistakes| into.done.take_done(item, mistakes) },
    WordRow { name: "is", read: |into, item, mistakes| into.done.take_is(item, mistakes) },
];

/// An enum with its attributes.
pub(crate) struct ParsedFailures {
    pub(crate) ident: Ident,
    pub(crate) include: Vec<Path>,
    pub(crate) variants: Vec<FailureVariant>,
}

/// A variant with its attribute.
pub(crate) struct FailureVariant {
    pub(crate) ident: Ident,
    pub(crate) paragraphs: Vec<String>,
    pub(crate) fields: Vec<FailureField>,
    pub(crate) declaration: Option<Declaration>,
}

/// A field with its attributes.
#[derive(Clone)]
pub(crate) struct FailureField {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    pub(crate) private: bool,
    pub(crate) source: bool,
}

/// What `#[failure(…)]` says.
#[derive(Default)]
pub(crate) struct Declaration {
    pub(crate) words: AttributeItems,
    pub(crate) kind: Option<Ident>,
    pub(crate) message: Option<LitStr>,
    pub(crate) effect: Option<Ident>,
    pub(crate) retryable: Option<LitBool>,
    pub(crate) http: Option<LitInt>,
    pub(crate) retry_after: Option<Ident>,
    pub(crate) extends: Vec<LitStr>,
    pub(crate) code: Option<LitStr>,
    pub(crate) since: Option<LitStr>,
    pub(crate) deprecated: Option<Deprecation>,
    pub(crate) recover: Option<Recover>,
}

/// What `recover(…)` says.
pub(crate) struct Recover {
    pub(crate) ident: Ident,
    pub(crate) words: AttributeItems,
    pub(crate) verbs: Vec<(Ident, Option<LitStr>)>,
    pub(crate) bind: Vec<(Ident, Ident)>,
    pub(crate) bind_word: Option<Ident>,
    pub(crate) hint: Option<LitStr>,
    pub(crate) why: Option<LitStr>,
    pub(crate) why_word: Option<Ident>,
    pub(crate) done: ShownWords,
}

/// Reads the enum.
pub(crate) fn parse(item: &DeriveInput, mistakes: &mut Mistakes) -> ParsedFailures {
    let mut parsed = ParsedFailures { ident: item.ident.clone(), include: Vec::new(), variants: Vec::new() };
    for attribute in named(&item.attrs, "failure") {
        if let Some(list) = list_of(attribute, "#[failure(include(Other))]", mistakes) {
            parsed.include.extend(include(list, mistakes));
        }
    }
    match &item.data {
        Data::Enum(data) => {
            parsed.variants = data.variants.iter().map(|each| variant(each, mistakes)).collect();
            if data.variants.is_empty() && parsed.include.is_empty() {
                let advice = "use `NoFailure` instead, or take in another enum: `#[failure(include(Other))]`";
                mistakes.add(&item.ident, format_args!("an enum without variants declares nothing; {advice}"));
            }
        }
        Data::Struct(_) | Data::Union(_) => {
            mistakes.add(&item.ident, "failures are the variants of an enum; write `enum` here");
        }
    }
    if let Some(parameter) = item.generics.params.first() {
        mistakes.add(parameter, "an enum of failures has no parameters; write the types themselves in its fields");
    }
    parsed
}

fn named<'a>(attributes: &'a [Attribute], name: &'a str) -> impl Iterator<Item = &'a Attribute> {
    attributes.iter().filter(move |attribute| attribute.path().is_ident(name))
}

fn include(list: TokenStream, mistakes: &mut Mistakes) -> Vec<Path> {
    let mut items = AttributeItems::default();
    // A word of the variants is known here only to be told where it belongs.
    let words = WORDS.iter().map(|row| row.name).filter(|word| *word != "private");
    let known: Vec<&str> = ["include"].into_iter().chain(words).collect();
    items.read(list, &known, &["include"], mistakes);
    let mut paths = Vec::new();
    for item in &items.items {
        if item.word() != "include" {
            mistakes
                .add(&item.name, format_args!("`{}` goes on a variant; the enum itself takes `include(…)`", item.name));
            continue;
        }
        let Some(list) = item.list("Other, third::Failures", mistakes) else { continue };
        match Punctuated::<Path, Token![,]>::parse_terminated.parse2(list) {
            Ok(list) => paths.extend(list),
            Err(_) => {
                mistakes.add(&item.name, "name the included enums by their paths: `include(Other, third::Failures)`")
            }
        }
    }
    paths
}

fn variant(variant: &syn::Variant, mistakes: &mut Mistakes) -> FailureVariant {
    if let Some(attribute) = named(&variant.attrs, "source").next() {
        mistakes.add(attribute.path(), "`#[source]` goes on the field that holds the error");
    }
    let attributes: Vec<_> = named(&variant.attrs, "failure").collect();
    let mut declaration = (!attributes.is_empty()).then(Declaration::default);
    let mut readable = true;
    if let Some(declaration) = &mut declaration {
        for attribute in attributes {
            match list_of(attribute, EXAMPLE, mistakes) {
                Some(list) => declaration.words.read(list, &WordRow::names(&WORDS), &[], mistakes),
                None => readable = false,
            }
        }
        declaration.read(mistakes);
    }
    let fields = fields(variant, mistakes);
    if !readable {
        // The mistake is told; an empty declaration would be told a second time.
        declaration = Some(Declaration::unreadable());
    }
    FailureVariant { ident: variant.ident.clone(), paragraphs: docs::paragraphs(&variant.attrs), fields, declaration }
}

fn fields(variant: &syn::Variant, mistakes: &mut Mistakes) -> Vec<FailureField> {
    let mut fields: Vec<FailureField> =
        variant.fields.members().zip(&variant.fields).map(|(member, each)| field(member, each, mistakes)).collect();
    for second in fields.iter().filter(|field| field.source).skip(1) {
        mistakes.add(&second.member, "an error has one source; keep one `#[source]` and make the other private");
    }
    if let Fields::Unnamed(unnamed) = &variant.fields
        && let Some(field) = unnamed.unnamed.iter().zip(&fields).find(|(_, field)| !field.source).map(|(each, _)| each)
    {
        let name = &variant.ident;
        mistakes.add(
            field.ty.to_token_stream(),
            format_args!("name the fields: `{name} {{ field: … }}`; only `{name}(#[source] …)` goes without"),
        );
        fields.iter_mut().for_each(|field| field.private = true);
    }
    fields
}

fn field(member: Member, field: &syn::Field, mistakes: &mut Mistakes) -> FailureField {
    let mut items = AttributeItems::default();
    for attribute in named(&field.attrs, "failure") {
        if let Some(list) = list_of(attribute, "#[failure(private)]", mistakes) {
            items.read(list, &["private"], &[], mistakes);
        }
    }
    let private = items.items.iter().filter(|item| item.alone(mistakes)).count() > 0;
    let source = named(&field.attrs, "source").next().is_some();
    FailureField { member, ty: field.ty.clone(), private: private || source, source }
}

impl Declaration {
    fn unreadable() -> Declaration {
        Declaration { words: AttributeItems::unreadable(), ..Declaration::default() }
    }

    fn read(&mut self, mistakes: &mut Mistakes) {
        let items = std::mem::take(&mut self.words.items);
        WordRow::read_all(&WORDS, items, self, mistakes);
    }
}

impl Recover {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<Recover> {
        let list = item.list("stop, hint = \"…\"", mistakes)?;
        let mut recover = Recover {
            ident: item.name.clone(),
            words: AttributeItems::default(),
            verbs: Vec::new(),
            bind: Vec::new(),
            bind_word: None,
            hint: None,
            why: None,
            why_word: None,
            done: ShownWords::default(),
        };
        recover.words.read(list, &WordRow::names(&RECOVER_WORDS), &[], mistakes);
        let items = std::mem::take(&mut recover.words.items);
        WordRow::read_all(&RECOVER_WORDS, items, &mut recover, mistakes);
        Some(recover)
    }

    /// A verb that takes a text, of which `example` is one.
    fn verb_with(&mut self, example: &str, item: AttributeItem, mistakes: &mut Mistakes) {
        let value = item.text_like(example, mistakes);
        self.verbs.push((item.name, value));
    }

    /// A verb that stands alone.
    fn verb(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        item.alone(mistakes);
        self.verbs.push((item.name, None));
    }
}
