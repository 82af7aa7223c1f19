//! `explain`: the page of a code, or of a rule that declarations are held against.

use redress_contract::{EngineCode, FailureDeclaration, OperationDeclaration, Verb};
use redress_core::{RULES, Registry};
use redress_wire::pages;
use serde_json::json;

use crate::{
    arguments,
    error::CliError,
    error_rows::CliErrorCode,
    near::nearest,
    program::{CommandEnd, Setup},
    terminal::output::{NAME, SOFT, Stream, Terminal, harmless},
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::ExplainArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let code = args.name.to_uppercase();
    let trouble = CliErrorCode::parse(&code);
    let page = EngineCode::parse(&code).map(EngineCode::page).or(trouble.map(CliErrorCode::page));
    let rule = RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(&args.name));
    if let (Some(page), true) = (page.or(rule.map(|rule| rule.page)), !terminal.is_json()) {
        show_page(terminal.out(), page)?;
        return Ok(CommandEnd::Well);
    }
    if let (Some(rule), true) = (rule, page.is_none()) {
        terminal.document(&json!({"rule": rule.id, "page": rule.page}))?;
        return Ok(CommandEnd::Well);
    }
    if let Some(trouble) = trouble {
        terminal.document(&json!({"code": trouble.as_str(), "page": trouble.page()}))?;
        return Ok(CommandEnd::Well);
    }
    let registry = setup.local()?;
    // An extension's code has its namespace in front, in small letters.
    let found = registry.failure(&code).or_else(|| registry.failure(&args.name));
    let Some(failure) = found else {
        return Err(CliError::PageUnknown { wanted: args.name.clone(), similar: similar(&registry, &args.name) });
    };
    if terminal.is_json() {
        let page = pages::code_json(registry.contract(), Some(&failure), failure.code().as_str());
        terminal.document(&page)?;
    } else {
        show_failure(terminal.out(), &registry, &failure)?;
    }
    Ok(CommandEnd::Well)
}

fn similar(registry: &Registry, wanted: &str) -> Vec<String> {
    let codes = registry.codes();
    let mut names: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
    names.extend(RULES.iter().map(|rule| rule.id));
    names.extend(CliErrorCode::ALL.iter().map(|code| code.as_str()));
    nearest(wanted, names)
}

/// A page as it is written, its headings set off and without their marks.
fn show_page(out: &mut Stream<'_>, page: &str) -> std::io::Result<()> {
    let mut fenced = false;
    for line in page.trim_end().lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            out.line(format_args!("    {}", out.paint(SOFT, line)))?;
        } else if line.starts_with('#') {
            out.line(out.paint(NAME, line.trim_start_matches(['#', ' '])))?;
        } else {
            out.line(line)?;
        }
    }
    Ok(())
}

/// A code that operations declare, told from their declarations: what they share first, then what each says for itself.
fn show_failure(out: &mut Stream<'_>, registry: &Registry, failure: &FailureDeclaration) -> std::io::Result<()> {
    let declares = |operation: &'_ OperationDeclaration| operation.failure(failure.code().as_str()).is_some();
    let declaring: Vec<&OperationDeclaration> =
        registry.contract().operations().iter().filter(|operation| declares(operation)).collect();
    let mut each: Vec<_> =
        declaring.iter().filter_map(|operation| operation.failure(failure.code().as_str())).map(rows_of).collect();
    if each.is_empty() {
        each.push(rows_of(failure));
    }
    let (shared, own) = pages::told_apart(each);
    out.line(out.paint(NAME, failure.code()))?;
    out.line(format_args!("\n{}\n", harmless(failure.when())))?;
    show_row(out, "kind", &failure.kind().to_string())?;
    show_row(out, "status", &failure.http().to_string())?;
    show_row(out, "retryable", if failure.retryable() { "yes" } else { "no" })?;
    // When it happens stands above already.
    for (label, text) in shared.iter().filter(|(label, _)| *label != "when") {
        show_row(out, label, text)?;
    }
    let names: Vec<&str> = declaring.iter().map(|operation| operation.name().as_str()).collect();
    if !names.is_empty() {
        show_row(out, "operations", &names.join(", "))?;
    }
    if own.iter().all(Vec::is_empty) {
        return Ok(());
    }
    for (name, rows) in names.iter().zip(&own) {
        out.line(format_args!("\n{}", out.paint(NAME, harmless(name))))?;
        for (label, text) in rows {
            show_row(out, label, text)?;
        }
    }
    Ok(())
}

fn show_row(out: &mut Stream<'_>, label: &str, text: &str) -> std::io::Result<()> {
    out.line(format_args!("  {:12}{}", out.paint(SOFT, label), harmless(text)))
}

/// What operations may declare each in their own way of one code.
fn rows_of(failure: &FailureDeclaration) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("when", failure.when().to_owned()),
        ("message", failure.message().to_owned()),
        ("effect", failure.effect().as_str().to_owned()),
    ];
    if let Some(recovery) = failure.recovery() {
        rows.push(("what to do", recovery.hint().to_owned()));
        match recovery.verb() {
            Verb::Call { operation, .. } => rows.push(("call", operation.to_string())),
            Verb::Verify { operation, done, .. } => rows.push(("verify", format!("{operation}, done where {done}"))),
            Verb::FixInput { .. } | Verb::Wait | Verb::AskUser | Verb::GetAccess { .. } | Verb::Stop => {}
        }
    }
    let fields: Vec<&str> = failure.details().properties().collect();
    if !fields.is_empty() {
        rows.push(("details", fields.join(", ")));
    }
    rows
}
