//! The nights that can happen in memory, in virtual time.

use std::{sync::Arc, time::Duration};

use queue_core::{LeasingExt, Overflow, Partitioned, Push, Queues, Timestamp};
use queue_memory::MemoryBackend;
use queue_ops::{Problem, Severity, diagnose};
use queue_worker::Worker;
use tokio::time::{sleep, timeout};

use crate::setups::{HOUR, NIGHTS, fits, make};

/// 2026-11-27 00:00 UTC.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_795_737_600_000);

#[tokio::test(start_paused = true)]
async fn each_night_is_named_in_the_first_line() {
    for night in &NIGHTS {
        let queues = Queues::new(MemoryBackend::starting_at(START));
        let kept = make(&queues, night.name).await;
        sleep(Duration::from_secs(3)).await;
        let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
        let line = diagnosis.headline();
        assert!(fits(&line, night.line), "{}: {line}", night.name);
        assert_eq!(diagnosis.is_healthy(), night.name == "well");
        if let Some(remedy) = night.remedy {
            assert!(
                line.ends_with(&format!(": `{remedy}`")),
                "{}: {line}",
                night.name
            );
        }
        kept.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// A queue of several partitions is one queue, also here.
#[tokio::test(start_paused = true)]
async fn a_night_of_a_partitioned_queue_is_named() {
    let backend = Partitioned::new(Arc::new(MemoryBackend::starting_at(START)), 4).unwrap();
    let queues = Queues::new(backend);
    let kept = make(&queues, "no consumer").await;
    sleep(Duration::from_secs(3)).await;
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let line = diagnosis.headline();
    assert!(
        fits(&line, "5 ready, no live consumer; the oldest waits for …"),
        "{line}"
    );
    // One consumer waits at all partitions.
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.queue().purge_all().await.unwrap();
    let waiting = tokio::spawn(async move { orders.receive(HOUR, HOUR).await.map(drop) });
    sleep(Duration::from_secs(1)).await;
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    assert_eq!(diagnosis.numbers.unwrap().facts.waiting, Some(1));
    waiting.abort();
    drop(kept);
}

/// A worker that registers, and is killed with a message under a long lease.
#[tokio::test(start_paused = true)]
async fn a_killed_worker_is_named() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2]).await.unwrap();
    let worker = Worker::new(orders)
        .lease(2 * HOUR)
        .holder("vm, process 15118");
    let worker = worker
        .register(&queues, "shop 1.4.2")
        .run(|_: u64, _| sleep(HOUR));
    assert!(timeout(Duration::from_secs(15), worker).await.is_err());
    let findings = async || {
        let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
        let named = |problem| {
            diagnosis
                .findings
                .iter()
                .find(|one| one.problem == problem)
                .cloned()
        };
        (diagnosis.headline(), named(Problem::HolderGone))
    };
    assert_eq!(findings().await.1, None, "it may only be slow");
    sleep(Duration::from_secs(33)).await;
    let gone = findings().await.1.expect("named").to_string();
    assert_eq!(
        gone,
        "1 message leased by `vm, process 15118`, which is gone for 38 s: the last lease ends in 119 min: \
         `qk release orders --holder 'vm, process 15118'`"
    );
    let list = queue_core::workers(&**queues.backend()).await.unwrap();
    assert!(list[0].gone);
    let of_list = diagnose(&**queues.backend(), queue_core::WORKER_LIST)
        .await
        .unwrap();
    assert!(
        of_list.is_healthy(),
        "nobody consumes the list: {}",
        of_list.headline()
    );
    sleep(2 * HOUR).await;
    let (line, gone) = findings().await;
    assert_eq!(gone, None, "its lease is over");
    assert!(
        fits(
            &line,
            "2 ready, no live consumer; the last was `vm, process 15118`, 2 h ago"
        ),
        "{line}"
    );
}

/// A worker that is not in the list of workers, and is killed under long leases.
#[tokio::test(start_paused = true)]
async fn messages_that_a_killed_holder_has_are_named_while_others_wait() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders.push_all(&[1, 2, 3]).await.unwrap();
    let two = 2.try_into().unwrap();
    let leased = orders.queue().settle_and_lease(&[], two, HOUR, None);
    assert_eq!(leased.await.unwrap().1.deliveries.len(), 2);
    let line = async || {
        let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
        (diagnosis.is_healthy(), diagnosis.headline())
    };
    sleep(Duration::from_secs(50)).await;
    assert!(line().await.0, "its handlers may be busy");
    sleep(Duration::from_secs(70)).await;
    assert_eq!(
        line().await.1,
        "2 leased by `(without a name)` for 58 min more, since 2 min; 1 ready, and no consumer waits: \
         `qk release orders --holder ''`"
    );
    sleep(Duration::from_secs(200)).await;
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let stops: Vec<Problem> = diagnosis
        .findings
        .iter()
        .filter(|one| one.severity == Severity::Standstill)
        .map(|one| one.problem)
        .collect();
    assert_eq!(stops, [Problem::LongLeases], "consumers are not too slow");
}

/// The last ten gifts: full, and without a consumer, as it should be.
#[tokio::test(start_paused = true)]
async fn a_list_that_is_only_shown_has_no_findings() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    let gifts = queues.bounded("gifts", 10).open::<u64>().await.unwrap();
    for gift in 0..25 {
        gifts
            .push(&gift, Overflow::DropOldest)
            .await
            .unwrap()
            .id()
            .unwrap();
    }
    sleep(HOUR).await;
    let findings = async || diagnose(&**queues.backend(), "gifts").await.unwrap();
    assert!(
        findings().await.is_healthy(),
        "{}",
        findings().await.headline()
    );
    // Once somebody consumed it, it is a queue.
    let gift = gifts.receive(HOUR, Duration::ZERO).await.unwrap().unwrap();
    gift.ack().await.unwrap();
    let line = findings().await.headline();
    assert!(line.starts_with("9 ready, no live consumer"), "{line}");
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_not_there_is_named() {
    let queues = Queues::new(MemoryBackend::new());
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    assert_eq!(diagnosis.findings[0].problem, Problem::NoSuchQueue);
    assert!(!diagnosis.is_healthy());
    assert_eq!(diagnosis.headline(), "there is no queue `orders`: `qk ls`");
    assert!(diagnose(&**queues.backend(), "two\nlines").await.is_err());
}

/// Consumers that take their time leave messages ready between two looks, and that is no standstill.
#[tokio::test(start_paused = true)]
async fn a_queue_under_load_has_no_findings() {
    for pause in [1, 40, 250] {
        let queues = Queues::new(MemoryBackend::starting_at(START));
        let orders = queues.reliable("orders").open::<u64>().await.unwrap();
        let producer = orders.clone();
        let producing = tokio::spawn(async move {
            for order in 0.. {
                producer.push_all(&[order; 16]).await.unwrap();
                sleep(Duration::from_millis(pause)).await;
            }
        });
        let consumer = orders.clone();
        let consuming = tokio::spawn(async move {
            loop {
                // No lease is held while it sleeps, so the queue looks deserted now and then.
                let taken = consumer.queue();
                let leased =
                    LeasingExt::receive(&**taken, 64, Duration::from_secs(30), Duration::ZERO);
                for delivery in leased.await.unwrap() {
                    LeasingExt::ack(&**taken, delivery.receipt).await.unwrap();
                }
                sleep(Duration::from_millis(pause)).await;
            }
        });
        for _ in 0..50 {
            sleep(Duration::from_millis(97)).await;
            let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
            assert!(diagnosis.is_healthy(), "{}", diagnosis.headline());
        }
        producing.abort();
        consuming.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_diagnosis_is_data() {
    let queues = Queues::new(MemoryBackend::starting_at(START));
    let orders = queues.reliable("orders").open::<u64>().await.unwrap();
    orders
        .queue()
        .push_one(Push::new("1"))
        .await
        .unwrap()
        .id()
        .unwrap();
    orders.queue().pause().await.unwrap();
    let diagnosis = diagnose(&**queues.backend(), "orders").await.unwrap();
    let json = serde_json::to_value(&diagnosis).unwrap();
    assert_eq!(json["queue"], "orders");
    assert_eq!(json["findings"][0]["problem"], "paused");
    assert_eq!(json["findings"][0]["severity"], "standstill");
    assert_eq!(json["findings"][0]["evidence"]["ready"], 1);
    assert_eq!(json["findings"][0]["remedy"]["command"], "qk resume orders");
    assert_eq!(json["numbers"]["counters"]["depth"]["ready"], 1);
    assert_eq!(json["numbers"]["facts"]["waiting"], 0);
}
