//! Each setting keeps the earlier settings.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::ground::{Ground, SOON, START, leasing, push};

const HOUR: Duration = Duration::from_secs(3_600);

/// The beginnings of the data on the server after the queue `q` of this recipe has taken `m`.
async fn stands(recipe: impl Recipe, expected: &[&str]) {
    let ground = Ground::start().await;
    let name = format!("{recipe:?}");
    let queue = ground.open(recipe, "q").await;
    match &queue {
        AnyQueue::Rotating(ring) => {
            let rotated = ring.rotate(1.try_into().expect("not zero")).await;
            assert_eq!(rotated.expect("it rotates").next, Some(SOON), "{name}");
            ring.insert_one("m").await.map(drop).expect("it inserts");
        }
        AnyQueue::Bounded(_) => push(&queue, &["m"]).await,
        _ => {
            let leased = leasing(&queue)
                .lease(1.try_into().expect("not zero"), HOUR)
                .await;
            assert!(leased.expect("it polls").next.is_some(), "{name}");
            push(&queue, &["m"]).await;
        }
    }
    let dump = ground.dump();
    let mut both = dump.iter().zip(expected);
    let stands = dump.len() == expected.len() && both.all(|(line, with)| line.starts_with(with));
    assert!(stands, "{name}: {dump:?}");
}

#[tokio::test]
async fn a_configured_key_replaces_the_name_of_the_queue() {
    let list = ["list k: m"];
    stands(BlockingList::default().key("k").timeout(HOUR), &list).await;
    let private = PrivateBackup::of_client("w7").key("k").timeout(HOUR);
    stands(private, &list).await;
    let shared = SharedBackup::default().key("k");
    stands(shared.with_checker(HOUR).poll(SOON), &list).await;
    stands(
        Stream::consumer("w7").key("k").poll(SOON),
        &["stream k: body=m"],
    )
    .await;
    stands(FixedLength::trim().key("k"), &list).await;
    stands(KeyLock::default().key("k"), &list).await;
    stands(Rotation::default().key("k").poll(SOON), &list).await;
    let zset = format!("zset k: {START} m");
    let distinct = DistinctZset::default().key("k").add_first();
    stands(distinct, &[&zset]).await;
    let levels = PriorityLists::default().levels([(0, "level")]);
    stands(levels.timeout(HOUR), &["list {q}:level: m"]).await;
    let string = ZsetString::default().key("k").prefix("p").num(7);
    let string = string.unit(Duration::from_millis(1)).previous(5 * SOON);
    let zset = format!("zset k: {} p_", START - 50);
    stands(string.poll(SOON), &[&zset, "string p_"]).await;
    let topic = WaitActive::default().topic("t").tick(HOUR).batch(9);
    let topic = topic.without_distributor().timeout(HOUR);
    let wait = [
        "set delay:meta:topic:wait: delay:wait:t",
        "zset delay:wait:t: ",
    ];
    stands(topic, &wait).await;
}
