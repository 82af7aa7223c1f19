//! What is written: the words of `#[operation(…)]` as they stand, with their tokens.

use proc_macro2::TokenStream;
use syn::{Ident, LitInt, LitStr};

use crate::{
    attribute::{AttributeItem, AttributeItems, bound, pairs},
    deprecation::Deprecation,
    mistakes::Mistakes,
    shown::ShownWords,
};

/// The words that say how the operation is asked for and answered.
pub(super) const SHAPES: [&str; 3] = ["query", "mutation", "subscription"];

const WORDS: [&str; 28] = [
    "query",
    "mutation",
    "subscription",
    "name",
    "access",
    "deadline",
    "strict",
    "internal",
    "idempotency_key",
    "verify",
    "eval",
    "calls",
    "authority",
    "tags",
    "alias",
    "example",
    "max_input",
    "max_output",
    "since",
    "deprecated",
    "buffer",
    "overflow",
    "idle",
    "resumable",
    "prompt",
    "resource",
    "mime_type",
    "complete",
];

/// The attribute.
#[derive(Default)]
pub(super) struct ParsedOperation {
    pub(super) words: AttributeItems,
    pub(super) shapes: Vec<Ident>,
    pub(super) name: Option<LitStr>,
    pub(super) access: Option<AccessWords>,
    pub(super) deadline: Option<LitStr>,
    pub(super) strict: bool,
    pub(super) internal: bool,
    pub(super) idempotency_key: Option<Ident>,
    pub(super) verify: Option<Verify>,
    pub(super) eval: Option<Eval>,
    pub(super) calls: Vec<LitStr>,
    pub(super) authority: Option<(Ident, Authority)>,
    pub(super) tags: Vec<LitStr>,
    pub(super) aliases: Vec<LitStr>,
    pub(super) examples: Vec<ExampleWords>,
    pub(super) max_input: Option<LitStr>,
    pub(super) max_output: Option<LitStr>,
    pub(super) since: Option<LitStr>,
    pub(super) deprecated: Option<Deprecation>,
    pub(super) buffer: Option<LitInt>,
    pub(super) overflow: Option<Result<Ident, LitStr>>,
    pub(super) idle: Option<LitStr>,
    pub(super) resumable: bool,
    pub(super) prompt: Option<Ident>,
    pub(super) resource: Option<LitStr>,
    pub(super) mime_type: Option<LitStr>,
    /// The members of the input that are completed, and by which operation.
    pub(super) completions: Vec<(Ident, LitStr)>,
    /// The words that only a stream can have, as they were met.
    pub(super) of_streams: Vec<Ident>,
}

/// What `access(…)` says.
pub(super) struct AccessWords {
    pub(super) ident: Ident,
    pub(super) anyone: Option<Ident>,
    pub(super) scopes: Option<LitStr>,
    pub(super) any_scope: Option<LitStr>,
    pub(super) consent: bool,
    pub(super) check: Option<syn::Path>,
    pub(super) complete: bool,
}

/// What `verify(…)` says.
pub(super) struct Verify {
    pub(super) ident: Ident,
    pub(super) words: AttributeItems,
    pub(super) query: Option<LitStr>,
    pub(super) bind: Vec<(Ident, Ident)>,
    pub(super) shown: ShownWords,
    pub(super) why: Option<LitStr>,
    pub(super) hint: Option<LitStr>,
}

/// What `eval(…)` says.
pub(super) struct Eval {
    pub(super) ident: Ident,
    pub(super) source: LitStr,
    pub(super) language: LitStr,
}

/// What `authority(…)` says.
pub(super) struct Authority {
    pub(super) caller: bool,
    pub(super) scopes: Vec<LitStr>,
}

/// What `example(…)` says.
pub(super) struct ExampleWords {
    pub(super) input: LitStr,
    pub(super) ending: ExampleEnding,
}

/// How an example ends.
pub(super) enum ExampleEnding {
    Output(LitStr),
    Failure(LitStr),
}

/// Reads the attribute.
pub(super) fn parse(tokens: TokenStream, mistakes: &mut Mistakes) -> ParsedOperation {
    let mut parsed = ParsedOperation::default();
    parsed.words.read(tokens, &WORDS, &["example"], mistakes);
    for item in std::mem::take(&mut parsed.words.items) {
        parsed.take(item, mistakes);
    }
    parsed
}

impl ParsedOperation {
    fn take(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        let word = item.word();
        if ["buffer", "overflow", "idle", "resumable"].contains(&word.as_str()) {
            self.of_streams.push(item.name.clone());
        }
        match word.as_str() {
            "query" | "mutation" | "subscription" => {
                item.alone(mistakes);
                self.shapes.push(item.name);
            }
            "name" => self.name = item.text_like("files.read", mistakes),
            "access" => self.access = AccessWords::read(&item, mistakes),
            "deadline" => self.deadline = item.text_like("5s", mistakes),
            "strict" => self.strict = item.alone(mistakes),
            "internal" => self.internal = item.alone(mistakes),
            "idempotency_key" => {
                item.alone(mistakes);
                self.idempotency_key = Some(item.name);
            }
            "verify" => self.verify = Verify::read(&item, mistakes),
            "eval" => self.eval = Eval::read(&item, mistakes),
            "calls" => self.calls = item.texts("\"files.list\"", mistakes),
            "authority" => {
                let caller = item.is_list_of("caller");
                let scopes =
                    if caller { Vec::new() } else { item.texts("caller)`, or `authority(\"files:read\"", mistakes) };
                self.authority = Some((item.name, Authority { caller, scopes }));
            }
            "tags" => self.tags = item.texts("\"files\"", mistakes),
            "alias" => self.aliases = item.texts("\"old.name\"", mistakes),
            "example" => self.examples.extend(ExampleWords::read(&item, mistakes)),
            "max_input" => self.max_input = item.text_like("64kb", mistakes),
            "max_output" => self.max_output = item.text_like("4mb", mistakes),
            "since" => self.since = item.text(mistakes),
            "deprecated" => self.deprecated = Deprecation::read(&item, mistakes),
            "buffer" => self.buffer = item.number(32, mistakes),
            "overflow" => self.overflow = item.ident_or_text("cut", mistakes),
            "idle" => self.idle = item.text_like("60s", mistakes),
            "prompt" => {
                item.alone(mistakes);
                self.prompt = Some(item.name);
            }
            "resource" => self.resource = item.text_like("notes://{folder}/{name}", mistakes),
            "mime_type" => self.mime_type = item.text_like("text/plain", mistakes),
            "complete" => {
                let list = item.list("path = \"files.like\"", mistakes);
                for pair in list.map(|list| pairs(list, mistakes)).unwrap_or_default() {
                    let by = pair.text_like("files.like", mistakes);
                    self.completions.extend(by.map(|by| (pair.name, by)));
                }
            }
            _ => self.resumable = item.alone(mistakes),
        }
    }
}

impl AccessWords {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<AccessWords> {
        let list = item.list("anyone)`, or `access(scopes = \"files:read\"", mistakes)?;
        let mut words = AttributeItems::default();
        words.read(list, &["anyone", "scopes", "any_scope", "consent", "check"], &[], mistakes);
        let mut access = AccessWords {
            ident: item.name.clone(),
            anyone: None,
            scopes: None,
            any_scope: None,
            consent: false,
            check: None,
            complete: true,
        };
        access.complete = !words.lacks_all(&["anyone", "scopes", "any_scope", "consent", "check"]);
        for item in words.items {
            match item.word().as_str() {
                "anyone" => {
                    item.alone(mistakes);
                    access.anyone = Some(item.name);
                }
                "scopes" => access.scopes = item.text_like("files:read", mistakes),
                "any_scope" => access.any_scope = item.text_like("files:read files:write", mistakes),
                "check" => access.check = item.path("owns_ticket", mistakes),
                _ => access.consent = item.alone(mistakes),
            }
        }
        Some(access)
    }
}

impl Verify {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<Verify> {
        let list =
            item.list("query = \"files.check\", bind(path = path), done = \"/exists\", hint = \"…\"", mistakes)?;
        let mut verify = Verify {
            ident: item.name.clone(),
            words: AttributeItems::default(),
            query: None,
            bind: Vec::new(),
            shown: ShownWords::default(),
            why: None,
            hint: None,
        };
        verify.words.read(list, &["query", "bind", "done", "is", "why", "hint"], &[], mistakes);
        for item in std::mem::take(&mut verify.words.items) {
            match item.word().as_str() {
                "query" => verify.query = item.text_like("files.check", mistakes),
                "bind" => verify.bind = bound(&item, mistakes),
                "done" | "is" => verify.shown.take(item, mistakes),
                "why" => verify.why = item.text(mistakes),
                _ => verify.hint = item.text(mistakes),
            }
        }
        Some(verify)
    }
}

impl Eval {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<Eval> {
        const EXAMPLE: &str = "source = \"code\", language = \"javascript\"";
        let list = item.list(EXAMPLE, mistakes)?;
        let mut words = AttributeItems::default();
        words.read(list, &["source", "language"], &[], mistakes);
        if words.lacks("source") {
            mistakes
                .add(&item.name, format_args!("name the field of the input that holds the code: `eval({EXAMPLE})`"));
        }
        if words.lacks("language") {
            mistakes.add(&item.name, format_args!("name the language of the code: `eval({EXAMPLE})`"));
        }
        let (mut source, mut language) = (None, None);
        for item in &words.items {
            match item.word().as_str() {
                "source" => source = item.text(mistakes),
                _ => language = item.text(mistakes),
            }
        }
        Some(Eval { ident: item.name.clone(), source: source?, language: language? })
    }
}

impl ExampleWords {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<ExampleWords> {
        const EXAMPLE: &str = "input = r#\"{…}\"#, output = r#\"{…}\"#";
        let list = item.list(EXAMPLE, mistakes)?;
        let mut words = AttributeItems::default();
        words.read(list, &["input", "output", "failure"], &[], mistakes);
        if words.lacks("input") {
            mistakes.add(&item.name, format_args!("an example has an input: `example({EXAMPLE})`"));
        }
        if words.lacks_all(&["output", "failure"]) {
            mistakes.add(&item.name, "say how the example ends: add `output = r#\"{…}\"#` or `failure = \"CODE\"`");
        }
        let (mut input, mut ending) = (None, None);
        for item in &words.items {
            let text = item.text(mistakes);
            match item.word().as_str() {
                "input" => input = text,
                _ if ending.is_some() => mistakes.add(&item.name, "an example ends once; keep `output` or `failure`"),
                "output" => ending = text.map(ExampleEnding::Output),
                _ => ending = text.map(ExampleEnding::Failure),
            }
        }
        Some(ExampleWords { input: input?, ending: ending? })
    }
}
