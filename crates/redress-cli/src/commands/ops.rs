//! `ops`: what may be called, a line each.

use redress_contract::Caller;
use redress_mcp::DroppedFields;
use serde_json::{Value, json};

use crate::{
    arguments::{self, ToolsArgs},
    call_target::CallTarget,
    commands::mcp,
    config::ServeSettings,
    error::CliError,
    program::{CommandEnd, Setup, wait},
    terminal::output::{NAME, SOFT, Terminal, harmless},
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::OpsArgs,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    if args.cost {
        return cost(setup, &args.tools, terminal);
    }
    let operations = wait(async {
        let service = match &args.server.url {
            Some(url) => CallTarget::at(url, args.server.ca(), args.server.token.as_deref())?,
            None => CallTarget::Here(setup.local()?),
        };
        service.operations().await
    })?;
    if terminal.is_json() {
        terminal.document(&operations)?;
        return Ok(CommandEnd::Well);
    }
    if operations.is_empty() {
        terminal.nothing(match (&args.server.url, &args.server.token) {
            (Some(_), None) => "nothing here is for whoever shows no token: `--token` or REDRESS_TOKEN says who calls",
            (Some(_), Some(_)) => "nothing here is for this caller: its token has no scope that an operation asks for",
            (None, _) => "there are no operations: add them with .add(…)",
        })?;
    }
    let text =
        |operation: &Value, member: &str| harmless(operation.get(member).and_then(Value::as_str).unwrap_or_default());
    let width = operations.iter().map(|operation| text(operation, "name").chars().count()).max().unwrap_or_default();
    let out = terminal.out();
    for operation in &operations {
        let (name, shape) = (text(operation, "name"), text(operation, "shape"));
        let deprecated = operation.get("deprecated").and_then(Value::as_bool) == Some(true);
        let note = match (deprecated, text(operation, "replaced_by").as_str()) {
            (false, _) => String::new(),
            (true, "") => " (deprecated)".to_owned(),
            (true, instead) => format!(" (deprecated: call {instead} instead)"),
        };
        let (name, shape) = (out.paint(NAME, name), out.paint(SOFT, shape));
        out.line(format_args!("{name:width$}  {shape:12}  {}{note}", text(operation, "summary")))?;
    }
    Ok(CommandEnd::Well)
}

/// What each operation costs a model that is shown it as a tool, the dearest first.
fn cost(setup: &Setup, tools: &ToolsArgs, terminal: &mut Terminal<'_>) -> Result<CommandEnd, CliError> {
    let settings = ServeSettings::with_tools(&setup.folder, tools)?;
    let face = mcp::face(setup, &settings, &setup.local()?, &DroppedFields::default())?;
    let costs = face.costs(Some(&Caller::local()));
    let (bytes, tokens) = costs.iter().fold((0, 0), |(bytes, tokens), cost| (bytes + cost.bytes, tokens + cost.tokens));
    if terminal.is_json() {
        let tools = costs.iter().map(|cost| json!({"tool": cost.tool, "bytes": cost.bytes, "tokens": cost.tokens}));
        let tools: Vec<Value> = tools.collect();
        terminal.document(&json!({"tools": tools, "total": {"bytes": bytes, "tokens": tokens}}))?;
        return Ok(CommandEnd::Well);
    }
    let total = format!("{} tools", costs.len());
    let width = costs.iter().map(|cost| cost.tool.len()).max().unwrap_or_default().max(total.len());
    let out = terminal.out();
    out.line(format_args!("{:width$}  {:>7}  {:>7}", "", out.paint(SOFT, "bytes"), out.paint(SOFT, "tokens")))?;
    for cost in &costs {
        let name = out.paint(NAME, &cost.tool);
        out.line(format_args!("{name:width$}  {:>7}  {:>7}", cost.bytes, cost.tokens))?;
    }
    out.line(format_args!("{total:width$}  {bytes:>7}  {tokens:>7}"))?;
    Ok(CommandEnd::Well)
}
