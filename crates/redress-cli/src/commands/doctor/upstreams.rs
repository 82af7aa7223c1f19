//! The services behind the gateway: whether their documents can be read, what they have, and whether credentials are there.

use super::DoctorCheck;
use crate::{config::ServeSettings, gateway, terminal::shell};

/// A line for each of them. Nothing is connected to.
pub(super) async fn checks(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    let mut checks = Vec::with_capacity(settings.upstreams.len());
    for table in &settings.upstreams {
        let upstream = match gateway::upstream(table) {
            Ok(upstream) => upstream,
            Err(trouble) => {
                checks.push(DoctorCheck::trouble("upstream", program, &trouble));
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
            DoctorCheck::ok("upstream", read)
        } else {
            // What the document knows, not every operation asks for.
            let next = shell::line([program, "import", &table.openapi.display().to_string()]);
            DoctorCheck::warn("upstream", format!("{read}; credentials are missing: {}", missing.join(", ")), next)
        });
    }
    checks
}
