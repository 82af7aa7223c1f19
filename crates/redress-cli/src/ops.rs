//! `ops`: what may be called, a line each.

use serde_json::Value;

use crate::{
    arguments,
    program::{Ended, Setup, wait},
    service::Service,
    terminal::{NAME, SOFT, Terminal, harmless},
    trouble::Trouble,
};

pub(crate) fn run(setup: &Setup<'_>, typed: &arguments::Ops, terminal: &mut Terminal<'_>) -> Result<Ended, Trouble> {
    let operations = wait(async {
        let service = match &typed.server.url {
            Some(url) => Service::at(url, typed.server.ca())?,
            None => Service::Here(setup.local()?),
        };
        service.operations().await
    })?;
    if terminal.is_json() {
        terminal.document(&operations)?;
        return Ok(Ended::Well);
    }
    let text =
        |operation: &Value, member: &str| harmless(operation.get(member).and_then(Value::as_str).unwrap_or_default());
    let width = operations.iter().map(|operation| text(operation, "name").chars().count()).max().unwrap_or_default();
    let out = terminal.out();
    for operation in &operations {
        let (name, shape) = (text(operation, "name"), text(operation, "shape"));
        let deprecated = operation.get("deprecated").and_then(Value::as_bool) == Some(true);
        let note = if deprecated { " (deprecated)" } else { "" };
        let (name, shape) = (out.paint(NAME, name), out.paint(SOFT, shape));
        out.line(format_args!("{name:width$}  {shape:12}  {}{note}", text(operation, "summary")))?;
    }
    Ok(Ended::Well)
}
