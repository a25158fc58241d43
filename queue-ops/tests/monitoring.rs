//! The dashboard and the alerts of docs/monitoring name metrics that exist, and can be read by the programs they are for.

#![cfg(feature = "web")]

use std::{collections::BTreeSet, path::Path, process::Command};

use queue_worker::metrics;
use serde_json::Value;

const DASHBOARD: &str = include_str!("../../docs/monitoring/dashboard.json");
const ALERTS: &str = include_str!("../../docs/monitoring/alerts.yml");

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let parts = text.match_indices("queue_kit_").map(|(at, _)| &text[at..]);
    let end = |part: &str| {
        part.find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .unwrap_or(part.len())
    };
    parts.map(|part| &part[..end(part)]).collect()
}

#[test]
fn every_metric_that_is_named_exists() {
    let counters = [
        metrics::DELIVERIES,
        metrics::OUTCOMES,
        metrics::HANDLED,
        metrics::LEASES_LOST,
        metrics::LEASES_EXTENDED,
        metrics::HELD_UP,
        metrics::CALLS,
        metrics::CALL_ERRORS,
        metrics::IN_FLIGHT,
        metrics::MESSAGES,
        metrics::OLDEST_READY_SECONDS,
        metrics::PAUSED,
        queue_ops::web::STANDSTILL_SECONDS,
        queue_ops::web::GROUPS,
        queue_ops::web::BUSIEST_GROUP_SHARE,
    ];
    let histograms = [
        metrics::HANDLER_SECONDS,
        metrics::WAIT_SECONDS,
        metrics::LATENESS_SECONDS,
    ];
    let histograms = histograms.map(|name| format!("{name}_bucket"));
    let known: BTreeSet<&str> = counters
        .into_iter()
        .chain(histograms.iter().map(String::as_str))
        .collect();
    for (file, text) in [("dashboard", DASHBOARD), ("alerts", ALERTS)] {
        let named = named(text);
        assert!(named.len() > 6, "{file}: {named:?}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_is_sound() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each has its own id");
    for panel in panels {
        assert!(
            panel["title"].is_string() && panel["gridPos"]["w"].is_number(),
            "{panel}"
        );
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            assert_eq!(
                expression.matches('(').count(),
                expression.matches(')').count(),
                "{expression}"
            );
            assert!(expression.contains(r#"queue=~"$queue""#), "{expression}");
        }
    }
}

#[test]
fn promtool_reads_the_alerts() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/monitoring/alerts.yml");
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(file)
        .output();
    let checked = checked.unwrap_or_else(|error| {
        panic!("promtool: {error}. Install the package `prometheus`; `./scripts/test` does")
    });
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}
