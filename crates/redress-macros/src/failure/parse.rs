//! What is written: attributes as they stand, with their tokens.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Attribute, Data, DeriveInput, Fields, Ident, LitBool, LitInt, LitStr, Member, Path, Token, Type, parse::Parser,
    punctuated::Punctuated,
};

use crate::{
    attribute::{AttributeItem, AttributeItems, bound, list_of},
    deprecation::Deprecation,
    docs,
    mistakes::Mistakes,
    shown::ShownWords,
};

/// An example of the attribute, for whoever has none yet.
pub(crate) const EXAMPLE: &str = "#[failure(kind = not_found, recover(stop, hint = \"…\"))]";

const WORDS: [&str; 11] = [
    "kind",
    "message",
    "effect",
    "retryable",
    "http",
    "retry_after",
    "extends",
    "code",
    "since",
    "deprecated",
    "recover",
];

const RECOVER_WORDS: [&str; 12] =
    ["call", "verify", "wait", "ask_user", "stop", "fix_input", "get_access", "hint", "bind", "why", "done", "is"];

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
    let known: Vec<&str> = ["include"].into_iter().chain(WORDS).collect();
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
                // `private` is known here only to be told where it belongs.
                Some(list) => declaration.words.read(list, &[&WORDS[..], &["private"]].concat(), &[], mistakes),
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
        for item in std::mem::take(&mut self.words.items) {
            match item.word().as_str() {
                "kind" => self.kind = item.ident("not_found", mistakes),
                "message" => self.message = item.text(mistakes),
                "effect" => self.effect = item.ident("none", mistakes),
                "retryable" => self.retryable = item.truth(mistakes),
                "http" => self.http = item.number(404, mistakes),
                "retry_after" => self.retry_after = item.ident("wait_ms", mistakes),
                "extends" => self.extends = item.texts("\"NEAREST\", \"FURTHER\"", mistakes),
                "code" => self.code = item.text_like("FILE_NOT_FOUND", mistakes),
                "since" => self.since = item.text(mistakes),
                "deprecated" => self.deprecated = Deprecation::read(&item, mistakes),
                "private" => mistakes.add(&item.name, "`private` goes on a field: `#[failure(private)] path: String`"),
                _ => self.recover = Recover::read(&item, mistakes),
            }
        }
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
        recover.words.read(list, &RECOVER_WORDS, &[], mistakes);
        for item in std::mem::take(&mut recover.words.items) {
            match item.word().as_str() {
                "call" | "verify" | "fix_input" | "get_access" => {
                    let example = match item.word().as_str() {
                        "call" => "files.list",
                        "verify" => "files.check",
                        "fix_input" => "/path",
                        _ => "files:read",
                    };
                    let value = item.text_like(example, mistakes);
                    recover.verbs.push((item.name, value));
                }
                "wait" | "ask_user" | "stop" => {
                    item.alone(mistakes);
                    recover.verbs.push((item.name, None));
                }
                "hint" => recover.hint = item.text(mistakes),
                "done" | "is" => recover.done.take(item, mistakes),
                "why" => {
                    recover.why = item.text(mistakes);
                    recover.why_word = Some(item.name);
                }
                _ => {
                    recover.bind_word = Some(item.name.clone());
                    recover.bind = bound(&item, mistakes);
                }
            }
        }
        Some(recover)
    }
}
