//! What is written: the words of `#[operation(…)]` as they stand, with their tokens.

use proc_macro2::TokenStream;
use syn::{Ident, LitInt, LitStr};

use crate::{
    attribute::{AttributeItem, AttributeItems, WordRow, bound, pairs},
    deprecation::Deprecation,
    mistakes::Mistakes,
    shown::ShownWords,
};

/// The words that say how the operation is asked for and answered.
pub(super) const SHAPES: [&str; 3] = ["query", "mutation", "subscription"];

static WORDS: [WordRow<ParsedOperation>; 28] = [
    WordRow { name: "query", read: ParsedOperation::shape },
    WordRow { name: "mutation", read: ParsedOperation::shape },
    WordRow { name: "subscription", read: ParsedOperation::shape },
    WordRow { name: "name", read: |into, item, mistakes| into.name = item.text_like("files.read", mistakes) },
    WordRow { name: "access", read: |into, item, mistakes| into.access = AccessWords::read(&item, mistakes) },
    WordRow { name: "deadline", read: |into, item, mistakes| into.deadline = item.text_like("5s", mistakes) },
    WordRow { name: "strict", read: |into, item, mistakes| into.strict = item.alone(mistakes) },
    WordRow { name: "internal", read: |into, item, mistakes| into.internal = item.alone(mistakes) },
    WordRow { name: "idempotency_key", read: |into, item, mistakes| into.idempotency_key = item.named_alone(mistakes) },
    WordRow { name: "verify", read: |into, item, mistakes| into.verify = Verify::read(&item, mistakes) },
    WordRow { name: "eval", read: |into, item, mistakes| into.eval = Eval::read(&item, mistakes) },
    WordRow { name: "calls", read: |into, item, mistakes| into.calls = item.texts("\"files.list\"", mistakes) },
    WordRow { name: "authority", read: |into, item, mistakes| into.authority = Some(Authority::read(item, mistakes)) },
    WordRow { name: "tags", read: |into, item, mistakes| into.tags = item.texts("\"files\"", mistakes) },
    WordRow { name: "alias", read: |into, item, mistakes| into.aliases = item.texts("\"old.name\"", mistakes) },
    WordRow { name: "example", read: |into, item, mistakes| into.examples.extend(ExampleWords::read(&item, mistakes)) },
    WordRow { name: "max_input", read: |into, item, mistakes| into.max_input = item.text_like("64kb", mistakes) },
    WordRow { name: "max_output", read: |into, item, mistakes| into.max_output = item.text_like("4mb", mistakes) },
    WordRow { name: "since", read: |into, item, mistakes| into.since = item.text(mistakes) },
    WordRow { name: "deprecated", read: |into, item, mistakes| into.deprecated = Deprecation::read(&item, mistakes) },
    WordRow { name: "buffer", read: |into, item, mistakes| into.buffer = into.of_stream(item).number(32, mistakes) },
    WordRow {
        name: "overflow",
        read: |into, item, mistakes| into.overflow = into.of_stream(item).ident_or_text("cut", mistakes),
    },
    WordRow { name: "idle", read: |into, item, mistakes| into.idle = into.of_stream(item).text_like("60s", mistakes) },
    WordRow { name: "resumable", read: |into, item, mistakes| into.resumable = into.of_stream(item).alone(mistakes) },
    WordRow { name: "prompt", read: |into, item, mistakes| into.prompt = item.named_alone(mistakes) },
    WordRow {
        name: "resource",
        read: |into, item, mistakes| into.resource = item.text_like("notes://{folder}/{name}", mistakes),
    },
    WordRow { name: "mime_type", read: |into, item, mistakes| into.mime_type = item.text_like("text/plain", mistakes) },
    WordRow { name: "complete", read: ParsedOperation::complete },
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
    parsed.words.read(tokens, &WordRow::names(&WORDS), &["example"], mistakes);
    let items = std::mem::take(&mut parsed.words.items);
    WordRow::read_all(&WORDS, items, &mut parsed, mistakes);
    parsed
}

impl ParsedOperation {
    fn shape(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        self.shapes.extend(item.named_alone(mistakes));
    }

    /// Takes note of a word that only a stream can have.
    fn of_stream(&mut self, item: AttributeItem) -> AttributeItem {
        self.of_streams.push(item.name.clone());
        item
    }

    fn complete(&mut self, item: AttributeItem, mistakes: &mut Mistakes) {
        let list = item.list("path = \"files.like\"", mistakes);
        for pair in list.map(|list| pairs(list, mistakes)).unwrap_or_default() {
            let by = pair.text_like("files.like", mistakes);
            self.completions.extend(by.map(|by| (pair.name, by)));
        }
    }
}

impl Authority {
    fn read(item: AttributeItem, mistakes: &mut Mistakes) -> (Ident, Authority) {
        let caller = item.is_list_of("caller");
        let scopes = if caller { Vec::new() } else { item.texts("caller)`, or `authority(\"files:read\"", mistakes) };
        (item.name, Authority { caller, scopes })
    }
}

static ACCESS_WORDS: [WordRow<AccessWords>; 5] = [
    WordRow { name: "anyone", read: |into, item, mistakes| into.anyone = item.named_alone(mistakes) },
    WordRow { name: "scopes", read: |into, item, mistakes| into.scopes = item.text_like("files:read", mistakes) },
    WordRow {
        name: "any_scope",
        read: |into, item, mistakes| into.any_scope = item.text_like("files:read files:write", mistakes),
    },
    WordRow { name: "consent", read: |into, item, mistakes| into.consent = item.alone(mistakes) },
    WordRow { name: "check", read: |into, item, mistakes| into.check = item.path("owns_ticket", mistakes) },
];

impl AccessWords {
    fn read(item: &AttributeItem, mistakes: &mut Mistakes) -> Option<AccessWords> {
        let list = item.list("anyone)`, or `access(scopes = \"files:read\"", mistakes)?;
        let mut words = AttributeItems::default();
        let names = WordRow::names(&ACCESS_WORDS);
        words.read(list, &names, &[], mistakes);
        let mut access = AccessWords {
            ident: item.name.clone(),
            anyone: None,
            scopes: None,
            any_scope: None,
            consent: false,
            check: None,
            complete: true,
        };
        access.complete = !words.lacks_all(&names);
        WordRow::read_all(&ACCESS_WORDS, words.items, &mut access, mistakes);
        Some(access)
    }
}

static VERIFY_WORDS: [WordRow<Verify>; 6] = [
    WordRow { name: "query", read: |into, item, mistakes| into.query = item.text_like("files.check", mistakes) },
    WordRow { name: "bind", read: |into, item, mistakes| into.bind = bound(&item, mistakes) },
    WordRow { name: "done", read: |into, item, mistakes| into.shown.take_done(item, mistakes) },
    WordRow { name: "is", read: |into, item, mistakes| into.shown.take_is(item, mistakes) },
    WordRow { name: "why", read: |into, item, mistakes| into.why = item.text(mistakes) },
    WordRow { name: "hint", read: |into, item, mistakes| into.hint = item.text(mistakes) },
];

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
        verify.words.read(list, &WordRow::names(&VERIFY_WORDS), &[], mistakes);
        let items = std::mem::take(&mut verify.words.items);
        WordRow::read_all(&VERIFY_WORDS, items, &mut verify, mistakes);
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
                "language" => language = item.text(mistakes),
                _ => {}
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
                "failure" => ending = text.map(ExampleEnding::Failure),
                _ => {}
            }
        }
        Some(ExampleWords { input: input?, ending: ending? })
    }
}
