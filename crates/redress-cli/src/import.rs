//! `import`: what a document of another service would become, and the lines that serve it.

use redress_import::{Import, Report, SecurityScheme};
use redress_wire::mcp::{Era, OutputForm, Tool};
use serde_json::Value;

use crate::{
    arguments,
    error::CliError,
    gateway,
    program::{CommandEnd, Setup},
    terminal::{
        output::{NAME, SOFT, TYPED, Terminal, harmless},
        shell,
    },
};

pub(crate) fn run(
    setup: &Setup,
    args: &arguments::Import,
    terminal: &mut Terminal<'_>,
) -> Result<CommandEnd, CliError> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => arguments::upstream_name(&args.file),
    };
    let import = gateway::read(&args.file, &name)?;
    let report = Report::of(&import).with_tool_list(tool_list(&import));
    let lines = lines(&name, args, &import);
    // An operation that is not there is something that was found.
    let ended = if report.skipped.is_empty() { CommandEnd::Well } else { CommandEnd::Badly };
    if terminal.is_json() {
        let mut document = serde_json::to_value(&report).unwrap_or_default();
        if let Value::Object(members) = &mut document {
            members.insert("name".to_owned(), name.into());
            members.insert("redress_toml".to_owned(), lines.into());
        }
        terminal.document(&document)?;
        return Ok(ended);
    }
    let text = report.to_string();
    let out = terminal.out();
    for line in text.lines() {
        out.line(harmless(line))?;
    }
    out.line(format_args!("\n{}", out.paint(SOFT, "to serve it, in redress.toml:")))?;
    for line in lines.lines() {
        out.line(out.paint(NAME, harmless(line)))?;
    }
    let file = args.file.display().to_string();
    let serve = shell::line([setup.program.name(), "serve", "--openapi", &file]);
    out.line(format_args!("\n{} {}", out.paint(SOFT, "or at once:"), out.paint(TYPED, harmless(&serve))))?;
    Ok(ended)
}

/// How many bytes the list of all tools has.
fn tool_list(import: &Import) -> usize {
    let tools = import.operations.iter().map(|one| Tool::of(&one.operation, OutputForm::default()));
    tools.map(|tool| tool.text(Era::Modern).json().len() + 1).sum()
}

/// The lines of `redress.toml` that serve a document.
fn lines(name: &str, args: &arguments::Import, import: &Import) -> String {
    let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut lines = vec![
        "[[upstream]]".to_owned(),
        format!("name = {}", text(name)),
        format!("openapi = {}", text(&args.file.display().to_string())),
    ];
    let address = import.servers.first().map(|server| server.address(&Default::default())).unwrap_or_default();
    if !address.starts_with("http://") && !address.starts_with("https://") {
        lines.push("url = \"https://…\"  # the document does not say where the service is".to_owned());
    }
    let required = import.operations.iter().flat_map(|one| &one.security).flat_map(|one| one.schemes.keys());
    let required: std::collections::BTreeSet<&str> = required.map(String::as_str).collect();
    for scheme in import.security_schemes.iter().filter(|scheme| required.contains(scheme.scheme())) {
        let called = scheme.scheme();
        let is_bare = called.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let key = if is_bare { called.to_owned() } else { text(called) };
        let variable = |of: &str| {
            let of = format!("{name}_{called}{of}").to_ascii_uppercase();
            of.replace(|c: char| !c.is_ascii_alphanumeric(), "_")
        };
        lines.push(format!("[upstream.credentials.{key}]"));
        match scheme {
            SecurityScheme::Basic { .. } => lines.extend([
                format!("user = {{ env = \"{}\" }}", variable("_user")),
                format!("password = {{ env = \"{}\" }}", variable("_password")),
            ]),
            SecurityScheme::MutualTls { .. } => {
                lines.extend(["certificate = \"client.pem\"".to_owned(), "key = \"client.key\"".to_owned()]);
            }
            SecurityScheme::ApiKey { .. }
            | SecurityScheme::Bearer { .. }
            | SecurityScheme::Http { .. }
            | SecurityScheme::Oauth2 { .. }
            | SecurityScheme::OpenIdConnect { .. } => lines.push(format!("env = \"{}\"", variable(""))),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}
