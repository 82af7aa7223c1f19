//! Names of operations in the settings: each must fit one, or a typing mistake would switch a limit off.

use redress_core::Registry;

use super::ServeSettings;
use crate::{error::CliError, near::nearest, terminal::output::harmless};

/// Refuses a rule or a profile for what no operation of `registry` is called.
pub(crate) fn fitting(settings: &ServeSettings, registry: &Registry) -> Result<(), CliError> {
    let names: Vec<&str> = registry.contract().operations().iter().map(|operation| operation.name().as_str()).collect();
    let ruled = (1..).zip(&settings.limits.rules).flat_map(|(at, rule)| {
        let patterns = rule.operations.iter().flatten();
        patterns.map(move |pattern| ("limits.rules", format!("rule {at}"), pattern))
    });
    let profiled = settings.tools.profiles.iter().flat_map(|(name, patterns)| {
        patterns.iter().map(move |pattern| ("mcp.profiles", format!("the profile `{}`", harmless(name)), pattern))
    });
    let stray = ruled.chain(profiled).find(|(_, _, pattern)| !names.iter().any(|name| fits(pattern, name)));
    let Some((key, whose, pattern)) = stray else { return Ok(()) };
    let namespaces =
        names.iter().filter_map(|name| name.rsplit_once('.')).map(|(namespace, _)| format!("{namespace}.*"));
    let namespaces: Vec<String> = namespaces.collect();
    let known = names.iter().copied().chain(namespaces.iter().map(String::as_str));
    let near = nearest(pattern, known);
    let write = match near.first() {
        Some(near) => format!("write `{near}`, which is near, or take it out"),
        None => "write a name (`files.read`), a namespace (`files.*`) or `*`, or take it out".to_owned(),
    };
    Err(settings.wrong(key, format!("{whose} names `{}`, which no operation is called: {write}", harmless(pattern))))
}

/// Whether an operation is one of those that a pattern names.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(start) => start.ends_with('.') && name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_a_namespace_or_everything() {
        assert!(fits("*", "files.read") && fits("files.*", "files.read") && fits("files.read", "files.read"));
        for pattern in ["", "files", "file*", "files.rea*", "*.read", "files.*.x", "FILES.read"] {
            assert!(!fits(pattern, "files.read"), "{pattern}");
        }
    }
}
