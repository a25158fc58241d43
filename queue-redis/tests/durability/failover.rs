//! A replica falls behind, the primary dies, and the replica takes its place.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use futures_util::future;
use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::{Aof, Server};

use super::{Pair, Reliable, SOON, Test, by_a_replica, confirming, open::open, until::until};

/// How many pushes there are of each sort.
const EACH: usize = 20;
/// A larger body is stored out of line, before its push.
const LARGE: usize = 64 * 1024;

/// A replica that restarts as a primary from its disk, with the writes that it had executed before it was
/// killed. Bytes that the kernel holds for a frozen process are lost, as if its machine had stopped.
fn pair() -> Result<Pair, Box<dyn std::error::Error>> {
    let primary = Server::builder().with_tcp().start()?;
    let replica = Server::builder().with_aof(Aof::Always).start()?;
    let port = primary.port().expect("it has a port").to_string();
    replica.ask::<()>(&["REPLICAOF", "127.0.0.1", &port])?;
    Ok(Pair { primary, replica })
}

/// Whether the replica follows, and writes all that it receives to its file.
fn follows(replica: &Server) -> bool {
    let info: String = replica.ask(&["INFO"]).expect("text");
    [
        "master_link_status:up",
        "aof_rewrite_in_progress:0",
        "aof_rewrite_scheduled:0",
    ]
    .iter()
    .all(|line| info.contains(line))
}

fn bodies(count: usize, from: usize) -> impl Iterator<Item = Push> {
    (from..from + count).map(|number| {
        let filler = if number % 5 == 0 { LARGE } else { 0 };
        Push::new(format!("{number} {}", "x".repeat(filler)))
    })
}

/// The numbers of the bodies that are in the queue.
async fn there(queue: &Reliable) -> Result<BTreeSet<usize>> {
    let all = queue.peek(Place::Ready, Page::first(1000)).await?;
    assert_eq!(all.next, None, "one page has all");
    let numbers = all.entries.iter().map(|shown| {
        let body = String::from_utf8_lossy(&shown.message.body).into_owned();
        let (number, filler) = body.split_once(' ').expect("a number");
        let number = number.parse().expect("a number");
        assert_eq!(filler.len(), if number % 5 == 0 { LARGE } else { 0 });
        number
    });
    Ok(numbers.collect())
}

#[tokio::test]
async fn a_failover_keeps_confirmed_pushes_and_loses_unconfirmed_ones() -> Test {
    let Pair { primary, replica } = pair()?;
    until("the replica follows", || follows(&replica)).await;
    let backend = RedisBackend::connect(&primary.url()).await?;
    let plain = open(&backend, "q").await?;
    let safe = confirming(&backend, by_a_replica()).await?;
    let hasty = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;

    let mut confirmed = BTreeSet::new();
    for (number, push) in bodies(EACH, 0).enumerate() {
        let pushed = safe.confirmed(|safe| safe.push_one(push)).await?;
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
        confirmed.insert(number);
    }
    replica.freeze()?;
    for push in bodies(EACH, 100) {
        // These pushes are acknowledged: the caller of a plain push learns no more.
        let _ = plain.push_one(push).await?;
    }
    for push in bodies(3, 200) {
        let pushed = hasty.confirmed(|hasty| hasty.push_one(push)).await?;
        assert!(!pushed.is_confirmed());
    }
    assert_eq!(there(&plain).await?.len(), 2 * EACH + 3);

    primary.kill()?;
    replica.kill()?;
    replica.start_again()?;
    let survivor = RedisBackend::connect(&replica.url()).await?;
    assert_eq!(there(&open(&survivor, "q").await?).await?, confirmed);
    Ok(())
}

#[tokio::test]
async fn pushes_confirmed_under_load_survive_a_failover() -> Test {
    let Pair { primary, replica } = pair()?;
    until("the replica follows", || follows(&replica)).await;
    let backend = RedisBackend::connect(&primary.url()).await?;
    let safe = confirming(&backend, Confirmation::replicas(1).within(SOON)).await?;
    let (frozen, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    let produce = async |producer: usize| {
        let mut confirmed = BTreeSet::new();
        for (number, push) in (1000 * producer..).zip(bodies(1000, 1000 * producer)) {
            let pushed = safe.confirmed(|safe| safe.push_one(push)).await?;
            if pushed.is_confirmed() {
                confirmed.insert(number);
                count.fetch_add(1, Ordering::Relaxed);
            } else if frozen.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok::<_, Error>(confirmed)
    };
    let freeze = async {
        until("some are confirmed", || count.load(Ordering::Relaxed) >= 40).await;
        replica.freeze().expect("it runs");
        frozen.store(true, Ordering::Relaxed);
    };
    let producers = future::try_join_all((0..4).map(produce));
    let (confirmed, ()) = future::join(producers, freeze).await;
    let confirmed: BTreeSet<_> = confirmed?.into_iter().flatten().collect();

    primary.kill()?;
    replica.kill()?;
    replica.start_again()?;
    let survivor = RedisBackend::connect(&replica.url()).await?;
    let there = there(&open(&survivor, "q").await?).await?;
    assert!(there.is_superset(&confirmed), "{confirmed:?} and {there:?}");
    assert!(confirmed.len() >= 40);
    Ok(())
}
