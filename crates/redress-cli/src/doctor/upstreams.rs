//! The services behind the gateway: whether their documents can be read, what they have, and whether credentials are there.

use super::Check;
use crate::{config::Settings, gateway, shell};

/// A line for each of them. Nothing is connected to.
pub(super) async fn checks(program: &str, settings: &Settings) -> Vec<Check> {
    let mut checks = Vec::with_capacity(settings.upstreams.len());
    for table in &settings.upstreams {
        let upstream = match gateway::upstream(table) {
            Ok(upstream) => upstream,
            Err(trouble) => {
                checks.push(Check::trouble("upstream", program, &trouble));
                continue;
            }
        };
        let status = upstream.status().await;
        let read = format!("{}: {} operations, at {}", status.name, status.operations, status.address);
        let missing: Vec<String> = status
            .credentials
            .iter()
            .filter(|one| !one.given)
            .map(|one| match &one.trouble {
                Some(trouble) => format!("{} ({trouble})", one.scheme),
                None => one.scheme.clone(),
            })
            .collect();
        checks.push(if missing.is_empty() {
            Check::ok("upstream", read)
        } else {
            // What the document knows, not every operation asks for.
            let next = shell::line([program, "import", &table.openapi.display().to_string()]);
            Check::warn("upstream", format!("{read}; credentials are missing: {}", missing.join(", ")), next)
        });
    }
    checks
}
