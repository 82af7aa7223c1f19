//! Alert rules for Prometheus.

use std::{fmt::Write as _, time::Duration};

use redress_contract::{Category, Contract, EngineCode, Kind, OperationDeclaration, Shape};
use serde_json::Value;

use crate::{
    metrics::{BOUNDS, CALLS, DURATION, FAILURES, FAULTS, LIMITED, SHED},
    names,
};

/// Which part of the declared deadline the slowest calls may take before somebody should look.
const OF_DEADLINE: f64 = 0.8;

/// One rule.
struct AlertRule {
    alert: &'static str,
    expr: String,
    lasting: &'static str,
    severity: &'static str,
    /// The operation that it is about, for a rule of one operation: two rules of one name differ by their labels.
    operation: Option<String>,
    summary: String,
    description: String,
}

/// Alert rules for Prometheus, in YAML: what of this contract's calls somebody should look at. They read the metrics
/// of [`Metrics`](crate::Metrics) and of [`names`](crate::names).
///
/// ```
/// use std::time::Duration;
/// use redress_core::contract::{Contract, OperationDeclaration};
///
/// let read = OperationDeclaration::query("files.read").with_deadline(Duration::from_secs(5));
/// let rules = redress_telemetry::alerts(&Contract::new([read]));
/// assert!(rules.contains("alert: RedressNearDeadline") && rules.contains("files.read"));
/// ```
pub fn alerts(contract: &Contract) -> String {
    let mut text = "# Made from the contract by `redress gen alerts`. Do not edit.\ngroups:\n".to_owned();
    let groups = [
        ("redress.calls", calls()),
        ("redress.operations", contract.operations().iter().flat_map(of_operation).collect()),
        ("redress.server", server()),
    ];
    for (name, rules) in groups.into_iter().filter(|(_, rules): &(_, Vec<AlertRule>)| !rules.is_empty()) {
        let _ = writeln!(text, "  - name: {name}\n    rules:");
        for rule in rules {
            rule.write(&mut text);
        }
    }
    text
}

impl AlertRule {
    /// Texts are written as JSON, which YAML reads as well.
    fn write(&self, text: &mut String) {
        let AlertRule { alert, expr, lasting, severity, operation, summary, description } = self;
        let quoted = |value: &str| Value::from(value).to_string();
        let _ = writeln!(text, "      - alert: {alert}\n        expr: {}\n        for: {lasting}", quoted(expr));
        let _ = writeln!(text, "        labels:\n          severity: {severity}");
        if let Some(operation) = operation {
            let _ = writeln!(text, "          operation: {}", quoted(operation));
        }
        let _ = writeln!(text, "        annotations:");
        let _ = writeln!(text, "          summary: {}", quoted(summary));
        let _ = writeln!(text, "          description: {}", quoted(description));
    }
}

/// What holds for the calls of every operation.
fn calls() -> Vec<AlertRule> {
    let (faults, shed, limited) = (FAULTS.name(), SHED.name(), LIMITED.name());
    vec![
        AlertRule {
            alert: "RedressUndeclaredFault",
            expr: format!("sum by (operation, fault) (increase({faults}[5m])) > 0"),
            lasting: "0m",
            severity: "critical",
            operation: None,
            summary: "{{ $labels.operation }} ended in a way that it does not declare ({{ $labels.fault }})".to_owned(),
            description: "The log has a line with the cause for each, under its request id; then declare the failure, or mend the handler.".to_owned(),
        },
        ratio(Category::Server, 0.01, "critical"),
        ratio(Category::Upstream, 0.05, "warning"),
        ratio(Category::Client, 0.5, "info"),
        AlertRule {
            alert: "RedressShedding",
            expr: format!("sum by (operation) (rate({shed}[5m])) > 0"),
            lasting: "5m",
            severity: "warning",
            operation: None,
            summary: "calls of {{ $labels.operation }} are refused for want of capacity".to_owned(),
            description: "Callers get OVERLOADED and come again. Give the service more room, or lower the limits of the caller that fills it.".to_owned(),
        },
        AlertRule {
            alert: "RedressLimiting",
            expr: format!("sum by (operation) (rate({limited}[5m])) > 1"),
            lasting: "15m",
            severity: "info",
            operation: None,
            summary: "callers of {{ $labels.operation }} reach their limits".to_owned(),
            description: "They get RATE_LIMITED or QUOTA_EXHAUSTED. The access log says who it is.".to_owned(),
        },
    ]
}

/// The part of the calls that fails by the fault of one side, by operation and kind. What this service refuses
/// for its own sake is none of these: there are rules of its own for it.
fn ratio(category: Category, above: f64, severity: &'static str) -> AlertRule {
    let (alert, whose, look) = match category {
        Category::Server => {
            ("RedressFailing", "the service itself", "Look into the log under the request ids of the access log.")
        }
        Category::Upstream => (
            "RedressUpstreamFailing",
            "what the service leans on",
            "Look at what the operation calls: it is slow, or away.",
        ),
        Category::Client => (
            "RedressCallersFailing",
            "the callers",
            "Look whether a caller was changed, or the contract: /errors has a page for each code.",
        ),
    };
    let kinds: Vec<&str> =
        Kind::ALL.iter().filter(|kind| kind.category() == category).map(|kind| kind.as_str()).collect();
    let (failures, calls, kinds, own) = (FAILURES.name(), CALLS.name(), kinds.join("|"), own_refusals().join("|"));
    AlertRule {
        alert,
        expr: format!(
            "sum by (operation, kind) (rate({failures}{{kind=~\"{kinds}\",code!~\"{own}\"}}[5m])) / on (operation) group_left () sum by (operation) (rate({calls}[5m])) > {above}"
        ),
        lasting: "10m",
        severity,
        operation: None,
        summary: format!(
            "{{{{ $value | humanizePercentage }}}} of the calls of {{{{ $labels.operation }}}} end as {{{{ $labels.kind }}}}, by {whose}"
        ),
        description: look.to_owned(),
    }
}

/// The codes that are on another side than their kind.
pub(crate) fn own_refusals() -> Vec<&'static str> {
    let own = EngineCode::ALL.into_iter().filter(|code| code.category() != code.kind().category());
    own.map(EngineCode::as_str).collect()
}

/// What the contract says of one operation.
fn of_operation(operation: &OperationDeclaration) -> Vec<AlertRule> {
    let name = operation.name().as_str();
    let mut rules = Vec::new();
    // A stream takes as long as its reader wants, and what is above the last bucket cannot be told.
    let told = Duration::from_micros(BOUNDS[BOUNDS.len() - 1]);
    if let Some(deadline) = operation.deadline().filter(|_| operation.shape() != Shape::Subscription)
        && deadline.mul_f64(OF_DEADLINE) < told
    {
        let (duration, seconds) = (DURATION.name(), deadline.mul_f64(OF_DEADLINE).as_secs_f64());
        rules.push(AlertRule {
            alert: "RedressNearDeadline",
            expr: format!(
                "histogram_quantile(0.99, sum by (le, operation) (rate({duration}_bucket{{operation=\"{name}\"}}[10m]))) > {seconds}"
            ),
            lasting: "10m",
            severity: "warning",
            operation: Some(name.to_owned()),
            summary: format!("the slowest calls of {name} take {{{{ $value | humanizeDuration }}}} of the {deadline:?} that it declares"),
            description: "Past the deadline callers get TIMEOUT. Make the operation quicker, or declare a longer deadline.".to_owned(),
        });
    }
    if let Some(deprecation) = operation.deprecated() {
        // Counted from nought: a series of calls begins with its first, of which an increase tells nothing.
        let duration = DURATION.name();
        let instead = deprecation.replaced_by.as_ref().map(|name| format!(" Use {name} instead."));
        rules.push(AlertRule {
            alert: "RedressDeprecatedCalled",
            expr: format!("sum by (operation) (increase({duration}_count{{operation=\"{name}\"}}[1d])) > 0"),
            lasting: "0m",
            severity: "info",
            operation: Some(name.to_owned()),
            summary: format!("{name} is deprecated and was called within a day"),
            description: format!("The access log says by whom.{}", instead.unwrap_or_default()),
        });
    }
    rules
}

/// What holds for the server around the calls.
fn server() -> Vec<AlertRule> {
    let grew = |name: crate::MetricName, within: &str| format!("increase({}[{within}]) > 0", name.name());
    vec![
        AlertRule {
            alert: "RedressAbsent",
            expr: "absent(redress_build_info)".to_owned(),
            lasting: "5m",
            severity: "critical",
            operation: None,
            summary: "no redress server is seen".to_owned(),
            description:
                "It is down, or /metrics cannot be read: the scraper needs a token with the scope metrics:read."
                    .to_owned(),
        },
        AlertRule {
            alert: "RedressNotReady",
            expr: format!("{} == 0", names::READY.name()),
            lasting: "1m",
            severity: "critical",
            operation: None,
            summary: "a redress server runs and is not ready".to_owned(),
            description: "What has to be recorded is refused with OVERLOADED: the state cannot be written, or its files are gone. The log says why; `redress doctor` says what to do.".to_owned(),
        },
        AlertRule {
            alert: "RedressAuditLate",
            expr: grew(names::AUDIT_LATE, "5m"),
            lasting: "0m",
            severity: "critical",
            operation: None,
            summary: "calls were answered before the audit had kept their record".to_owned(),
            description: "The state folder is full, or its disk too slow. `redress doctor` says which.".to_owned(),
        },
        AlertRule {
            alert: "RedressStateBehind",
            expr: format!("{} > 1048576", names::STATE_QUEUED.name()),
            lasting: "5m",
            severity: "warning",
            operation: None,
            summary: "{{ $value }} bytes wait to be written to the state".to_owned(),
            description: "The disk of the state folder is slower than the calls.".to_owned(),
        },
        AlertRule {
            alert: "RedressConnectionsRefused",
            expr: grew(names::CONNECTIONS_REFUSED, "5m"),
            lasting: "5m",
            severity: "warning",
            operation: None,
            summary: "connections are refused".to_owned(),
            description: "There are as many as [limits] allows. Look for a client that does not close its own."
                .to_owned(),
        },
        AlertRule {
            alert: "RedressAnswersRefused",
            expr: grew(names::ANSWERS_REFUSED, "5m"),
            lasting: "5m",
            severity: "warning",
            operation: None,
            summary: "calls find no room for their answers".to_owned(),
            description: "Clients ask for more than they read, and get OVERLOADED. Look for one that does not read, or raise answer_bytes in [limits].".to_owned(),
        },
        AlertRule {
            alert: "RedressReloadRefused",
            expr: grew(names::RELOADS_REFUSED, "15m"),
            lasting: "0m",
            severity: "warning",
            operation: None,
            summary: "a new configuration was refused, and the old one still holds".to_owned(),
            description: "The log says what is wrong with it; so does `redress doctor`.".to_owned(),
        },
        AlertRule {
            alert: "RedressAccessLogDropped",
            expr: grew(names::ACCESS_LOG_DROPPED, "15m"),
            lasting: "0m",
            severity: "warning",
            operation: None,
            summary: "lines of the access log were dropped".to_owned(),
            description: "Its disk is full, or slower than the calls.".to_owned(),
        },
        AlertRule {
            alert: "RedressCollectorAway",
            expr: grew(names::OTLP_FAILED, "15m"),
            lasting: "15m",
            severity: "info",
            operation: None,
            summary: "the OpenTelemetry collector does not take what it is sent".to_owned(),
            description: "Calls go on; traces and logs of this time are lost.".to_owned(),
        },
    ]
}
