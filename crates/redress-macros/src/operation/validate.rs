//! What is meant: the words judged, and turned into values that can be written out.

use quote::ToTokens;
use syn::{Ident, ItemFn, LitStr, ext::IdentExt as _};

use super::{
    parse::{AccessWords, ExampleEnding, ExampleWords, ParsedOperation, SHAPES},
    signature::{ArgumentRole, Signature},
    verification::{self, Verification},
};
use crate::{deprecation::Deprecation, docs, duration, grammar, mistakes::Mistakes, size};

/// An operation in which nothing is wrong.
pub(super) struct ValidOperation {
    pub(super) shape: Ident,
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) anyone: bool,
    pub(super) scopes: Vec<String>,
    pub(super) any_scopes: Vec<String>,
    pub(super) consent: bool,
    pub(super) check: Option<syn::Path>,
    pub(super) deadline: Option<u64>,
    pub(super) strict: bool,
    pub(super) internal: bool,
    pub(super) idempotency_key: bool,
    pub(super) verify: Option<Verification>,
    pub(super) eval: Option<(String, String)>,
    pub(super) calls: Vec<String>,
    pub(super) authority: Vec<String>,
    pub(super) calls_as_caller: bool,
    pub(super) tags: Vec<String>,
    pub(super) aliases: Vec<String>,
    pub(super) examples: Vec<ExampleWords>,
    pub(super) max_input: Option<u64>,
    pub(super) max_output: Option<u64>,
    pub(super) since: Option<String>,
    pub(super) deprecated: Option<Deprecation>,
    pub(super) streaming: Streaming,
    pub(super) prompt: bool,
    pub(super) resource: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) completions: Vec<(String, String)>,
}

/// How a subscription's stream is carried, where the contract's defaults do not do.
#[derive(Default)]
pub(super) struct Streaming {
    pub(super) buffer: Option<usize>,
    pub(super) overflow: Option<Overflow>,
    pub(super) idle: Option<u64>,
    pub(super) resumable: bool,
}

/// What happens when the reader is slow.
pub(super) enum Overflow {
    Cut,
    Wait(u64),
}

/// Judges the attribute. What is wrong is in `mistakes`; nothing comes back where a part is missing.
pub(super) fn validate(
    parsed: ParsedOperation,
    function: &ItemFn,
    signature: Option<&Signature>,
    mistakes: &mut Mistakes,
) -> Option<ValidOperation> {
    let ident = &function.sig.ident;
    let shape = shape(&parsed, ident, mistakes);
    let name = name(&parsed, ident, mistakes);
    if let Some(shape) = &shape {
        fits_shape(&parsed, shape, signature, mistakes);
    }
    let paragraphs = docs::paragraphs(&function.attrs);
    if paragraphs.is_empty() {
        mistakes.add(ident, "say in a doc comment what the operation does: `/// Read a text file.`");
    }
    if let Some(access) = &parsed.access {
        judge_access(access, mistakes);
    }
    let anyone = parsed.access.as_ref().is_some_and(|access| access.anyone.is_some());
    if let Some(signature) = signature {
        fits_signature(&parsed, anyone, signature, mistakes);
    }
    for call in &parsed.calls {
        is_name(call, "calls", mistakes);
    }
    for alias in &parsed.aliases {
        is_name(alias, "alias", mistakes);
        if name.as_ref().is_some_and(|name| *name == alias.value()) {
            mistakes.add(alias, "an alias is another name; this is the operation's own");
        }
    }
    let verify = parsed.verify.as_ref().and_then(|verify| verification::judge(verify, shape.as_ref(), mistakes));
    if let Some((word, _)) = &parsed.authority
        && parsed.words.lacks("calls")
    {
        mistakes.add(word, "`authority` is what it calls others with; add `calls(\"…\")`, or remove `authority`");
    }
    judge_role(&parsed, mistakes);
    parsed.examples.iter().for_each(|example| judge_example(example, mistakes));
    let deadline = parsed.deadline.as_ref().and_then(|text| duration::millis("deadline", text, mistakes));
    let max_input = parsed.max_input.as_ref().and_then(|text| size::bytes("max_input", text, mistakes));
    let max_output = parsed.max_output.as_ref().and_then(|text| size::bytes("max_output", text, mistakes));
    let streaming = streaming(&parsed, mistakes);
    let scopes = |of: fn(&AccessWords) -> &Option<LitStr>| {
        let text = parsed.access.as_ref().and_then(|access| of(access).as_ref()).map(LitStr::value).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    Some(ValidOperation {
        shape: shape?,
        name: name?,
        summary: paragraphs.into_iter().next()?,
        description: docs::whole(&function.attrs),
        anyone,
        scopes: scopes(|access| &access.scopes),
        any_scopes: scopes(|access| &access.any_scope),
        consent: parsed.access.as_ref().is_some_and(|access| access.consent),
        check: parsed.access.as_ref().and_then(|access| access.check.clone()),
        deadline,
        strict: parsed.strict,
        internal: parsed.internal,
        idempotency_key: parsed.idempotency_key.is_some(),
        verify,
        eval: parsed.eval.map(|eval| (eval.source.value(), eval.language.value())),
        calls: values(&parsed.calls),
        calls_as_caller: parsed.authority.as_ref().is_some_and(|(_, authority)| authority.caller),
        authority: parsed.authority.map(|(_, authority)| values(&authority.scopes)).unwrap_or_default(),
        tags: values(&parsed.tags),
        aliases: values(&parsed.aliases),
        examples: parsed.examples,
        max_input,
        max_output,
        since: parsed.since.map(|text| text.value()),
        deprecated: parsed.deprecated,
        streaming,
        prompt: parsed.prompt.is_some(),
        resource: parsed.resource.map(|uri| uri.value()),
        mime_type: parsed.mime_type.map(|text| text.value()),
        completions: parsed.completions.iter().map(|(name, by)| (name.unraw().to_string(), by.value())).collect(),
    })
}

fn values(texts: &[LitStr]) -> Vec<String> {
    texts.iter().map(LitStr::value).collect()
}

fn shape(parsed: &ParsedOperation, ident: &Ident, mistakes: &mut Mistakes) -> Option<Ident> {
    if let Some(second) = parsed.shapes.get(1) {
        mistakes.add(second, "an operation is one of `query`, `mutation` and `subscription`; keep one");
    }
    if parsed.shapes.is_empty() && parsed.words.lacks_all(&SHAPES) {
        mistakes
            .add(ident, "say what it is: `#[operation(query, …)]` if it only reads, else `mutation` or `subscription`");
    }
    parsed.shapes.first().cloned()
}

fn name(parsed: &ParsedOperation, ident: &Ident, mistakes: &mut Mistakes) -> Option<String> {
    match &parsed.name {
        Some(name) => is_name(name, "name", mistakes),
        None if parsed.words.lacks("name") => {
            mistakes.add(
                ident,
                format_args!("the operation has no name; add `name = \"files.{ident}\"`, or in another namespace"),
            );
        }
        None => {}
    }
    parsed.name.as_ref().map(LitStr::value)
}

fn is_name(name: &LitStr, word: &str, mistakes: &mut Mistakes) {
    let text = name.value();
    if !grammar::is_name(&text) {
        let advice = "two or more lower-case segments joined by dots";
        let example = match word {
            "name" => "name = \"files.read\"".to_owned(),
            "complete" => "complete(path = \"files.like\")".to_owned(),
            _ => format!("{word}(\"files.read\")"),
        };
        mistakes.add(name, format_args!("`{text}` is not an operation's name; write {advice}, as in `{example}`"));
    }
}

fn fits_shape(parsed: &ParsedOperation, shape: &Ident, signature: Option<&Signature>, mistakes: &mut Mistakes) {
    if let Some(word) = &parsed.idempotency_key
        && shape != "mutation"
    {
        mistakes.add(word, format_args!("a `{shape}` can be repeated as it is; remove this, or write `mutation`"));
    }
    if shape != "subscription" {
        for word in &parsed.of_streams {
            mistakes.add(word, format_args!("a `{shape}` has no stream; remove this, or write `subscription`"));
        }
        if signature.is_some_and(|signature| signature.streams) {
            mistakes.add(shape, "the function returns a stream of `Events`; write `subscription`");
        }
    } else if let Some(one) = signature.and_then(|signature| signature.gives_one.as_ref()) {
        mistakes.add(one, format_args!("a subscription returns a stream; write `Outcome<Events<{one}, E>, E>`"));
    }
}

fn fits_signature(parsed: &ParsedOperation, anyone: bool, signature: &Signature, mistakes: &mut Mistakes) {
    for argument in &signature.arguments {
        if anyone && argument.role == ArgumentRole::Caller {
            mistakes.add(&argument.ty, "with `access(anyone)` there may be no caller; take `Option<&Caller>`");
        }
    }
    let takes_input = signature.arguments.iter().any(|argument| argument.role == ArgumentRole::Input);
    if let Some(eval) = &parsed.eval
        && !takes_input
    {
        mistakes.add(
            &eval.ident,
            "`eval` names a field of the input, and the function takes none; add it as the last argument",
        );
    }
}

fn judge_access(access: &AccessWords, mistakes: &mut Mistakes) {
    if !access.complete {
        mistakes.add(&access.ident, "say who may call: `access(anyone)`, or `access(scopes = \"files:read\")`");
    }
    if let Some(anyone) = &access.anyone
        && (access.scopes.is_some() || access.any_scope.is_some() || access.consent)
    {
        mistakes.add(anyone, "`anyone` has neither scopes nor consent to give; keep `anyone`, or the rest");
    }
}

fn judge_role(parsed: &ParsedOperation, mistakes: &mut Mistakes) {
    if let (Some(prompt), Some(_)) = (&parsed.prompt, &parsed.resource) {
        mistakes.add(prompt, "an operation is a prompt or a resource; keep one");
    }
    if let Some(mime_type) = &parsed.mime_type
        && parsed.words.lacks("resource")
    {
        mistakes.add(mime_type, "only a resource has a media type; add `resource = \"…\"`, or remove this");
    }
    for (_, by) in &parsed.completions {
        is_name(by, "complete", mistakes);
    }
}

fn judge_example(example: &ExampleWords, mistakes: &mut Mistakes) {
    is_json(&example.input, "input", mistakes);
    match &example.ending {
        ExampleEnding::Output(output) => is_json(output, "output", mistakes),
        ExampleEnding::Failure(code) if grammar::is_any_code(&code.value()) => {}
        ExampleEnding::Failure(code) => {
            mistakes.add(code, "name the failure by its code, such as `failure = \"FILE_NOT_FOUND\"`");
        }
    }
}

fn is_json(text: &LitStr, word: &str, mistakes: &mut Mistakes) {
    if serde_json::from_str::<serde_json::Value>(&text.value()).is_err() {
        mistakes.add(
            text,
            format_args!("this is not JSON; write the {word} as in `{word} = r#\"{{\"path\": \"a.md\"}}\"#`"),
        );
    }
}

fn streaming(parsed: &ParsedOperation, mistakes: &mut Mistakes) -> Streaming {
    let buffer = parsed.buffer.as_ref().and_then(|number| match number.base10_parse::<usize>() {
        Ok(items) if (1..=65_536).contains(&items) => Some(items),
        Ok(_) | Err(_) => {
            mistakes.add(number, "`buffer` counts the items that may wait, from 1 to 65536; write `buffer = 32`");
            None
        }
    });
    let overflow = match &parsed.overflow {
        Some(Ok(word)) if word == "cut" => Some(Overflow::Cut),
        Some(Ok(word)) => {
            mistakes.add(word.to_token_stream(), "write `overflow = cut`, or how long to wait: `overflow = \"30s\"`");
            None
        }
        Some(Err(text)) => duration::millis("overflow", text, mistakes).map(Overflow::Wait),
        None => None,
    };
    let idle = parsed.idle.as_ref().and_then(|text| duration::millis("idle", text, mistakes));
    Streaming { buffer, overflow, idle, resumable: parsed.resumable }
}
