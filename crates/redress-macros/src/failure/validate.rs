//! What is meant: the attributes judged, and turned into values that can be written out.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{Ident, LitStr, Member, Path, Type, ext::IdentExt};

use super::{
    parse::{Declaration, EXAMPLE, FailureField, FailureVariant, ParsedFailures},
    recovery::{Recovery, recovery},
};
use crate::{
    deprecation::Deprecation,
    grammar,
    kind::{KINDS, Kind},
    mistakes::Mistakes,
    nearest::{BacktickList, nearest},
    template::{self, TemplatePart},
};

/// An enum of failures in which nothing is wrong.
pub(crate) struct Failures {
    pub(crate) ident: Ident,
    pub(crate) include: Vec<Path>,
    pub(crate) variants: Vec<ValidFailure>,
}

/// One failure.
pub(crate) struct ValidFailure {
    pub(crate) ident: Ident,
    pub(crate) code: String,
    pub(crate) when: String,
    pub(crate) kind: &'static Kind,
    pub(crate) message: Option<MessageText>,
    pub(crate) effect: Option<Ident>,
    pub(crate) retryable: Option<bool>,
    pub(crate) http: Option<u16>,
    pub(crate) retry_after: Option<Ident>,
    pub(crate) extends: Vec<String>,
    pub(crate) since: Option<String>,
    pub(crate) deprecated: Option<Deprecation>,
    pub(crate) recovery: Recovery,
    pub(crate) fields: Vec<FailureField>,
}

/// A message, whole and in parts.
pub(crate) struct MessageText {
    pub(crate) text: String,
    pub(crate) parts: Vec<TemplatePart>,
}

impl FailureField {
    /// The field's name as the caller sees it.
    pub(crate) fn name(&self) -> String {
        match &self.member {
            Member::Named(ident) => ident.unraw().to_string(),
            Member::Unnamed(index) => index.index.to_string(),
        }
    }
}

/// Judges the enum. What is wrong is in `mistakes`; nothing comes back where a part is missing.
pub(crate) fn validate(parsed: ParsedFailures, mistakes: &mut Mistakes) -> Option<Failures> {
    let mut included = BTreeSet::new();
    for path in &parsed.include {
        if path.is_ident(&parsed.ident) {
            mistakes.add(path, "an enum already has its own failures; remove it from `include`");
        } else if !included.insert(path.to_token_stream().to_string()) {
            mistakes.add(path, "this is included twice; keep one");
        }
    }
    let mut codes = BTreeSet::new();
    let count = parsed.variants.len();
    let variants: Vec<ValidFailure> =
        parsed.variants.into_iter().filter_map(|variant| failure(variant, &mut codes, mistakes)).collect();
    (variants.len() == count).then_some(Failures { ident: parsed.ident, include: parsed.include, variants })
}

fn failure(variant: FailureVariant, codes: &mut BTreeSet<String>, mistakes: &mut Mistakes) -> Option<ValidFailure> {
    let FailureVariant { ident, paragraphs, fields, declaration } = variant;
    let Some(declaration) = declaration else {
        mistakes.add(&ident, format_args!("failure `{ident}` is not declared; write `{EXAMPLE}` above it"));
        return None;
    };
    let code = code(&ident, &declaration, mistakes);
    if !codes.insert(code.clone()) {
        mistakes.add(&ident, format_args!("two variants have the code {code}; rename one, or give it `code = \"…\"`"));
    }
    let kind = kind(&ident, &declaration, mistakes);
    let retryable = declaration.retryable.as_ref().map(syn::LitBool::value);
    let heals = kind.map(|kind| retryable.unwrap_or(kind.retryable));
    let message = declaration.message.as_ref().and_then(|text| message(text, &fields, mistakes));
    let effect = declaration.effect.as_ref().and_then(|word| effect(word, mistakes));
    let http = declaration.http.as_ref().and_then(|number| http(number, mistakes));
    let retry_after = declaration.retry_after.as_ref().and_then(|field| retry_after(field, &fields, heals, mistakes));
    let extends = extends(&declaration.extends, &code, mistakes);
    let recovery = recovery(&ident, &declaration, &fields, heals, mistakes);
    if paragraphs.is_empty() {
        mistakes.add(&ident, "say in a doc comment when it happens: `/// The file does not exist.`");
    }
    Some(ValidFailure {
        when: paragraphs.join("\n\n"),
        ident,
        code,
        kind: kind?,
        message,
        effect,
        retryable,
        http,
        retry_after,
        extends,
        since: declaration.since.map(|text| text.value()),
        deprecated: declaration.deprecated,
        recovery: recovery?,
        fields,
    })
}

fn code(ident: &Ident, declaration: &Declaration, mistakes: &mut Mistakes) -> String {
    let (code, token) = match &declaration.code {
        Some(text) => (text.value(), text.to_token_stream()),
        None => (grammar::code_of(&ident.unraw().to_string()), ident.to_token_stream()),
    };
    if grammar::is_engine_code(&code) {
        let advice = "say what is special about yours, in its name or with `code = \"…\"`";
        mistakes.add(token, format_args!("the engine itself answers with {code}; {advice}"));
    } else if code.len() > grammar::LONGEST_CODE {
        let longest = grammar::LONGEST_CODE;
        mistakes
            .add(token, format_args!("a code has at most {longest} characters; shorten this, or add `code = \"…\"`"));
    } else if !grammar::is_code(&code) {
        let advice = "upper-case words joined by single underscores, such as `FILE_NOT_FOUND`";
        mistakes.add(token, format_args!("`{code}` is not a code; write {advice}"));
    }
    code
}

fn kind(ident: &Ident, declaration: &Declaration, mistakes: &mut Mistakes) -> Option<&'static Kind> {
    let Some(word) = &declaration.kind else {
        if declaration.words.lacks("kind") {
            mistakes.add(
                ident,
                format_args!("failure `{ident}` has no kind; add `kind = not_found`, or another of the kinds"),
            );
        }
        return None;
    };
    let text = word.unraw().to_string();
    let kind = KINDS.iter().find(|kind| kind.word == text);
    if kind.is_none() {
        let words = KINDS.each_ref().map(|kind| kind.word);
        match nearest(&text, words) {
            Some(meant) => mistakes.add(word, format_args!("there is no kind `{text}`; did you mean `{meant}`?")),
            None => mistakes.add(word, format_args!("there is no kind `{text}`; there are {}", BacktickList(&words))),
        }
    }
    kind
}

/// Looks `name` up among the public fields; says at `token` what is wrong where it is not one.
pub(super) fn public_field<'a>(
    name: &str,
    token: &dyn ToTokens,
    fields: &'a [FailureField],
    mistakes: &mut Mistakes,
) -> Option<&'a FailureField> {
    let known: Vec<String> = fields.iter().filter(|field| !field.private).map(FailureField::name).collect();
    match fields.iter().find(|field| field.name() == name) {
        Some(field) if !field.private => return Some(field),
        Some(_) => mistakes
            .add(token.to_token_stream(), format_args!("`{name}` is private, and this would show it to the caller")),
        None => match (nearest(name, known.iter().map(String::as_str)), known.is_empty()) {
            (Some(meant), _) => {
                mistakes
                    .add(token.to_token_stream(), format_args!("there is no field `{name}`; did you mean `{meant}`?"));
            }
            (None, true) => {
                mistakes.add(
                    token.to_token_stream(),
                    format_args!("there is no field `{name}`; the variant has no public field"),
                );
            }
            (None, false) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let known = BacktickList(&known);
                mistakes
                    .add(token.to_token_stream(), format_args!("there is no field `{name}`; the variant has {known}"));
            }
        },
    }
    None
}

fn message(text: &LitStr, fields: &[FailureField], mistakes: &mut Mistakes) -> Option<MessageText> {
    let Some(parts) = template::parts(&text.value()) else {
        let advice = "write `{field}` for a field, and `{{` or `}}` for a brace itself";
        mistakes.add(text, format_args!("a brace of this message stands wrong; {advice}"));
        return None;
    };
    let mut told = BTreeSet::new();
    for part in &parts {
        if let TemplatePart::Field(name) = part
            && told.insert(name)
        {
            public_field(name, text, fields, mistakes);
        }
    }
    Some(MessageText { text: text.value(), parts })
}

fn effect(word: &Ident, mistakes: &mut Mistakes) -> Option<Ident> {
    let variant = match word.to_string().as_str() {
        "none" => "None",
        "partial" => "Partial",
        "unknown" => "Unknown",
        _ => {
            mistakes.add(word, format_args!("there is no effect `{word}`; there are `none`, `partial` and `unknown`"));
            return None;
        }
    };
    Some(Ident::new(variant, proc_macro2::Span::call_site()))
}

fn http(number: &syn::LitInt, mistakes: &mut Mistakes) -> Option<u16> {
    match number.base10_parse::<u16>() {
        Ok(status) if (400..=599).contains(&status) => Some(status),
        Ok(_) | Err(_) => {
            mistakes.add(number, "the status of a failure is from 400 to 599; leave `http` out to have the kind's");
            None
        }
    }
}

fn retry_after(name: &Ident, fields: &[FailureField], heals: Option<bool>, mistakes: &mut Mistakes) -> Option<Ident> {
    let field = public_field(&name.unraw().to_string(), name, fields, mistakes)?;
    if !is_unsigned(&field.ty) {
        let advice = "write `u8`, `u16`, `u32` or `u64`";
        mistakes.add(&field.ty, format_args!("`retry_after` counts milliseconds in `{name}`; {advice} here"));
    } else if heals == Some(false) {
        mistakes.add(
            name,
            "this failure is not retryable, so waiting does not help; add `retryable = true`, or remove `retry_after`",
        );
    }
    Some(name.clone())
}

fn is_unsigned(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    ["u8", "u16", "u32", "u64"].iter().any(|unsigned| path.path.is_ident(unsigned))
}

fn extends(parents: &[LitStr], code: &str, mistakes: &mut Mistakes) -> Vec<String> {
    let mut codes = Vec::new();
    for parent in parents {
        let text = parent.value();
        if !grammar::is_any_code(&text) {
            mistakes.add(parent, format_args!("`{text}` is not a code; write one such as `extends = \"CONFLICT\"`"));
        } else if text == code {
            mistakes.add(parent, format_args!("{text} cannot extend itself; name a more general code"));
        } else if codes.contains(&text) {
            mistakes.add(parent, format_args!("{text} is here twice; keep one"));
        }
        codes.push(text);
    }
    codes
}
