//! The services behind the gateway: whether their documents can be read, what they have, and whether credentials are there.

use std::time::Duration;

use super::DoctorCheck;
use crate::{config::ServeSettings, gateway::Gateway, terminal::shell};

/// How long a service has to take a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line for each of them, and one more for each to which no connection can be made. Nothing is asked of them.
pub(super) async fn checks(program: &str, settings: &ServeSettings) -> Vec<DoctorCheck> {
    let mut checks = Vec::with_capacity(settings.upstreams.len());
    for table in &settings.upstreams {
        let opened = Gateway::open(&ServeSettings { upstreams: vec![table.clone()], ..settings.clone() });
        let upstream = match opened.map(|gateway| gateway.upstreams().pop()) {
            Ok(Some((_, Some(upstream)))) => upstream,
            Ok(_) => {
                let says = format!("{}: its document cannot be got, and none was kept", table.name);
                let next = shell::line([program, "import", &table.openapi.display().to_string()]);
                checks.push(DoctorCheck::fail("upstream", says, next));
                continue;
            }
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
        if !upstream.is_reachable(PATIENCE).await {
            let says = format!("{}: nothing answers at {}", status.name, status.address);
            checks.push(DoctorCheck::warn("upstream", says, "start the service, or correct `url`"));
        }
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
