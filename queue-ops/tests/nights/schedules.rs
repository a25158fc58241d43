//! Schedules through `qk`: each verb acts on one of several and says so, and a record that cannot be read is shown.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{Problem, all_schedule_findings, schedule_findings};
use queue_redis::RedisBackend;
use queue_schedule::{Periodic, Scheduler, Schedules};
use real_redis::Server;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{in_memory::START, on_redis::said};

/// The schedules as `qk --json schedules ls` lists them: name, queue, whether enabled, and the problem.
fn listed(url: &str) -> Vec<(String, String, bool, Option<String>)> {
    let (text, status) = said(url, &["--json", "schedules", "ls"]);
    assert_eq!(status, 0, "{text}");
    let listed: Vec<Value> = serde_json::from_str(&text).unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let one = |value: Value| {
        let enabled = value["enabled"].as_bool().unwrap();
        assert_eq!(
            value["next_ms"].is_number(),
            enabled && value["problem"].is_null()
        );
        let (name, queue) = (
            text(&value["name"]).unwrap(),
            text(&value["queue"]).unwrap(),
        );
        (name, queue, enabled, text(&value["problem"]))
    };
    listed.into_iter().map(one).collect()
}

/// Names and whether each is enabled.
fn states(url: &str) -> String {
    let states = listed(url).into_iter();
    let states =
        states.map(|(name, _, enabled, _)| format!("{name}{}", if enabled { "+" } else { "-" }));
    states.collect::<Vec<_>>().join(" ")
}

/// Schedules of two rings on a server: `a`, `b` and `c` in the usual one, another `a` in `others`. `c` pushes to `mail`.
async fn rings() -> (Server, Queues) {
    let server = Server::start().unwrap();
    let queues = Queues::new(RedisBackend::connect(&server.url()).await.unwrap());
    queues.reliable("orders").open::<u64>().await.unwrap();
    queues.reliable("mail").open::<u64>().await.unwrap();
    // No ring is made by a look.
    assert_eq!(said(&server.url(), &["schedules", "ls"]).1, 2);
    for (ring, names) in [("schedules", &["b", "a", "c"][..]), ("others", &["a"])] {
        let schedules = Schedules::open(&queues, ring).await.unwrap();
        let mut scheduler = Scheduler::new(&schedules);
        for name in names {
            let yearly = Periodic::cron(*name, "0 3 1 1 *", "Europe/Berlin").unwrap();
            let queue = if *name == "c" { "mail" } else { "orders" };
            let make = |_: &queue_schedule::Slot| Ok(Push::new("1"));
            scheduler.add_push(yearly, queue, make).await.unwrap();
        }
    }
    (server, queues)
}

/// The same with two more records: `later`, of a later version, and `torn`, which is damaged.
async fn rings_with_unreadable_records() -> (Server, Queues) {
    let (server, queues) = rings().await;
    let ring = QueueName::new("schedules").unwrap();
    let config = RotatingConfig::default();
    let ring = queues.backend().open_rotating(&ring, &config);
    let ring = ring.await.unwrap();
    let known = json!({"definition": {"queue": "mail"}, "shards": 3}).to_string();
    for (name, body) in [("later", known.as_bytes()), ("torn", b"\xff{")] {
        let headers = [("schedule", name), ("version", "1")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let item = Insert::new(body.to_vec()).with_headers(headers.into_iter().collect());
        ring.insert_one(item.with_key(format!("{name}\n1")))
            .await
            .unwrap();
    }
    (server, queues)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_verb_acts_on_one_schedule_and_says_so() {
    let (server, _queues) = rings().await;
    let url = server.url();
    assert_eq!(states(&url), "a+ b+ c+");
    let steps: [(&[&str], i32, &str, &str); 11] = [
        (&["disable", "b"], 0, "b: disabled", "a+ b- c+"),
        (&["disable", "b"], 0, "b: disabled", "a+ b- c+"),
        (
            &["disable", "nobody"],
            1,
            "no schedule `nobody`",
            "a+ b- c+",
        ),
        (&["run", "b"], 0, "b: runs", "a+ b- c+"),
        (&["run", "nobody"], 1, "no schedule `nobody`", "a+ b- c+"),
        (&["enable", "b"], 0, "b: enabled", "a+ b+ c+"),
        (&["enable", "nobody"], 1, "no schedule `nobody`", "a+ b+ c+"),
        (&["remove", "a"], 0, "a: removed", "b+ c+"),
        (&["remove", "a"], 1, "no schedule `a`", "b+ c+"),
        (&["run", "a"], 1, "no schedule `a`", "b+ c+"),
        (
            &["disable", "a", "--ring", "others"],
            0,
            "a: disabled",
            "b+ c+",
        ),
    ];
    for (arguments, expected, says, after) in steps {
        let (text, status) = said(&url, &[&["schedules"], arguments].concat());
        assert!(
            status == expected && text.contains(says),
            "{arguments:?}: {text}"
        );
        assert_eq!(states(&url), after, "{arguments:?}");
    }
    let (text, _) = said(&url, &["schedules", "ls", "--ring", "others"]);
    assert!(text.contains("disabled"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_record_is_listed_with_its_problem() {
    let (server, _queues) = rings_with_unreadable_records().await;
    let url = server.url();
    assert_eq!(states(&url), "a+ b+ c+ later- torn-");
    let all = listed(&url);
    assert!(all[..3].iter().all(|(.., problem)| problem.is_none()));
    for (name, queue, _, problem) in &all[3..] {
        let problem = problem.as_deref().unwrap();
        assert!(
            problem.contains(&format!("the stored schedule `{name}` cannot be read")),
            "{problem}"
        );
        assert_eq!(queue, if name == "later" { "mail" } else { "" });
    }
    let (text, _) = said(&url, &["schedules", "ls"]);
    for name in ["later", "torn"] {
        assert!(text.contains(&format!("`{name}` cannot be read")), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_names_the_unreadable_records_of_its_queue_and_those_of_no_known_queue() {
    let (server, _queues) = rings_with_unreadable_records().await;
    let url = server.url();
    let (text, status) = said(&url, &["why", "mail"]);
    let first = text.lines().next().unwrap_or_default();
    assert!(
        first.contains("the schedule `later` does not run") && status == 1,
        "{text}"
    );
    assert!(text.contains("the schedule `torn` does not run"), "{text}");
    let (text, status) = said(&url, &["why", "orders"]);
    assert!(!text.contains("`later`") && status == 0, "{text}");
    assert!(text.contains("the schedule `torn` does not run"), "{text}");
    // So does it without a queue. Nobody knows the queue of `torn`: the ring itself is named.
    let (text, status) = said(&url, &["why"]);
    assert!(
        text.contains("!  mail: the schedule `later` does not run") && status == 1,
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_record_can_be_removed_and_its_neighbours_changed() {
    let (server, _queues) = rings_with_unreadable_records().await;
    let url = server.url();
    for (arguments, expected) in [
        (["disable", "c"], 0),
        (["enable", "later"], 2),
        (["run", "torn"], 2),
        (["disable", "torn"], 0),
        (["remove", "torn"], 0),
        (["remove", "later"], 0),
        (["remove", "later"], 1),
    ] {
        let (text, status) = said(&url, &[&["schedules"], &arguments[..]].concat());
        assert_eq!(status, expected, "{arguments:?}: {text}");
    }
    assert_eq!(states(&url), "a+ b+ c-");
}

/// A schedule whose slot is over, while no scheduler runs.
#[tokio::test(start_paused = true)]
async fn a_schedule_that_is_late_is_named() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    queues.reliable("mail").open::<u64>().await.unwrap();
    let schedules = Schedules::open(&queues, "schedules").await.unwrap();
    let mut scheduler = Scheduler::new(&schedules);
    let yearly = Periodic::cron("ticks", "0 3 1 1 *", "Europe/Berlin").unwrap();
    let push = scheduler.add_push(yearly, "mail", |_| Ok(Push::new("1")));
    push.await.unwrap();
    let next = schedules.list().await.unwrap()[0].next.unwrap();
    let backend = queues.backend();
    let found = || schedule_findings(Arc::clone(backend), "schedules", "mail");
    sleep(next.since(backend.now().await.unwrap()) + Duration::from_millis(59_999)).await;
    assert_eq!(found().await.unwrap(), []);
    sleep(Duration::from_secs(17 * 60 + 1)).await;
    let late = found().await.unwrap();
    assert_eq!(late[0].problem, Problem::ScheduleLate);
    assert_eq!(
        late[0].to_string(),
        "the schedule `ticks` (0 3 1 1 * (Europe/Berlin)) is 18 min late: no scheduler runs"
    );
    let all = all_schedule_findings(Arc::clone(backend), "schedules");
    assert_eq!(all.await.unwrap(), [("mail".to_owned(), late[0].clone())]);
}
