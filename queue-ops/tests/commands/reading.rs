//! Commands that only look: their words, their JSON, their status.

use std::time::Duration;

use queue_core::*;
use serde_json::json;

use crate::site::{HOUR, Site};

/// The cells of a table, without its head.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip(1);
    let cells = lines.map(|line| line.split("  ").filter(|cell| !cell.trim().is_empty()));
    cells
        .map(|cells| cells.map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// Unreadable queues first, then paused ones, each by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_are_listed_with_the_paused_ones_first() {
    let site = Site::start().await;
    for queue in ["a", "b", "c", "d", "e"] {
        site.ten(queue).await;
    }
    for queue in ["b", "d"] {
        site.leasing(queue).await.pause().await.unwrap();
    }
    let _: u64 = site
        .server
        .ask(&["HSET", "qk:{c}:meta", "config", "nonsense"])
        .unwrap();
    let said = site.run("ls");
    let names: Vec<_> = rows(&said.out)
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(names, ["c", "b", "d", "a", "e"], "{said:?}");
    let table = rows(&said.out);
    assert_eq!(table[0][2], "cannot be read: `qk why c` says why");
    let row = &table[1];
    assert_eq!(
        (&row[1..3], &row[4..]),
        (
            &["reliable", "3"].map(str::to_owned)[..],
            &["1", "3", "3", "paused"].map(str::to_owned)[..]
        )
    );
    assert_eq!(table[3].len(), 7, "it has no state: {:?}", table[3]);
    let listed = site.run("--json ls").json();
    assert_eq!(
        listed[1]["counters"]["depth"],
        json!({"ready": 3, "delayed": 1, "leased": 3, "dead": 3})
    );
    assert_eq!(said.status, 0);
    // The worst of all queues comes first, each with its mark.
    let why = site.run("why");
    let lines: Vec<_> = why.out.lines().collect();
    assert!(
        lines[0].starts_with("!! b: paused; 3 ready wait") || lines[0].starts_with("!! c: "),
        "{why:?}"
    );
    assert_eq!(lines.len(), 5, "{why:?}");
    assert!(
        lines[..3].iter().all(|line| line.starts_with("!! ")),
        "{why:?}"
    );
    assert!(
        lines[3..].iter().all(|line| line.starts_with("!  ")),
        "{why:?}"
    );
    assert_eq!(why.status, 1);
}

/// With `--standstill`, only a standstill has the status 1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standstill_is_told_from_trouble_by_the_status() {
    let site = Site::start().await;
    site.ten("orders").await;
    for (command, trouble, standstill) in [
        ("why", 1, 1),
        ("why orders", 1, 1),
        ("why --standstill", 0, 1),
        ("why orders --standstill", 0, 1),
        ("--json why orders --standstill", 0, 1),
    ] {
        assert_eq!(site.run(command).status, trouble, "{command}");
        site.leasing("orders").await.pause().await.unwrap();
        assert_eq!(site.run(command).status, standstill, "{command}");
        site.leasing("orders").await.resume().await.unwrap();
    }
    site.queues.reliable("well").open::<u64>().await.unwrap();
    for command in ["why well", "why well --standstill"] {
        assert_eq!(site.run(command).status, 0, "{command}");
    }
    assert_eq!(site.run("why nothing").status, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_expected_settings_are_one_command() {
    let site = Site::start().await;
    site.queues.reliable("orders").open::<u64>().await.unwrap();
    let said = site.run("why orders --expect max_attempts=7 --expect at_once=2");
    let line = said.out.lines().next().unwrap();
    assert!(
        line.ends_with("`qk reconfigure orders max_attempts=7 at_once=2`"),
        "{said:?}"
    );
    assert_eq!(said.status, 1);
    let second = "why orders --expect max_attempts=5 --expect at_once=2";
    assert_eq!(site.run(second).status, 1);
    assert_eq!(
        site.run("why orders --expect max_attempts=5 --expect at_once=0")
            .status,
        0
    );
    assert_eq!(site.run("why orders --expect capacity=5").status, 2);
}

/// A server that is well, one with a problem, and one that is not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_has_the_status_1_for_any_problem() {
    let site = Site::start().await;
    let set = |name: &str, value: &str| {
        let set = ["CONFIG", "SET", name, value];
        let _: String = site.server.ask(&set).unwrap();
    };
    let said = site.run("check");
    let warning = "neither appendonly nor save is on";
    assert!(said.out.contains(warning), "{said:?}");
    assert_eq!(said.status, 1);
    set("appendonly", "yes");
    let said = site.run("check");
    assert!(said.out.ends_with("\nnothing is wrong\n"), "{said:?}");
    assert_eq!(said.status, 0);
    set("maxmemory", "1");
    let said = site.run("check");
    assert!(said.out.contains("\n!  it refuses writes: "), "{said:?}");
    assert!(!said.out.contains("nothing is wrong"), "{said:?}");
    assert_eq!(said.status, 1);
    let json = site.run("--json check");
    let problems = json.json()["problems"].as_array().unwrap().len();
    assert_eq!((problems > 0, json.status), (true, 1), "{json:?}");
    let said = site.run("check --url redis://127.0.0.1:1");
    assert!(said.out.starts_with("!! "), "{said:?}");
    assert_eq!(said.status, 1);
}

/// A command that is pasted asks the server that this one asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_keep_the_url_that_was_given() {
    let site = Site::start().await;
    site.ten("orders").await;
    site.leasing("orders").await.pause().await.unwrap();
    let url = site.server.url();
    for command in [
        &["--url", &url, "why", "orders"][..],
        &["why", "orders", "--url", &url],
        &["-u", &url, "why"],
        &["--json", "--url", &url, "why", "orders"],
        &["pause", "orders", "--url", &url],
    ] {
        let said = site.qk(command);
        let whole = format!("qk --url {url} resume orders");
        assert!(said.out.contains(&whole), "{command:?}: {said:?}");
    }
    assert!(site.run("why orders").out.contains("`qk resume orders`"));
    let said = site.run("--recipe blocking-list why jobs");
    assert!(!said.out.contains("qk jobs"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_are_shown_as_they_are() {
    let site = Site::start().await;
    site.ten("orders").await;
    let stats = site.run("stats orders");
    let shown: Vec<_> = stats
        .out
        .lines()
        .map(|line| {
            line.rsplit_once("  ")
                .map(|(name, value)| (name.trim(), value.trim()))
                .unwrap()
        })
        .filter(|(name, _)| *name != "oldest ready")
        .collect();
    assert_eq!(
        shown,
        [
            ("kind", "reliable"),
            ("ready", "3"),
            ("delayed", "1"),
            ("leased", "3"),
            ("dead", "3"),
            ("accepted", "10"),
            ("acked", "0"),
            ("retried", "1"),
            ("expired leases", "0"),
            ("died", "3"),
            ("paused", "false"),
        ]
    );
    let json = site.run("--json stats orders").json();
    assert_eq!((&json["accepted"], &json["died"]), (&json!(10), &json!(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consumers_are_listed_with_what_they_hold() {
    let site = Site::start().await;
    site.ten("orders").await;
    let consumers = site.run("consumers orders");
    let table = rows(&consumers.out);
    assert_eq!(
        (&*table[0][0], &*table[0][1]),
        ("web 2", "1"),
        "{consumers:?}"
    );
    assert_eq!(
        (&*table[1][0], &*table[1][1]),
        ("web-1", "2"),
        "{consumers:?}"
    );
    let json = site.run("--json consumers orders").json();
    assert_eq!(
        (&json[1]["holder"], &json[1]["leased"]),
        (&json!("web-1"), &json!(2))
    );
    site.queues.reliable("none").open::<u64>().await.unwrap();
    assert_eq!(site.run("consumers none").status, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_shown_place_by_place() {
    let site = Site::start().await;
    site.ten("orders").await;
    for (place, ids) in [
        ("ready", &[8, 9, 10][..]),
        ("delayed", &[1]),
        ("leased", &[5, 6, 7]),
    ] {
        let shown = site.run(&format!("--json peek orders {place}")).json();
        let shown = shown.as_array().unwrap();
        let found: Vec<_> = shown
            .iter()
            .map(|one| one["id"].as_u64().unwrap())
            .collect();
        assert_eq!(found, ids, "{place}");
        for (one, id) in shown.iter().zip(ids) {
            assert_eq!(one["body"], format!("order {id}"));
        }
        let text = site.run(&format!("peek orders {place} --no-bodies"));
        assert!(
            !text.out.contains("order 1") && !text.out.contains("order 8"),
            "{text:?}"
        );
        let json = site
            .run(&format!("--json peek orders {place} --no-bodies"))
            .json();
        assert_eq!(json[0]["body"], "");
    }
    assert_eq!(
        site.run("--json peek orders delayed").json()[0]["failure"],
        "402: card declined"
    );
    assert_eq!(site.run("peek orders dead").status, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_shown_with_its_state() {
    let site = Site::start().await;
    site.ten("orders").await;
    for (id, words) in [
        (1, "due in 59 min; pushed "),
        (2, "dead after 1 attempt: buried: no customer 7"),
        (5, "leased by web-1 for 59 min; pushed "),
        (8, "ready; pushed "),
        (99, "never was: no message of this queue had this id"),
    ] {
        let said = site.run(&format!("show orders {id}"));
        assert!(said.out.starts_with(words) && said.status == 0, "{said:?}");
    }
    assert_eq!(site.run("--json show orders 99").json(), "never_was");
    site.run("ack orders 5 --yes");
    assert_eq!(
        site.run("show orders 5").all(),
        "gone: acked, cancelled or dropped, and no result is kept"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_listed_with_those_that_are_gone_first() {
    let site = Site::start().await;
    assert_eq!(site.run("workers").status, 1, "none registers");
    for (holder, program, beat) in [
        ("b", "shop 1", HOUR),
        ("c", "shop 2", Duration::from_millis(1)),
        ("a", "shop\u{1b}[2J 3", HOUR),
    ] {
        let registered =
            WorkerRegistration::open(&**site.queues.backend(), holder.to_owned()).await;
        let record = json!({
            "holder": holder, "program": program, "queues": ["orders", "mails"], "slots": 4, "in_flight": 3,
            "uptime_ms": 120_000, "next_beat_ms": u64::try_from(beat.as_millis()).unwrap(),
        });
        let record: WorkerRecord = serde_json::from_value(record).unwrap();
        registered.unwrap().beat(&record).await.unwrap();
        let said = site.run("workers");
        let is_gone = said.out.contains("gone for");
        assert_eq!(said.status, i32::from(is_gone), "{said:?}");
    }
    let begun = std::time::Instant::now();
    let said = loop {
        let said = site.run("workers");
        if said.out.contains("gone for") {
            break said;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{said:?}");
    };
    let table = rows(&said.out);
    let names: Vec<_> = table.iter().map(|row| &*row[0]).collect();
    assert_eq!(names, ["c", "a", "b"], "{said:?}");
    assert_eq!(
        &table[0][1..5],
        ["shop 2", "orders, mails", "3 of 4", "2 min"]
    );
    assert_eq!(table[1][1], "shop [2J 3");
    assert_eq!(said.status, 1);
}
