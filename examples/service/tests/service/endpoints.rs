//! Each endpoint, on both backends.

use std::time::{Duration, Instant};

use real_redis::Server;
use serde_json::{Value, json};

use super::process::{Client, Process};

/// For each case, a test on each backend.
macro_rules! on_each_backend {
    ($($name:ident)*) => {
        mod in_memory {
            $(#[test]
            fn $name() {
                super::$name(&mut super::Process::start("memory:"));
            })*
        }

        mod on_redis {
            $(#[test]
            fn $name() {
                let server = super::Server::start().unwrap();
                super::$name(&mut super::Process::start(&server.url()));
            })*
        }
    };
}

on_each_backend! {
    an_order_waits_to_be_paid_and_is_there_once
    an_export_reports_its_progress_and_its_result
    an_export_that_cannot_be_done_is_a_dead_letter_and_dies_again_after_its_revival
    mails_to_a_customer_are_sent_in_order
    a_service_that_is_asked_to_stop_does_not_wait_for_a_long_export
}

/// The body of an answer that says that all is well.
fn ok(answer: super::process::Answer) -> Value {
    let (status, body) = answer.unwrap();
    assert_eq!(status, 200, "{body}");
    body
}

fn an_order_waits_to_be_paid_and_is_there_once(process: &Process) {
    let client = process.client();
    let well = json!({ "jobs": true, "mails": true });
    until(&client, "/health", |health| *health == well);
    let order = json!({ "order": 41, "unpaid_seconds": 1800 });
    let id = ok(client.post("/orders", &order));
    assert_eq!(
        ok(client.post("/orders", &order)),
        id,
        "one job for an order"
    );
    let status = ok(client.get(&format!("/jobs/{id}")));
    assert!(
        status["present"]["standing"]["delayed"]["due_in_ms"].as_u64() > Some(1_000_000),
        "{status}"
    );
    assert_eq!(ok(client.delete(&format!("/jobs/{id}"))), "cancelled");
    assert_eq!(ok(client.get(&format!("/jobs/{id}/result"))), "gone");

    // Another is not paid.
    let id = ok(client.post("/orders", &json!({ "order": 42, "unpaid_seconds": 0 })));
    assert_eq!(
        ok(client.get(&format!("/jobs/{id}/result"))),
        json!({ "done": "order 42 cancelled" })
    );
    let never = json!({ "order": 1, "unpaid_seconds": u64::MAX });
    let (status, refusal) = client.post("/orders", &never).unwrap();
    assert_eq!(status, 400, "{refusal}");
}

fn an_export_reports_its_progress_and_its_result(process: &Process) {
    let client = process.client();
    let id = ok(client.post("/exports", &json!({ "customer": 7, "pages": 100 })));
    until(&client, &format!("/jobs/{id}"), |status| {
        let leased = &status["present"]["standing"]["leased"];
        leased["progress"]
            .as_str()
            .is_some_and(|progress| progress.ends_with("of 100"))
    });
    assert_eq!(
        ok(client.get(&format!("/jobs/{id}/result"))),
        json!({ "done": "exports/7.csv" })
    );
    let metrics = ok(client.get("/metrics"));
    let metrics = metrics.as_str().unwrap();
    assert!(metrics.contains(r#"job_type="export""#), "{metrics}");
}

fn an_export_that_cannot_be_done_is_a_dead_letter_and_dies_again_after_its_revival(
    process: &Process,
) {
    let client = process.client();
    let id = ok(client.post("/exports", &json!({ "customer": 7, "pages": 0 })));
    let failed = json!({ "failed": "buried: an export has a page at least" });
    assert_eq!(ok(client.get(&format!("/jobs/{id}/result"))), failed);
    let dead = ok(client.get("/dead"));
    assert_eq!(dead[0][0], id);
    assert_eq!(
        ok(client.post(&format!("/dead/{id}/revive"), &Value::Null)),
        json!(["revived"])
    );
    assert_eq!(ok(client.get(&format!("/jobs/{id}/result"))), failed);
}

fn mails_to_a_customer_are_sent_in_order(process: &mut Process) {
    let client = process.client();
    for (customer, text) in [(7, "one"), (7, "two"), (8, "one"), (7, "three")] {
        ok(client.post("/mails", &json!({ "customer": customer, "text": text })));
    }
    until(&client, "/metrics", |metrics| {
        let mut lines = metrics.as_str().unwrap_or_default().lines();
        lines.any(|line| {
            line.starts_with("queue_kit_outcomes") && line.contains("mails") && line.ends_with(" 4")
        })
    });
    let (status, said) = process.terminate();
    assert!(status.success(), "{said}");
    let mails = said.lines();
    let mails: Vec<&str> = mails
        .filter_map(|line| line.strip_prefix("to customer 7: "))
        .collect();
    assert_eq!(mails, ["one", "two", "three"]);
}

/// The export begins again in the next process.
fn a_service_that_is_asked_to_stop_does_not_wait_for_a_long_export(process: &mut Process) {
    let client = process.client();
    ok(client.post("/exports", &json!({ "customer": 8, "pages": 10_000 })));
    let begun = Instant::now();
    let (status, said) = process.terminate();
    assert!(status.success(), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

/// A supervisor may stop the service as soon as it says that it listens.
#[test]
fn a_service_that_is_stopped_at_once_ends_well() {
    for _ in 0..10 {
        let (status, said) = Process::start("memory:").terminate();
        assert!(status.success(), "{status}: {said}");
    }
}

/// Asks until the answer is as expected.
fn until(client: &Client, path: &str, expected: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    loop {
        let (_, answer) = client.get(path).unwrap();
        if expected(&answer) {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{path} still says {answer}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}
