//! The metric of standstill, by which docs/monitoring/alerts.yml wakes somebody.

use std::time::Duration;

use queue_core::{LeasingExt, Overflow};
use tokio::time::{Instant, sleep};

use crate::site::Site;

const HOUR: Duration = Duration::from_secs(3_600);

/// The value of a gauge for each queue.
fn gauges(site: &Site, name: &str) -> Vec<(String, f64)> {
    let (_, text) = site.get("/metrics");
    let start = format!("{name}{{queue=\"");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&start));
    let values = lines.map(|line| line.split_once("\"} ").expect("a value"));
    values
        .map(|(queue, value)| (queue.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_stands_still_counts_the_seconds() {
    let site = Site::start(&["--every-ms", "300"]).await;
    let queues = &site.queues;
    // Paused; without a consumer; full, without a consumer.
    let paused = queues.reliable("paused").open::<u64>().await.unwrap();
    paused.push(&1).await.unwrap();
    paused.queue().pause().await.unwrap();
    let deserted = queues.delay("deserted").open::<u64>().await.unwrap();
    deserted.push(&1, Duration::ZERO).await.unwrap();
    let full = queues.bounded("full", 1).open::<u64>().await.unwrap();
    full.push(&1, Overflow::Reject).await.unwrap().id().unwrap();
    // All leased and nothing ready; due later; empty.
    let busy = queues.reliable("busy").open::<u64>().await.unwrap();
    busy.push(&1).await.unwrap();
    let _held = busy.queue().receive_one(HOUR, HOUR).await.unwrap();
    let later = queues.delay("later").open::<u64>().await.unwrap();
    later.push(&1, HOUR).await.unwrap();
    queues.reliable("empty").open::<u64>().await.unwrap();
    let ring = queues.rotating("ring").open::<u64>().await.unwrap();
    ring.push(&1).await.unwrap();
    // Lists that are shown: of the last gifts, and of the workers.
    let gifts = queues.bounded("gifts", 2).open::<u64>().await.unwrap();
    for gift in 0..5 {
        gifts
            .push(&gift, Overflow::DropOldest)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    let mut record = queue_core::WorkerRecord::default();
    record.holder = "web-1".to_owned();
    let list = queue_core::WorkerRegistration::open(&**queues.backend(), "1".to_owned());
    list.await.unwrap().beat(&record).await.unwrap();
    // More is pushed than is handled, and it moves all the same.
    let slow = queues.reliable("slow").open::<u64>().await.unwrap();
    let moving = tokio::spawn(async move {
        loop {
            slow.push_all(&[1, 2]).await.unwrap();
            let taken = slow.receive(HOUR, HOUR).await.unwrap();
            taken.expect("it was pushed").ack().await.unwrap();
            sleep(Duration::from_millis(20)).await;
        }
    });
    let begun = Instant::now();
    let standing = loop {
        let gauges = gauges(&site, queue_ops::web::STANDSTILL_SECONDS);
        let standing: Vec<_> = gauges
            .into_iter()
            .filter(|(_, seconds)| *seconds > 0.0)
            .collect();
        if standing
            .iter()
            .filter(|(_, seconds)| *seconds > 1.5)
            .count()
            >= 3
        {
            break standing;
        }
        let late = begun.elapsed() > Duration::from_secs(60);
        assert!(!late, "not seen: {standing:?}");
        sleep(Duration::from_millis(100)).await;
    };
    moving.abort();
    let names: Vec<_> = standing.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["deserted", "full", "paused"], "{standing:?}");
    let oldest = gauges(&site, "queue_kit_oldest_ready_seconds");
    let of = |queue: &str| {
        oldest
            .iter()
            .find(|(name, _)| name == queue)
            .map(|(_, age)| *age)
    };
    assert!(
        of("deserted") > Some(1.5) && of("empty") == Some(0.0),
        "{oldest:?}"
    );
}
