//! The files of `deploy/` fit the program: its variables, its port, the paths of its probes, and its end.

use std::{
    thread,
    time::{Duration, Instant},
};

use real_redis::Server;

use super::process::Process;

const KUBERNETES: &str = include_str!("../../../../deploy/kubernetes.yml");
const COMPOSE: &str = include_str!("../../../../deploy/compose.yml");
const DOCKERFILE: &str = include_str!("../../../../deploy/Dockerfile");
const UNIT: &str = include_str!("../../../../deploy/queue-kit-service.service");
const AUTOSCALER: &str = include_str!("../../../../deploy/autoscaler.yml");
const PAGE: &str = include_str!("../../../../docs/deploying.md");
const MAIN: &str = include_str!("../../src/main.rs");

/// The paths of the probes of the container with this port.
fn probes(port: &str) -> Vec<&'static str> {
    let containers = KUBERNETES.split("\n---\n");
    let own = containers
        .filter(|part| part.contains(&format!("containerPort: {port}")))
        .flat_map(|part| part.split("httpGet: {path: ").skip(1));
    own.filter_map(|rest| rest.split(',').next()).collect()
}

#[test]
fn each_probe_of_the_service_answers_while_it_is_well() {
    let server = Server::start().expect("a server");
    // The URL's parameter is the one of the files.
    let url = format!("{}?startup_timeout=60s", server.url());
    let mut process = Process::start(&url);
    let client = process.client();
    let paths = probes("8080");
    assert_eq!(paths, ["/metrics", "/health", "/metrics"]);
    for path in paths {
        // The service listens before its workers have begun.
        let begun = Instant::now();
        loop {
            let (status, body) = client.get(path).expect("an answer");
            if status == 200 {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "{path}: {status}: {body}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
    let (status, _) = process.terminate();
    assert!(status.success(), "a SIGTERM ends it well: {status}");
}

#[test]
fn the_files_name_what_the_program_reads() {
    for variable in ["QUEUE_URL", "ADDRESS"] {
        assert!(
            MAIN.contains(&format!("env::var(\"{variable}\")")),
            "{variable}"
        );
    }
    for (file, text) in [
        ("compose", COMPOSE),
        ("kubernetes", KUBERNETES),
        ("unit", UNIT),
    ] {
        assert!(text.contains("QUEUE_URL"), "{file}");
        assert!(text.contains("startup_timeout=60s"), "{file}");
    }
    assert!(DOCKERFILE.contains("ENV ADDRESS=0.0.0.0:8080"));
    assert!(DOCKERFILE.contains("EXPOSE 8080") && KUBERNETES.contains("containerPort: 8080"));
    // Longer than the 10 seconds for which both workers wait.
    for time in [
        "stop_grace_period: 30s",
        "terminationGracePeriodSeconds: 30",
        "TimeoutStopSec=30",
    ] {
        let files = [COMPOSE, KUBERNETES, UNIT];
        assert!(files.iter().any(|text| text.contains(time)), "{time}");
        let setting = time.split([':', '=']).next().expect("a name");
        assert!(
            PAGE.contains(setting),
            "docs/deploying.md does not name {setting}"
        );
    }
}

#[test]
fn the_autoscaler_counts_by_the_slots_of_the_service() {
    let slots = MAIN
        .split("concurrency(")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let slots = slots.expect("the worker of the queue `jobs`");
    assert!(
        AUTOSCALER.contains(&format!("targetValue: \"{slots}\"")),
        "{slots}"
    );
    assert!(AUTOSCALER.contains("/scale/jobs") && MAIN.contains("delay(\"jobs\")"));
}
