//! Numbers for machines: gauges, JSON, the number for autoscalers, probes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Error, ErrorKind, GroupRule, GroupedConfig, GroupedQueueExt, Layered, Leasing, LeasingExt,
    QueueName, Queues, Result, Settlement,
    call::{Answer, Call, Layer, Service},
};
use queue_memory::MemoryBackend;
use queue_ops::web::Web;
use serde_json::Value;

use crate::site::{HOUR, Site, bury, push};

async fn gauges(site: &Site) -> BTreeMap<String, f64> {
    let text = site.page("/metrics").await;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').expect("a value"));
    pairs
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

/// Two queues with other numbers in each place.
async fn fill(site: &Site) {
    for (name, [ready, delayed, leased, dead]) in [("a", [1, 2, 3, 4]), ("b:c", [5, 0, 1, 0])] {
        let queue = site.reliable(name).await;
        for _ in 0..dead {
            bury(&*queue, "x", "x").await;
        }
        for nth in 0..leased + delayed {
            push(&*queue, "x").await;
            let one = queue
                .receive_one(HOUR, Duration::ZERO)
                .await
                .unwrap()
                .unwrap();
            if nth < delayed {
                let _ = queue
                    .settle_one(Settlement::retry(one.receipt, HOUR))
                    .await
                    .unwrap();
            }
        }
        for _ in 0..ready {
            push(&*queue, "x").await;
        }
    }
    site.reliable("b:c").await.pause().await.unwrap();
    tokio::time::advance(Duration::from_secs(7)).await;
}

#[tokio::test(start_paused = true)]
async fn each_gauge_has_the_number_of_its_queue() {
    let site = Site::new();
    fill(&site).await;
    site.grouped("steps", &[b"a", b"a", b"a", b"b"]).await;
    site.grouped("idle", &[]).await;
    let gauges = gauges(&site).await;
    let mut expected = BTreeMap::new();
    for (name, counts, paused, oldest) in [
        ("a", [1, 2, 3, 4], 0, 7.0),
        ("b:c", [5, 0, 1, 0], 1, 7.0),
        ("steps", [4, 0, 0, 0], 0, 0.0),
        ("idle", [0; 4], 0, 0.0),
    ] {
        for (state, count) in ["ready", "delayed", "leased", "dead"]
            .into_iter()
            .zip(counts)
        {
            let gauge = format!("queue_kit_messages{{queue=\"{name}\",state=\"{state}\"}}");
            expected.insert(gauge, f64::from(count));
        }
        expected.insert(
            format!("queue_kit_paused{{queue=\"{name}\"}}"),
            f64::from(paused),
        );
        expected.insert(
            format!("queue_kit_oldest_ready_seconds{{queue=\"{name}\"}}"),
            oldest,
        );
    }
    expected.insert("queue_kit_groups{queue=\"steps\"}".to_owned(), 2.0);
    expected.insert("queue_kit_groups{queue=\"idle\"}".to_owned(), 0.0);
    expected.insert(
        "queue_kit_busiest_group_share{queue=\"steps\"}".to_owned(),
        0.75,
    );
    assert_eq!(gauges, expected);
    let answer = site.get("/metrics").await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4");
    let types = answer
        .text
        .lines()
        .filter(|line| line.starts_with("# TYPE ") && line.ends_with(" gauge"));
    assert_eq!(types.count(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_seconds_of_a_standstill_are_exported_if_queues_are_sampled() {
    let site = Site::with(|web| web.sample_every(Duration::from_secs(1)));
    let (stuck, empty) = (site.reliable("stuck").await, site.reliable("empty").await);
    push(&*stuck, "x").await;
    empty.depth().await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
    let gauges = gauges(&site).await;
    let stands = gauges["queue_kit_standstill_seconds{queue=\"stuck\"}"];
    assert!((20.0..=31.0).contains(&stands), "{stands}");
    assert!(gauges["queue_kit_standstill_seconds{queue=\"empty\"}"].abs() < f64::EPSILON);
}

/// Few groups are read, and those of idle queues are not among them.
#[tokio::test(start_paused = true)]
async fn a_busy_group_is_exported_behind_idle_queues() {
    let site = Site::new();
    for number in 0..30 {
        site.grouped(&format!("idle-{number}"), &[]).await;
    }
    site.grouped("steps", &[b"a", b"a", b"a", b"b"]).await;
    let share = "queue_kit_busiest_group_share{queue=\"steps\"}";
    assert_eq!(gauges(&site).await.get(share), Some(&0.75));
}

#[tokio::test(start_paused = true)]
async fn the_rule_and_the_pause_of_a_group_are_told_apart() {
    let site = Site::new();
    let config = GroupedConfig::loose(9);
    let steps = site
        .queues
        .grouped("steps")
        .config(config)
        .open::<u64>()
        .await;
    let steps = steps.unwrap();
    for key in ["a", "b"] {
        steps.push(&1, key).await.unwrap();
    }
    let mut rule = GroupRule::lasting(HOUR).with_weight(3);
    rule.at_once = Some(2);
    steps.queue().set_rule("a", rule).await.unwrap();
    steps.queue().pause_group("b", 2 * HOUR).await.unwrap();
    let listed: Value = serde_json::from_str(&site.page("/api/queues/steps/groups").await).unwrap();
    let groups = listed["groups"].as_array().unwrap();
    for (key, numbers) in [
        ("a", [2.into(), 3.into(), 3_600_000.into(), Value::Null]),
        ("b", [9.into(), 1.into(), Value::Null, 7_200_000.into()]),
    ] {
        let group = groups.iter().find(|group| group["key"] == key).unwrap();
        let names = ["at_once", "weight", "rule_ends_ms", "paused_ms"];
        assert_eq!(names.map(|name| group[name].clone()), numbers, "{key}");
    }
    let shown = site.page("/queues/steps/groups").await;
    assert!(shown.contains("weight 3, 2 at once, for 60 min"), "{shown}");
}

#[derive(Debug)]
struct Fails(ErrorKind);

#[async_trait]
impl Layer for Fails {
    async fn call(&self, _: &QueueName, _: &Arc<dyn Service>, _: Call) -> Result<Answer> {
        Err(Error::new(self.0, "it fails"))
    }
}

/// An autoscaler tells a server that is busy from a request that is wrong.
#[tokio::test(start_paused = true)]
async fn each_kind_of_error_has_its_status() {
    for (kind, status) in [
        (ErrorKind::Invalid, 400),
        (ErrorKind::Unavailable, 503),
        (ErrorKind::OutOfMemory, 503),
        (ErrorKind::InUse, 409),
        (ErrorKind::Internal, 500),
    ] {
        let queues = Queues::new(MemoryBackend::new());
        let fails = Layered::new(Fails(kind), Arc::clone(queues.backend()));
        let site = Site::of(queues, Web::new(Arc::new(fails)).router());
        site.reliable("orders").await;
        for path in [
            "/scale/orders",
            "/queues/orders/in/ready",
            "/api/queues/orders/messages/1",
        ] {
            assert_eq!(site.get(path).await.status, status, "{kind:?} {path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_scale_is_ready_and_leased() {
    let site = Site::new();
    fill(&site).await;
    for (path, status, text) in [
        ("/scale/a", 200, "4"),
        ("/scale/b:c", 200, "6"),
        ("/scale/none", 400, "there is no queue `none`"),
        ("/scale/%7B", 400, ""),
        ("/healthz", 200, "well"),
        ("/readyz", 200, "ready"),
    ] {
        let answer = site.get(path).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(
            answer.text.starts_with(text) && (status != 200 || answer.text == text),
            "{path}: {answer:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_api_has_the_same_as_the_pages() {
    let site = Site::new();
    fill(&site).await;
    let json = async |path: &str| -> Value {
        let answer = site.get(path).await;
        assert!(
            answer
                .header("content-type")
                .starts_with("application/json"),
            "{answer:?}"
        );
        serde_json::from_str(&answer.text).expect("JSON")
    };
    let listed = json("/api/queues").await;
    let names: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b:c"]);
    assert_eq!(
        json("/api/queues?after=a").await.as_array().unwrap().len(),
        1
    );
    let diagnosis = json("/api/queues/b:c").await;
    assert_eq!(
        (&diagnosis["queue"], &diagnosis["findings"][0]["problem"]),
        (&"b:c".into(), &"paused".into()),
        "{diagnosis}"
    );
    assert_ne!(
        json("/api/queues/a").await["findings"][0]["problem"],
        "paused"
    );
    let dead = json("/api/queues/a/messages/1").await;
    assert!(dead.to_string().contains("dead"), "{dead}");
    let other = json("/api/queues/a/messages/99").await;
    assert_ne!(dead, other);
    for (path, status) in [
        ("/api/queues?after=%7B", 400),
        ("/api/queues/%7B", 200),
        ("/api/queues/none/messages/1", 400),
        ("/api/queues/a/groups", 400),
    ] {
        let answer = site.get(path).await;
        if status == 400 {
            assert_eq!(answer.status, 400, "{path}: {answer:?}");
            let said: Value = serde_json::from_str(&answer.text).expect("JSON");
            assert!(said["error"].is_string(), "{path}: {said}");
        }
    }
}
