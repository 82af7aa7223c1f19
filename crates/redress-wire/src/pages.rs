//! The pages about codes: for people (HTML that needs no script) and for programs (JSON).

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, html};
use redress_contract::{Code, Contract, EngineCode, Failure, Name, Operation, Recovery, Shape, Verb};
use serde_json::{Value, json};

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

/// Every code that a call of these operations may end with, as JSON.
pub fn index_json(contract: &Contract) -> Value {
    let rows = entries(contract).into_iter().map(|entry| {
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

/// Every code that a call of these operations may end with, as a page.
pub fn index_html(contract: &Contract) -> String {
    let (engine, declared): (Vec<Entry<'_>>, Vec<Entry<'_>>) =
        entries(contract).into_iter().partition(|entry| entry.engine.is_some());
    let mut body =
        String::from("<h1>Codes</h1>\n<p>Every way in which a call may end badly, and what to do then.</p>\n");
    for (title, entries) in [("Declared by the operations", declared), ("Of the engine itself", engine)] {
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
pub fn code_json(contract: &Contract, extra: Option<&Failure>, code: &str) -> Option<Value> {
    let entry = find(contract, extra, code)?;
    let failure = &entry.failure;
    let mut json = json!({
        "code": failure.code(),
        "kind": failure.kind(),
        "http": failure.http(),
        "jsonrpc": jsonrpc::number(failure.kind()),
        "when": failure.when(),
        "message": failure.message(),
        "retryable": failure.retryable(),
        "effect": failure.effect(),
        "extends": failure.extends(),
        "details": failure.details(),
        "operations": entry.operations,
        "docs_url": failure.code().docs_url(),
    });
    if let Value::Object(members) = &mut json {
        let optional = [
            ("recovery", failure.recovery().map(|recovery| json!(recovery))),
            ("retry_after", failure.retry_after().map(Value::from)),
            ("since", failure.since().map(Value::from)),
            ("deprecated", failure.deprecated().map(|deprecation| json!(deprecation))),
            ("layer", failure.layer().map(Value::from)),
            ("page", entry.engine.map(|code| Value::from(code.page()))),
        ];
        members.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    Some(json)
}

/// What a code means, as a page; nothing for a code that none of these operations has.
pub fn code_html(contract: &Contract, extra: Option<&Failure>, code: &str) -> Option<String> {
    let entry = find(contract, extra, code)?;
    let failure = &entry.failure;
    let mut body = String::from("<p><a href=\"../errors\">All codes</a></p>\n");
    match entry.engine {
        Some(engine) => body.push_str(&markdown(engine.page())),
        None => {
            let _ = write!(body, "<h1>{}</h1>\n<p>{}</p>\n", Escaped(failure.code().as_str()), Escaped(failure.when()));
        }
    }
    body.push_str("<h2>At a glance</h2>\n<table><tbody>\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(body, "<tr><th>{name}</th><td>{value}</td></tr>");
    };
    row("message", Escaped(failure.message()).to_string());
    row("kind", format!("<code>{}</code>", failure.kind()));
    row("status", failure.http().to_string());
    row("JSON-RPC", jsonrpc::number(failure.kind()).to_string());
    row("time heals it", if failure.retryable() { "yes".into() } else { "no".into() });
    row("side effect", failure.effect().as_str().to_owned());
    if let Some(recovery) = failure.recovery() {
        row("what to do", Escaped(recovery.hint()).to_string());
        row("for a program", told(recovery));
    }
    if let Some(field) = failure.retry_after() {
        row("how long to wait", format!("in <code>details.{}</code>, milliseconds", Escaped(field)));
    }
    if !failure.extends().is_empty() {
        row("is a case of", failure.extends().iter().map(link).collect::<Vec<_>>().join(", "));
    }
    if let Some(layer) = failure.layer() {
        row("comes from", Escaped(layer).to_string());
    }
    if let Some(since) = failure.since() {
        row("since", Escaped(since).to_string());
    }
    if let Some(deprecation) = failure.deprecated() {
        let instead = deprecation.replaced_by.as_deref().unwrap_or("nothing");
        row("deprecated", format!("since {}; use {} instead", Escaped(&deprecation.since), Escaped(instead)));
    }
    if !entry.operations.is_empty() {
        let names: Vec<String> = entry.operations.iter().map(|name| format!("<code>{name}</code>")).collect();
        row("operations", names.join(", "));
    }
    body.push_str("</tbody></table>\n");
    if entry.engine.is_none()
        && failure.details().properties().next().is_some()
        && let Ok(schema) = serde_json::to_string_pretty(failure.details())
    {
        let _ = write!(body, "<h2>Details</h2>\n<pre><code>{}</code></pre>\n", Escaped(&schema));
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

/// A code, with what declares it.
struct Entry<'a> {
    failure: Failure,
    operations: Vec<&'a Name>,
    engine: Option<EngineCode>,
}

fn entries(contract: &Contract) -> Vec<Entry<'_>> {
    let mut codes: Vec<&Code> = contract.operations().iter().flat_map(Operation::failures).map(Failure::code).collect();
    codes.sort_unstable();
    codes.dedup();
    let declared = codes.into_iter().filter_map(|code| find(contract, None, code.as_str()));
    let engine = answered(contract.operations().iter()).into_iter().map(engine_entry);
    declared.chain(engine).collect()
}

fn engine_entry<'a>(code: EngineCode) -> Entry<'a> {
    Entry { failure: code.declaration(), operations: Vec::new(), engine: Some(code) }
}

fn find<'a>(contract: &'a Contract, extra: Option<&Failure>, code: &str) -> Option<Entry<'a>> {
    if let Some(engine) = EngineCode::parse(code) {
        return Some(engine_entry(engine));
    }
    let declaring: Vec<(&Name, &Failure)> = contract
        .operations()
        .iter()
        .filter_map(|operation| Some((operation.name(), operation.failure(code)?)))
        .collect();
    let failure = declaring.first().map(|(_, failure)| *failure).or(extra)?;
    let operations = declaring.iter().map(|(name, _)| *name).collect();
    Some(Entry { failure: failure.clone(), operations, engine: None })
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
