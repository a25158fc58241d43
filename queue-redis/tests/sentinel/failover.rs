//! A primary is killed under load, and its replica takes its place.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Server, ServerError};
use redis::Connection;

use super::{Test, command::command, open, until::until, url, watching};

/// Longer than the failover takes on a busy machine, so that calls wait for its end.
const PATIENCE: Duration = Duration::from_secs(60);
/// What was leased when the primary died comes again after this.
const LEASE: Duration = Duration::from_secs(5);
/// How many pushes there are before the primary dies, and after the first one that its replica took.
const BEFORE: usize = 300;
const AFTER: usize = 300;
/// How many pushes go between two looks at what the replica has.
const HELD_EACH: usize = 20;

/// What became of the pushes, each by its number.
#[derive(Default)]
struct Pushed {
    acknowledged: AtomicUsize,
    /// Acknowledged, and certain to be on the server that lives on.
    held: Mutex<BTreeSet<u32>>,
    first_after: Mutex<Option<Instant>>,
}

/// Waits until the replica has all that the primary has acknowledged so far.
fn replicate(primary: &mut Connection) -> redis::RedisResult<()> {
    // WAIT waits for its own connection's writes, and so for all before them.
    redis::cmd("SET").arg("mark").arg(1).exec(primary)?;
    let wait = redis::cmd("WAIT")
        .arg(1)
        .arg(30_000)
        .query::<u32>(primary)?;
    assert_eq!(wait, 1, "the replica is connected");
    Ok(())
}

async fn produce(
    queue: Arc<dyn ReliableQueue>,
    mut primary: Connection,
    killed: Arc<AtomicBool>,
    pushed: Arc<Pushed>,
) {
    let (mut fresh, mut after, mut number) = (Vec::new(), 0, 0_u32);
    while after < AFTER {
        let is_after = killed.load(Ordering::Acquire);
        let push = queue.push_one(number.to_string()).await;
        match push {
            Ok(_) if is_after => {
                after += 1;
                pushed.held.lock().expect("no panic").insert(number);
                let mut first = pushed.first_after.lock().expect("no panic");
                first.get_or_insert_with(Instant::now);
            }
            Ok(_) => fresh.push(number),
            Err(error) => assert!(error.is_transient(), "{error:?}"),
        }
        if is_time_to_look(&fresh) && !killed.load(Ordering::Acquire) {
            let marked;
            (primary, marked) = tokio::task::spawn_blocking(move || {
                let marked = replicate(&mut primary);
                (primary, marked)
            })
            .await
            .expect("no panic");
            // The primary may have died meanwhile: then nobody knows.
            if marked.is_ok() {
                pushed
                    .held
                    .lock()
                    .expect("no panic")
                    .extend(fresh.drain(..));
            }
        }
        pushed
            .acknowledged
            .store(number as usize, Ordering::Release);
        number += 1;
    }
}

fn is_time_to_look(fresh: &[u32]) -> bool {
    fresh.len() >= HELD_EACH
}

async fn consume(
    queue: Arc<dyn ReliableQueue>,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<BTreeSet<u32>>>,
) {
    while !stop.load(Ordering::Acquire) {
        let delivery = match queue.receive_one(LEASE, Duration::from_millis(500)).await {
            Ok(Some(delivery)) => delivery,
            Ok(None) => continue,
            Err(error) => {
                assert!(error.is_transient(), "{error:?}");
                continue;
            }
        };
        let number = std::str::from_utf8(&delivery.body).expect("a number");
        let number = number.parse().expect("a number");
        seen.lock().expect("no panic").insert(number);
        // Lost with its primary, the message comes again.
        let _ = queue.ack(delivery.receipt).await;
    }
}

/// Three sentinels that fail over a second after the primary has gone, or a little later.
async fn sentinels(primary: &Server) -> Result<Vec<Server>, ServerError> {
    let sentinels: Vec<Server> = (0..3)
        .map(|_| {
            watching(primary, 2)?
                .with_line("sentinel down-after-milliseconds orders 1000")
                .with_line("sentinel failover-timeout orders 10000")
                .start()
        })
        .collect::<Result<_, _>>()?;
    for sentinel in &sentinels {
        until("the sentinels know each other, and the replica", || {
            let known = command(sentinel, &["INFO", "sentinel"]);
            let known: String = redis::from_redis_value(known).expect("text");
            known.contains("slaves=1,sentinels=3")
        })
        .await;
    }
    Ok(sentinels)
}

#[tokio::test]
async fn a_connect_that_meets_a_frozen_primary_ends_at_its_successor() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_tcp().with_primary(&primary)?;
    let replica = replica.start()?;
    let sentinels = sentinels(&primary).await?;
    primary.freeze()?;
    // One try, which begins while every sentinel still names the frozen one.
    let sentinels: Vec<&Server> = sentinels.iter().collect();
    let builder = RedisBackend::builder(&url(&sentinels))?;
    let backend = builder.connect_timeout(PATIENCE).connect().await?;
    open(&backend).await?.push_one("yes").await?;
    let there = command(&replica, &["EXISTS", "qk:{q}:ready"]);
    assert_eq!(there, redis::Value::Int(1));
    primary.thaw()?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn producers_and_consumers_go_on_with_the_next_primary() -> Test {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_tcp().with_primary(&primary)?;
    let replica = replica.start()?;
    let sentinels = sentinels(&primary).await?;
    let sentinels: Vec<&Server> = sentinels.iter().collect();
    let connect = || async {
        let builder = RedisBackend::builder(&url(&sentinels))?;
        builder.response_timeout(PATIENCE).connect().await
    };
    let (producer, consumer) = (connect().await?, connect().await?);
    let (killed, stop) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (pushed, seen) = (Arc::<Pushed>::default(), Arc::default());
    let producing = tokio::spawn(produce(
        open(&producer).await?,
        primary.connect()?,
        Arc::clone(&killed),
        Arc::clone(&pushed),
    ));
    let queue = open(&consumer).await?;
    let (stopped, consumed) = (Arc::clone(&stop), Arc::clone(&seen));
    let consuming = tokio::spawn(consume(Arc::clone(&queue), stopped, consumed));

    until("it is under load", || {
        pushed.acknowledged.load(Ordering::Acquire) >= BEFORE
    })
    .await;
    let at = Instant::now();
    primary.kill()?;
    killed.store(true, Ordering::Release);
    tokio::time::timeout(3 * PATIENCE, producing).await??;
    let first = *pushed.first_after.lock().expect("no panic");
    println!(
        "the first good push came {:?} after the primary was killed",
        first.expect("there were pushes").duration_since(at)
    );

    let held = pushed.held.lock().expect("no panic").clone();
    assert!(held.len() >= BEFORE / 2 + AFTER, "{}", held.len());
    until("all that was held is consumed", || {
        held.is_subset(&seen.lock().expect("no panic"))
    })
    .await;
    stop.store(true, Ordering::Release);
    consuming.await?;
    let info = command(&replica, &["INFO", "replication"]);
    let info: String = redis::from_redis_value(info)?;
    assert!(info.contains("role:master"), "{info}");
    Ok(())
}
