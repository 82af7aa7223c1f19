//! The pages about codes: for people (HTML that needs no script) and for programs (JSON).

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, html};
use redress_contract::{
    Code, Contract, EngineCode, FailureDeclaration, Name, OperationDeclaration, Recovery, Shape, Verb,
};
use serde_json::{Map, Value, json};

use crate::{
    http::{Info, answered},
    jsonrpc,
};

/// What browsers are told that a page may do: show itself, in the one style that it brings. It has no script.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; \
    style-src 'sha256-qSgNFxYvkdh1/fIf1YqwHLPZwP8QcmCcNs+dABTq4b0='; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Where a person who has only the address finds everything else: the faces, these operations, the codes, the documents.
pub fn home_html(contract: &Contract, info: &Info, mcp: bool) -> String {
    let server = info.server.trim_end_matches('/');
    let (title, base) = (Escaped(&info.title), Escaped(server));
    let mut body = format!("<h1>{title}</h1>\n");
    if let Some(description) = &info.description {
        body.push_str(&markdown(description));
    }
    let _ = write!(body, "<p>Version {}.</p>\n<h2>Faces</h2>\n<table><tbody>\n", Escaped(&info.version));
    let faces = [
        ("HTTP", "POST /ops/{namespace}/{name}", "an operation as a route of its own"),
        ("HTTP", "POST /call, /batch, /subscribe", "any operation, named in the message"),
        ("JSON-RPC", "POST /rpc", "requests, notifications and batches"),
        ("WebSocket", "GET /ws", "many calls and streams on one connection"),
        ("MCP", "POST /mcp", "the operations as tools of an agent"),
    ];
    for (name, path, what) in faces.into_iter().filter(|(name, ..)| mcp || *name != "MCP") {
        let _ = writeln!(body, "<tr><th>{name}</th><td><code>{path}</code></td><td>{what}</td></tr>");
    }
    body.push_str("</tbody></table>\n<h2>Documents</h2>\n<table><tbody>\n");
    for (path, what) in [
        ("/errors", "every code, and what to do then"),
        ("/openapi.json", "OpenAPI 3.1"),
        ("/openrpc.json", "OpenRPC"),
        ("/contract.json", "the declarations themselves"),
        ("/ops", "the operations, for programs"),
        ("/healthz", "whether it runs"),
        ("/readyz", "whether it takes calls"),
    ] {
        let _ = writeln!(body, "<tr><td><a href=\"{base}{path}\"><code>{path}</code></a></td><td>{what}</td></tr>");
    }
    body.push_str("</tbody></table>\n<h2>Operations</h2>\n");
    if contract.operations().is_empty() {
        body.push_str("<p>There are none for you. Operations that ask for a caller are shown to one.</p>\n");
        return page(&info.title, &body);
    }
    body.push_str("<table><thead><tr><th>operation</th><th>shape</th><th>what it does</th><th>fails with</th></tr></thead><tbody>\n");
    for operation in contract.operations() {
        let name = operation.name();
        let codes: Vec<String> = operation
            .failures()
            .iter()
            .map(|failure| {
                format!("<a href=\"{base}/errors/{0}\"><code>{0}</code></a>", Escaped(failure.code().as_str()))
            })
            .collect();
        let old = if operation.deprecated().is_some() { " (deprecated)" } else { "" };
        let _ = writeln!(
            body,
            "<tr><td><code>{name}</code></td><td>{}</td><td>{}{old}</td><td>{}</td></tr>",
            shape(operation.shape()),
            Escaped(operation.summary()),
            codes.join(" "),
        );
    }
    body.push_str("</tbody></table>\n");
    page(&info.title, &body)
}

/// Every code that a call of these operations may end with, as JSON. `extra` holds codes that no operation declares, such
/// as those of an extension.
pub fn index_json(contract: &Contract, extra: &[FailureDeclaration]) -> Value {
    let rows = entries(contract, extra).into_iter().map(|entry| {
        json!({
            "code": entry.failure.code(),
            "kind": entry.failure.kind(),
            "http": entry.failure.http(),
            "when": entry.failure.when(),
            "engine": entry.engine.is_some(),
            "docs_url": entry.failure.code().docs_url(),
        })
    });
    json!({"codes": rows.collect::<Vec<_>>()})
}

/// Every code that a call of these operations may end with, as a page. `extra` holds codes that no operation declares.
pub fn index_html(contract: &Contract, extra: &[FailureDeclaration]) -> String {
    let (engine, declared): (Vec<CodeEntry<'_>>, Vec<CodeEntry<'_>>) =
        entries(contract, extra).into_iter().partition(|entry| entry.engine.is_some());
    let mut body =
        String::from("<h1>Codes</h1>\n<p>Every way in which a call may end badly, and what to do then.</p>\n");
    for (title, entries) in [("Declared by operations and extensions", declared), ("Of the engine itself", engine)] {
        if entries.is_empty() {
            continue;
        }
        let _ = write!(
            body,
            "<h2>{title}</h2>\n<table><thead><tr><th>code</th><th>kind</th><th>status</th><th>when</th></tr></thead><tbody>\n"
        );
        for entry in entries {
            let failure = &entry.failure;
            let code = failure.code().as_str();
            let _ = writeln!(
                body,
                "<tr><td><a href=\"errors/{code}\"><code>{code}</code></a></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                failure.kind(),
                failure.http(),
                Escaped(failure.when()),
            );
        }
        body.push_str("</tbody></table>\n");
    }
    page("Codes", &body)
}

/// What a code means, as JSON; nothing for a code that none of these operations has.
/// `extra` holds codes that no operation declares, such as those of an extension.
///
/// What is said beside `code` holds of every operation that is named. What two of them declare otherwise is said of
/// each in its own row of `operations`.
pub fn code_json(contract: &Contract, extra: Option<&FailureDeclaration>, code: &str) -> Option<Value> {
    let entry = find(contract, extra, code)?;
    let failure = &entry.failure;
    let mut members = Map::from_iter([
        ("code".to_owned(), json!(failure.code())),
        ("kind".to_owned(), json!(failure.kind())),
        ("http".to_owned(), json!(failure.http())),
        ("jsonrpc".to_owned(), json!(jsonrpc::number(failure.kind()))),
        ("when".to_owned(), json!(failure.when())),
        ("retryable".to_owned(), json!(failure.retryable())),
        ("docs_url".to_owned(), json!(failure.code().docs_url())),
    ]);
    if let Some(code) = entry.engine {
        members.insert("page".to_owned(), code.page().into());
    }
    let (shared, own) = told_apart(entry.declared().map(members_of).collect());
    let owned = |rows: Rows<Value>| rows.into_iter().map(|(name, value)| (name.to_owned(), value));
    members.extend(owned(shared));
    let operations = entry.operations().zip(own).map(|(name, rows)| {
        let named = [("name".to_owned(), json!(name))];
        Value::Object(named.into_iter().chain(owned(rows)).collect())
    });
    members.insert("operations".to_owned(), operations.collect());
    Some(Value::Object(members))
}

/// What operations may declare each in their own way of one code.
fn members_of(failure: &FailureDeclaration) -> Vec<(&'static str, Value)> {
    let members = [
        ("when", Some(json!(failure.when()))),
        ("message", Some(json!(failure.message()))),
        ("effect", Some(json!(failure.effect()))),
        ("extends", Some(json!(failure.extends()))),
        ("details", Some(json!(failure.details()))),
        ("recovery", failure.recovery().map(|recovery| json!(recovery))),
        ("retry_after", failure.retry_after().map(Value::from)),
        ("since", failure.since().map(Value::from)),
        ("deprecated", failure.deprecated().map(|deprecation| json!(deprecation))),
        ("layer", failure.layer().map(Value::from)),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Takes what all of them say from what several declarations of a code say, row by row, and leaves to each its own.
///
/// ```
/// use redress_wire::pages::told_apart;
///
/// let (shared, own) = told_apart(vec![vec![("effect", "none"), ("message", "no")], vec![("effect", "none")]]);
/// assert_eq!(shared, [("effect", "none")]);
/// assert_eq!(own, [vec![("message", "no")], vec![]]);
/// ```
pub fn told_apart<T: PartialEq>(mut each: Vec<Vec<(&'static str, T)>>) -> (Rows<T>, Vec<Rows<T>>) {
    let Some((first, others)) = each.split_first_mut() else { return (Vec::new(), Vec::new()) };
    let mut shared = Vec::new();
    for row in std::mem::take(first) {
        if others.iter().all(|rows| rows.contains(&row)) {
            others.iter_mut().for_each(|rows| rows.retain(|other| *other != row));
            shared.push(row);
        } else {
            first.push(row);
        }
    }
    (shared, each)
}

/// What is said of a code: rows of a name and what is said under it.
pub type Rows<T> = Vec<(&'static str, T)>;

/// What a code means, as a page; nothing for a code that none of these operations has.
pub fn code_html(contract: &Contract, extra: Option<&FailureDeclaration>, code: &str) -> Option<String> {
    let entry = find(contract, extra, code)?;
    let failure = &entry.failure;
    let mut body = String::from("<p><a href=\"../errors\">All codes</a></p>\n");
    match entry.engine {
        Some(engine) => body.push_str(&markdown(engine.page())),
        None => {
            let _ = write!(body, "<h1>{}</h1>\n<p>{}</p>\n", Escaped(failure.code().as_str()), Escaped(failure.when()));
        }
    }
    let details = |failure: &FailureDeclaration| entry.engine.is_none().then(|| details(failure)).flatten();
    let each = |failure: &FailureDeclaration| rows_of(failure).into_iter().chain(details(failure)).collect();
    let (mut shared, own) = told_apart(entry.declared().map(each).collect());
    // It stands above the table already.
    shared.retain(|(name, _)| *name != "when");
    let details: Vec<_> = shared.extract_if(.., |(name, _)| *name == DETAILS).collect();
    let all = [
        ("kind", format!("<code>{}</code>", failure.kind())),
        ("status", failure.http().to_string()),
        ("JSON-RPC", jsonrpc::number(failure.kind()).to_string()),
        ("time heals it", if failure.retryable() { "yes".to_owned() } else { "no".to_owned() }),
    ];
    shared.splice(..0, all);
    let names: Vec<String> = entry.operations().map(|name| format!("<code>{name}</code>")).collect();
    if !names.is_empty() {
        shared.push(("operations", names.join(", ")));
    }
    body.push_str("<h2>At a glance</h2>\n");
    push_table(&mut body, &shared);
    for (_, schema) in details {
        let _ = writeln!(body, "<h2>Details</h2>\n{schema}");
    }
    if own.iter().any(|rows| !rows.is_empty()) {
        body.push_str("<h2>By operation</h2>\n");
        for (name, rows) in names.iter().zip(&own) {
            let _ = writeln!(body, "<h3>{name}</h3>");
            push_table(&mut body, rows);
        }
    }
    Some(page(failure.code().as_str(), &body))
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Query => "query",
        Shape::Mutation => "mutation",
        Shape::Subscription => "subscription",
    }
}

fn push_table(body: &mut String, rows: &[(&str, String)]) {
    body.push_str("<table><tbody>\n");
    for (name, value) in rows {
        let _ = writeln!(body, "<tr><th>{name}</th><td>{value}</td></tr>");
    }
    body.push_str("</tbody></table>\n");
}

const DETAILS: &str = "details";

fn details(failure: &FailureDeclaration) -> Option<(&'static str, String)> {
    failure.details().properties().next()?;
    let schema = serde_json::to_string_pretty(failure.details()).ok()?;
    Some((DETAILS, format!("<pre><code>{}</code></pre>", Escaped(&schema))))
}

/// What operations may declare each in their own way of one code, as HTML.
fn rows_of(failure: &FailureDeclaration) -> Vec<(&'static str, String)> {
    let recovery = failure.recovery();
    let instead = |replaced_by: Option<&str>| Escaped(replaced_by.unwrap_or("nothing")).to_string();
    let rows = [
        ("when", Some(Escaped(failure.when()).to_string())),
        ("message", Some(Escaped(failure.message()).to_string())),
        ("side effect", Some(failure.effect().as_str().to_owned())),
        ("what to do", recovery.map(|recovery| Escaped(recovery.hint()).to_string())),
        ("for a program", recovery.map(told)),
        (
            "how long to wait",
            failure.retry_after().map(|field| format!("in <code>details.{}</code>, milliseconds", Escaped(field))),
        ),
        (
            "is a case of",
            (!failure.extends().is_empty()).then(|| failure.extends().iter().map(link).collect::<Vec<_>>().join(", ")),
        ),
        ("comes from", failure.layer().map(|layer| Escaped(layer).to_string())),
        ("since", failure.since().map(|since| Escaped(since).to_string())),
        (
            "deprecated",
            failure.deprecated().map(|deprecation| {
                let instead = instead(deprecation.replaced_by.as_deref());
                format!("since {}; use {instead} instead", Escaped(&deprecation.since))
            }),
        ),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A code, with what declares it. What is not in `declaring` holds of the code itself, or of the first that is.
struct CodeEntry<'a> {
    failure: FailureDeclaration,
    declaring: Vec<(&'a Name, &'a FailureDeclaration)>,
    engine: Option<EngineCode>,
}

impl CodeEntry<'_> {
    fn operations(&self) -> impl Iterator<Item = &Name> {
        self.declaring.iter().map(|(name, _)| *name)
    }

    /// Every declaration of it: one where no operation has it for itself.
    fn declared(&self) -> impl Iterator<Item = &FailureDeclaration> {
        let alone = self.declaring.is_empty().then_some(&self.failure);
        self.declaring.iter().map(|(_, failure)| *failure).chain(alone)
    }
}

fn entries<'a>(contract: &'a Contract, extra: &[FailureDeclaration]) -> Vec<CodeEntry<'a>> {
    let own = contract.operations().iter().flat_map(OperationDeclaration::failures);
    let mut codes: Vec<&Code> = own.chain(extra).map(FailureDeclaration::code).collect();
    codes.sort_unstable();
    codes.dedup();
    let extra = |code: &Code| extra.iter().find(|failure| failure.code() == code);
    let declared = codes.into_iter().filter_map(|code| find(contract, extra(code), code.as_str()));
    let engine = answered(contract.operations().iter()).into_iter().map(engine_entry);
    declared.chain(engine).collect()
}

fn engine_entry<'a>(code: EngineCode) -> CodeEntry<'a> {
    CodeEntry { failure: code.declaration(), declaring: Vec::new(), engine: Some(code) }
}

fn find<'a>(contract: &'a Contract, extra: Option<&FailureDeclaration>, code: &str) -> Option<CodeEntry<'a>> {
    if let Some(engine) = EngineCode::parse(code) {
        return Some(engine_entry(engine));
    }
    let declaring: Vec<(&Name, &FailureDeclaration)> = contract
        .operations()
        .iter()
        .filter_map(|operation| Some((operation.name(), operation.failure(code)?)))
        .collect();
    let failure = declaring.first().map(|(_, failure)| *failure).or(extra)?.clone();
    Some(CodeEntry { failure, declaring, engine: None })
}

fn told(recovery: &Recovery) -> String {
    match recovery.verb() {
        Verb::FixInput { pointer } if pointer.is_empty() => "<code>fix_input</code>".to_owned(),
        Verb::FixInput { pointer } => format!("<code>fix_input</code> at <code>{}</code>", Escaped(pointer)),
        Verb::Call { operation, .. } => format!("<code>call</code> <code>{operation}</code>"),
        Verb::Verify { operation, done, .. } => {
            let done = Escaped(&done.to_string()).to_string();
            format!("<code>verify</code> <code>{operation}</code>, done where <code>{done}</code>")
        }
        Verb::Wait => "<code>wait</code>".to_owned(),
        Verb::AskUser => "<code>ask_user</code>".to_owned(),
        Verb::GetAccess { scope } => format!("<code>get_access</code> <code>{}</code>", Escaped(scope)),
        Verb::Stop => "<code>stop</code>".to_owned(),
    }
}

fn link(code: &Code) -> String {
    format!("<a href=\"{code}\"><code>{code}</code></a>")
}

/// Markdown as HTML. Markup inside it is shown and not obeyed.
fn markdown(text: &str) -> String {
    let shown = Parser::new(text).map(|event| match event {
        Event::Html(markup) | Event::InlineHtml(markup) => Event::Text(markup),
        event @ (Event::Start(_)
        | Event::End(_)
        | Event::Text(_)
        | Event::Code(_)
        | Event::InlineMath(_)
        | Event::DisplayMath(_)
        | Event::FootnoteReference(_)
        | Event::SoftBreak
        | Event::HardBreak
        | Event::Rule
        | Event::TaskListMarker(_)) => event,
    });
    let mut out = String::new();
    html::push_html(&mut out, shown);
    out
}

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8881}\
body{font:16px/1.55 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem}h2{font-size:1.15rem;margin-top:2rem}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid var(--line)}\
code{font:.9em ui-monospace,monospace;background:var(--soft);padding:.1em .3em;border-radius:.25em}\
pre{background:var(--soft);padding:.8rem;border-radius:.4rem;overflow-x:auto}pre code{background:none;padding:0}";

fn page(title: &str, body: &str) -> String {
    let title = Escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style></head>\n<body><main>\n{body}</main></body></html>\n"
    )
}

/// Text that is shown in HTML as it is.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for part in self.0.split_inclusive(['&', '<', '>', '"', '\'']) {
            let (text, last) = match part.char_indices().next_back() {
                Some((place, c @ ('&' | '<' | '>' | '"' | '\''))) => (part.get(..place).unwrap_or_default(), Some(c)),
                Some(_) | None => (part, None),
            };
            f.write_str(text)?;
            f.write_str(match last {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                Some(_) => "&#39;",
                None => "",
            })?;
        }
        Ok(())
    }
}
