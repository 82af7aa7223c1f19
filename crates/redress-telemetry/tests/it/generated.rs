//! The dashboard and the alerts that a contract asks for.

use std::{collections::BTreeSet, env, fs, path::Path};

use redress_core::{Layers, Request};
use redress_telemetry::{Metrics, alerts, dashboard, names};

use crate::service;

/// Compares the kept file with what the code makes today; `REDRESS_BLESS=1` rewrites it.
#[track_caller]
fn assert_kept(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/telemetry").join(name);
    if env::var_os("REDRESS_BLESS").is_some() {
        return fs::write(path, made).expect("the artefact folder is part of the repository");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "{} is stale; run `REDRESS_BLESS=1 cargo test -p redress-telemetry`", path.display());
}

#[test]
fn the_kept_dashboard_is_the_one_that_is_made() {
    let made = dashboard(service::registry().contract());
    assert_kept("dashboard.json", &format!("{made:#}\n"));
}

#[test]
fn the_kept_alerts_are_those_that_are_made() {
    assert_kept("alerts.yaml", &alerts(service::registry().contract()));
}

#[test]
fn every_alert_is_fired_by_the_series_that_are_kept() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/telemetry/alerts.test.yaml");
    let tests = fs::read_to_string(tests).expect("the tests of the rules are part of the repository");
    let rules = alerts(service::registry().contract());
    for alert in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        let fires = format!("alertname: {alert}\n        exp_alerts:\n          - exp_labels:");
        assert!(tests.contains(&fires), "nothing fires {alert}");
    }
}

#[tokio::test]
async fn the_kept_metrics_have_the_series_that_are_told() {
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    for name in names::ALL {
        match name.name().ends_with("_total") {
            true => metrics.counter(name, || 0),
            false => metrics.gauge(name, || 0.0),
        }
    }
    let registry = registry.with_layers(Layers::new().observer(metrics.clone()));
    for item in ["fine", "gone", "panic"] {
        registry.call("shop.order", Request::new(format!(r#"{{"item":"{item}"}}"#).into_bytes())).await;
    }
    // Times and the process differ from run to run.
    let text = metrics.text();
    let same = text.lines().filter(|line| {
        let name = line.trim_start_matches("# HELP ").trim_start_matches("# TYPE ");
        !name.starts_with("process_") && !name.starts_with("redress_uptime")
    });
    let zeroed = same.map(|line| match line.rsplit_once(' ') {
        Some((series, _)) if series.starts_with("redress_call_duration_seconds_") => format!("{series} 0\n"),
        _ => format!("{line}\n"),
    });
    assert_kept("metrics.txt", &zeroed.collect::<String>());
}

/// What looks like the name of a metric, without what a histogram adds to it.
fn named(text: &str) -> BTreeSet<String> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .filter(|word| word.starts_with("redress_") || word.starts_with("process_"))
        .map(|word| word.strip_suffix("_bucket").or(word.strip_suffix("_count")).unwrap_or(word).to_owned())
        .collect()
}

#[test]
fn every_metric_in_the_dashboard_and_the_alerts_is_one_that_is_told() {
    let registry = service::registry();
    let metrics = Metrics::new(registry.contract());
    for name in names::ALL {
        metrics.gauge(name, || 0.0);
    }
    let text = metrics.text();
    let told: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let contract = registry.contract();
    let asked = named(&format!("{}{}", dashboard(contract), alerts(contract)));
    assert!(asked.len() > 15, "{asked:?}");
    for name in asked {
        assert!(told.contains(&*name), "{name} is asked for, and not in\n{text}");
    }
}

#[test]
fn panels_have_places_of_their_own_and_every_operation_can_be_chosen() {
    let made = dashboard(service::registry().contract());
    let panels = made["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in panels {
        let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{panel}");
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{panel}");
            }
        }
    }
    let chosen = made["templating"]["list"][1]["query"].as_str().unwrap();
    assert_eq!(chosen, "shop.order,shop.price,shop.wait,shop.old,shop.news");
}

#[test]
fn a_deadline_and_a_deprecation_have_rules_and_a_stream_has_none() {
    let rules = alerts(service::registry().contract());
    let near: Vec<&str> = rules.lines().filter(|line| line.contains("histogram_quantile")).collect();
    assert_eq!(near.len(), 2, "{rules}");
    assert!(near[0].contains("shop.order") && near[0].ends_with("> 4\""), "{}", near[0]);
    assert!(near[1].contains("shop.wait") && near[1].ends_with("> 0.04\""), "{}", near[1]);
    assert!(rules.contains("shop.old is deprecated") && !rules.contains("shop.news"), "{rules}");
}
