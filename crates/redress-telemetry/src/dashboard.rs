//! A dashboard for Grafana.

use redress_contract::{Category, Contract, EngineCode, Kind};
use serde_json::{Value, json};

use crate::{
    alerts::own_refusals,
    metrics::{CALLS, DURATION, FAILURES, FAULT_CAUSES, FAULTS, IN_FLIGHT, LIMITED, SHED},
    names,
};

/// The columns of a dashboard.
const WIDTH: u64 = 24;
/// What the variable for operations selects.
const CHOSEN: &str = "operation=~\"$operation\"";
/// The time over which a rate is taken; Grafana fits it to the range that is shown.
const OVER: &str = "[$__rate_interval]";

/// One panel, before it has a place.
struct Panel {
    sort: &'static str,
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    /// Each query, and how its lines are called.
    queries: Vec<(String, &'static str)>,
    width: u64,
    /// The variable for each of whose values there is one such panel.
    repeat: Option<&'static str>,
}

/// A Grafana dashboard of this contract's calls, to be imported as it is. It reads the metrics of
/// [`Metrics`](crate::Metrics) and of [`names`](crate::names) from a Prometheus data source.
///
/// ```
/// use redress_core::contract::{Contract, OperationDeclaration};
///
/// let dashboard = redress_telemetry::dashboard(&Contract::new([OperationDeclaration::query("files.read")]));
/// assert_eq!(dashboard["templating"]["list"][1]["query"], "files.read");
/// ```
pub fn dashboard(contract: &Contract) -> Value {
    let mut places = PanelGrid::default();
    let mut panels = Vec::new();
    for (title, row) in rows() {
        panels.push(places.row(title));
        panels.extend(row.into_iter().map(|panel| places.panel(panel)));
    }
    let operations: Vec<&str> = contract.operations().iter().map(|operation| operation.name().as_str()).collect();
    json!({
        "__comment": "Made from the contract by `redress gen dashboard`.",
        "uid": "redress",
        "title": "redress",
        "description": "The calls of a redress service, as its contract names them.",
        "tags": ["redress"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            {
                "name": "operation", "label": "Operation", "type": "custom", "query": operations.join(","),
                "includeAll": true, "multi": true, "allValue": ".*",
                "current": {"text": ["All"], "value": ["$__all"]},
            },
            {
                "name": "quantile", "label": "Quantile", "type": "custom", "query": "0.5,0.9,0.95,0.99",
                "current": {"text": "0.99", "value": "0.99"},
            },
        ]},
        "panels": panels,
    })
}

fn rows() -> Vec<(&'static str, Vec<Panel>)> {
    vec![
        ("At a glance", glance()),
        ("Calls", calls()),
        ("Failures", failures()),
        ("Latency", latency()),
        ("Limits and server", server()),
    ]
}

fn glance() -> Vec<Panel> {
    let (calls, faults, in_flight, duration) = (CALLS.name(), FAULTS.name(), IN_FLIGHT.name(), DURATION.name());
    vec![
        Panel::stat("Calls", "reqps", format!("sum(rate({calls}{{{CHOSEN}}}{OVER}))")),
        Panel::stat(
            "Failing by the service's own fault",
            "percentunit",
            format!("{} / sum(rate({calls}{{{CHOSEN}}}{OVER}))", on_side(Category::Server)),
        ),
        Panel::stat("Undeclared faults in an hour", "short", format!("sum(increase({faults}{{{CHOSEN}}}[1h]))")),
        Panel::stat(
            "Slowest calls",
            "s",
            format!("histogram_quantile($quantile, sum by (le) (rate({duration}_bucket{{{CHOSEN}}}{OVER})))"),
        ),
        Panel::stat("In flight", "short", format!("sum({in_flight}{{{CHOSEN}}})")),
        Panel::stat("Memory", "bytes", ours("process_resident_memory_bytes")),
    ]
}

fn calls() -> Vec<Panel> {
    let (calls, in_flight) = (CALLS.name(), IN_FLIGHT.name());
    let by = |label: &str| format!("sum by ({label}) (rate({calls}{{{CHOSEN}}}{OVER}))");
    vec![
        Panel::lines("By operation", "Calls that ended, each second.", "reqps", [(by("operation"), "{{operation}}")]),
        Panel::lines(
            "By outcome",
            "`failure` is declared by the operation, `refused` is the engine's, `fault` is declared by nobody.",
            "reqps",
            [(by("outcome"), "{{outcome}}")],
        ),
        Panel::lines("By face", "By which way calls came in.", "reqps", [(by("face"), "{{face}}")]),
        Panel::lines(
            "In flight",
            "Calls that run, streams among them.",
            "short",
            [(format!("sum by (operation) ({in_flight}{{{CHOSEN}}})"), "{{operation}}")],
        ),
    ]
}

fn failures() -> Vec<Panel> {
    let (failures, faults, causes) = (FAILURES.name(), FAULTS.name(), FAULT_CAUSES.name());
    vec![
        Panel::lines(
            "By code",
            "Calls that ended badly, by the code that their callers saw.",
            "reqps",
            [(format!("sum by (operation, code) (rate({failures}{{{CHOSEN}}}{OVER})) > 0"), "{{operation}} {{code}}")],
        ),
        Panel::lines(
            "By whose side",
            "Whether the caller, the service, or what it leans on is to blame.",
            "reqps",
            [
                (on_side(Category::Client), "caller"),
                (on_side(Category::Server), "service"),
                (on_side(Category::Upstream), "upstream"),
            ],
        ),
        Panel::lines(
            "Undeclared faults",
            "Each is a bug: a failure that is not declared, an output that breaks its schema, a panic, a foreign error.",
            "short",
            [(
                format!("sum by (operation, fault) (increase({faults}{{{CHOSEN}}}{OVER})) > 0"),
                "{{operation}} {{fault}}",
            )],
        ),
        Panel::lines(
            "Contained errors",
            "What sort of error each foreign one was, which its caller is not told.",
            "short",
            [(
                format!("sum by (operation, kind) (increase({causes}{{{CHOSEN}}}{OVER})) > 0"),
                "{{operation}} {{kind}}",
            )],
        ),
    ]
}

fn latency() -> Vec<Panel> {
    let duration = DURATION.name();
    let quantile = |quantile: &str, by: &str| {
        format!("histogram_quantile({quantile}, sum by ({by}) (rate({duration}_bucket{{{CHOSEN}}}{OVER})))")
    };
    let mut each = Panel::lines(
        "$operation",
        "Half, nine in ten, and 99 in a hundred calls took at most this long.",
        "s",
        [(quantile("0.5", "le"), "p50"), (quantile("0.9", "le"), "p90"), (quantile("0.99", "le"), "p99")],
    );
    each.repeat = Some("operation");
    each.width = 8;
    let mut all = Panel::lines(
        "Chosen quantile, by operation",
        "As the variable above says; streams count to their end.",
        "s",
        [(quantile("$quantile", "le, operation"), "{{operation}}")],
    );
    all.width = WIDTH;
    vec![all, each]
}

fn server() -> Vec<Panel> {
    let rate = |name: &str| format!("sum by (operation) (rate({name}{{{CHOSEN}}}{OVER}))");
    let grew = |name: crate::MetricName| format!("sum(increase({}{OVER}))", name.name());
    let level = |name: crate::MetricName| format!("sum({})", name.name());
    vec![
        Panel::lines(
            "Refused for want of capacity",
            "OVERLOADED, each second.",
            "reqps",
            [(rate(SHED.name()), "{{operation}}")],
        ),
        Panel::lines(
            "Refused since callers reached a limit",
            "RATE_LIMITED and QUOTA_EXHAUSTED, each second.",
            "reqps",
            [(rate(LIMITED.name()), "{{operation}}")],
        ),
        Panel::lines(
            "Open",
            "What other sides hold open.",
            "short",
            [
                (level(names::CONNECTIONS), "connections"),
                (level(names::SOCKETS), "WebSockets"),
                (level(names::STREAMS), "streams"),
                (ours("process_open_fds"), "files"),
            ],
        ),
        Panel::lines(
            "Answers that are not read yet",
            "Bytes that are held until their readers have taken them.",
            "bytes",
            [(level(names::ANSWER_BYTES), "held"), (level(names::ANSWER_BYTES_PEAK), "at most so far")],
        ),
        Panel::lines(
            "What was lost or refused",
            "Everything here should be nothing.",
            "short",
            [
                (grew(names::AUDIT_LATE), "answers before their audit record"),
                (grew(names::ACCESS_LOG_DROPPED), "lines of the access log"),
                (grew(names::OTLP_FAILED), "messages to the collector"),
                (grew(names::OTLP_SPANS_DROPPED), "spans"),
                (grew(names::CONNECTIONS_REFUSED), "connections"),
                (grew(names::ANSWERS_REFUSED), "calls without room for an answer"),
                (grew(names::ANSWERS_WAITED), "calls that waited for such room"),
                (grew(names::RELOADS_REFUSED), "configurations"),
                (level(names::STATE_QUEUED), "bytes that wait for the state"),
            ],
        ),
        Panel::lines(
            "Services behind the gateway",
            "0 while nothing is sent to one: its operations answer UPSTREAM_UNREACHABLE at once.",
            "short",
            [(format!("min by (upstream) ({})", names::UPSTREAM_UP.name()), "{{upstream}}")],
        ),
        Panel::lines(
            "Requests to services behind the gateway",
            "By service, with calls that it did not answer, or not as its document says.",
            "short",
            [
                (format!("sum by (upstream) (rate({}{OVER}))", names::UPSTREAM_REQUESTS.name()), "{{upstream}}"),
                (format!("sum by (upstream) (rate({}{OVER}))", names::UPSTREAM_FAILURES.name()), "{{upstream}} failed"),
                (format!("sum by (upstream) ({})", names::UPSTREAM_IN_FLIGHT.name()), "{{upstream}} in flight"),
            ],
        ),
        Panel::lines(
            "Fields that MCP hosts added",
            "Dropped from the arguments of tools, which do not know them. Nothing has to be done about it.",
            "short",
            [(grew(names::HOST_FIELDS_DROPPED), "fields")],
        ),
        Panel::lines(
            "Processor",
            "How many processors are busy with it.",
            "short",
            [(ours(&format!("rate(process_cpu_seconds_total{OVER})")), "busy")],
        ),
        Panel::lines(
            "Uptime",
            "A server that starts again and again draws a saw.",
            "s",
            [("redress_uptime_seconds".to_owned(), "{{instance}}"), (grew(names::RELOADS), "configurations taken")],
        ),
    ]
}

/// The sum of what every process tells, over those that are a redress server: other exporters tell it too.
fn ours(expr: &str) -> String {
    format!("sum({expr} and on (instance, job) redress_build_info)")
}

/// The failures of one side, each second: those of its kinds, but what this service refuses for its own sake is on the
/// side that its code says.
fn on_side(category: Category) -> String {
    let kinds: Vec<&str> =
        Kind::ALL.iter().filter(|kind| kind.category() == category).map(|kind| kind.as_str()).collect();
    let own = own_refusals();
    let here = own.iter().filter(|code| EngineCode::parse(code).is_some_and(|code| code.category() == category));
    let (failures, kinds, here) = (FAILURES.name(), kinds.join("|"), here.copied().collect::<Vec<_>>().join("|"));
    let of_kinds = format!("rate({failures}{{{CHOSEN},kind=~\"{kinds}\",code!~\"{}\"}}{OVER})", own.join("|"));
    if here.is_empty() {
        return format!("sum({of_kinds})");
    }
    format!("sum({of_kinds} or rate({failures}{{{CHOSEN},code=~\"{here}\"}}{OVER}))")
}

impl Panel {
    fn stat(title: &'static str, unit: &'static str, query: String) -> Panel {
        Panel { sort: "stat", title, description: "", unit, queries: vec![(query, "")], width: WIDTH / 6, repeat: None }
    }

    fn lines<const N: usize>(
        title: &'static str,
        description: &'static str,
        unit: &'static str,
        queries: [(String, &'static str); N],
    ) -> Panel {
        Panel { sort: "timeseries", title, description, unit, queries: queries.into(), width: WIDTH / 2, repeat: None }
    }
}

/// Gives panels their places, from left to right and row after row.
#[derive(Default)]
struct PanelGrid {
    id: u64,
    x: u64,
    y: u64,
    height: u64,
}

impl PanelGrid {
    fn row(&mut self, title: &str) -> Value {
        let place = self.place(WIDTH, 1);
        json!({"id": self.id, "type": "row", "title": title, "gridPos": place, "collapsed": false, "panels": []})
    }

    fn panel(&mut self, panel: Panel) -> Value {
        let Panel { sort, title, description, unit, queries, width, repeat } = panel;
        let place = self.place(width, if sort == "stat" { 4 } else { 8 });
        let source = json!({"type": "prometheus", "uid": "${datasource}"});
        let targets: Vec<Value> = ('A'..)
            .zip(queries)
            .map(|(id, (query, legend))| {
                json!({"refId": id.to_string(), "expr": query, "legendFormat": legend, "datasource": source})
            })
            .collect();
        let mut made = json!({
            "id": self.id, "type": sort, "title": title, "description": description, "datasource": source,
            "gridPos": place, "targets": targets, "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        });
        if let Some(variable) = repeat {
            made["repeat"] = variable.into();
            made["repeatDirection"] = "h".into();
            made["maxPerRow"] = (WIDTH / width).into();
        }
        made
    }

    fn place(&mut self, width: u64, height: u64) -> Value {
        if self.x + width > WIDTH {
            self.y += self.height;
            (self.x, self.height) = (0, 0);
        }
        let place = json!({"x": self.x, "y": self.y, "w": width, "h": height});
        self.id += 1;
        self.x += width;
        self.height = self.height.max(height);
        place
    }
}
