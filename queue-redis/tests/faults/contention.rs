//! Many producers and consumers on one bounded queue, with a watcher all the time (B1, B4).

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use queue_core::*;
use real_redis::Server;
use tokio::task::JoinSet;

use crate::ground::{connect, within};

const PRODUCERS: usize = 16;
const CONSUMERS: usize = 16;
const EACH: usize = 50;
const CAPACITY: usize = 8;
const LEASE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

async fn open(server: &Server) -> Arc<dyn BoundedQueue> {
    let backend = connect(server).await;
    let name = QueueName::new("narrow").expect("a name");
    let config = BoundedConfig::new(CAPACITY);
    let queue = backend.open_bounded(&name, &config);
    queue.await.expect("opens")
}

/// Looks until it is told to stop. Answers the number of looks, and the most that it saw.
fn watch(
    queue: Arc<dyn BoundedQueue>,
    stop: Arc<AtomicBool>,
) -> tokio::task::JoinHandle<(usize, u64)> {
    tokio::spawn(async move {
        let (mut looks, mut most) = (0, 0);
        while !stop.load(Ordering::SeqCst) {
            let depth = queue.depth().await.expect("depth");
            assert!(depth.occupied() <= CAPACITY as u64, "B1: {depth:?}");
            most = most.max(depth.occupied());
            looks += 1;
        }
        (looks, most)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_on_each_side_never_exceed_the_capacity() {
    let server = Server::start().expect("a server");
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = watch(open(&server).await, Arc::clone(&stop));
    // Two clients, so that producers and consumers wake each other across processes, too.
    let (pushing, taking) = (open(&server).await, open(&server).await);

    let mut producers = JoinSet::new();
    for producer in 0..PRODUCERS {
        let queue = Arc::clone(&pushing);
        producers.spawn(async move {
            for number in 0..EACH {
                let body = format!("{producer}-{number}");
                let offered = queue.offer_or_wait(body, HOUR).await.expect("offer");
                assert!(matches!(offered, Offered::Accepted { evicted: None, .. }));
            }
        });
    }
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut consumers = JoinSet::new();
    for _ in 0..CONSUMERS {
        let (queue, seen) = (Arc::clone(&taking), Arc::clone(&seen));
        consumers.spawn(async move {
            loop {
                let delivery = queue.receive_one(LEASE, HOUR).await.expect("receive");
                let delivery = delivery.expect("it waits for an hour");
                assert_eq!(delivery.attempt, 1);
                queue.ack(delivery.receipt).await.expect("ack");
                let fresh = seen.lock().expect("no panic").insert(delivery.body);
                assert!(fresh, "L3: delivered again after its ack");
            }
        });
    }

    within("every push", async {
        while let Some(ended) = producers.join_next().await {
            ended.expect("a producer ends well");
        }
    })
    .await;
    within("every ack", async {
        while seen.lock().expect("no panic").len() < PRODUCERS * EACH {
            if let Some(ended) = consumers.try_join_next() {
                ended.expect("a consumer does not fail");
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let (looks, most) = within("the watcher", watcher).await.expect("B1 held");
    assert!(looks > 0 && most > 0, "{looks} looks saw {most} at most");
    let counters = taking.counters().await.expect("counters");
    assert!(counters.balance(), "{counters:?}");
    assert_eq!(counters.acked, (PRODUCERS * EACH) as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_who_drop_the_oldest_never_exceed_the_capacity() {
    let server = Server::start().expect("a server");
    let stop = Arc::new(AtomicBool::new(false));
    let watcher = watch(open(&server).await, Arc::clone(&stop));
    let queue = open(&server).await;
    let mut producers = JoinSet::new();
    for producer in 0..PRODUCERS {
        let queue = Arc::clone(&queue);
        producers.spawn(async move {
            let mut evicted = Vec::new();
            for number in 0..EACH {
                let body = format!("{producer}-{number}");
                let offered = queue.offer_one(body, Overflow::DropOldest).await;
                match offered.expect("offer") {
                    Offered::Accepted { evicted: gone, .. } => evicted.extend(gone),
                    other => panic!("B2: nothing is leased, and yet {other:?}"),
                }
            }
            evicted
        });
    }
    let mut evicted = Vec::new();
    within("every push", async {
        while let Some(ended) = producers.join_next().await {
            evicted.append(&mut ended.expect("a producer ends well"));
        }
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let (looks, _) = within("the watcher", watcher).await.expect("B1 held");
    assert!(looks > 0);
    // The evicted are the oldest first, each once: all but the last eight, which have the highest
    // ids.
    evicted.sort_unstable();
    let all = PRODUCERS * EACH;
    let expected: Vec<_> = (1..=all - CAPACITY)
        .map(|id| MessageId::new(id as u64))
        .collect();
    assert_eq!(evicted, expected);
    let counters = queue.counters().await.expect("counters");
    assert_eq!(counters.evicted, expected.len() as u64);
    assert_eq!(counters.depth.ready, CAPACITY as u64);
}
