//! A group keeps its order through a transfer.

use std::time::Duration;

use queue_core::*;
use queue_ops::{import, move_messages};

use crate::setting::{HOUR, backends, drained, exported, open, peeked};

async fn put(queue: &AnyQueue, group: &str, bodies: &[&str]) {
    let AnyQueue::Grouped(queue) = queue else {
        panic!("a grouped queue")
    };
    for body in bodies {
        queue
            .push_one(Push::from((*body).to_owned()).with_group(group.to_owned()))
            .await
            .unwrap()
            .id()
            .unwrap();
    }
}

async fn delivered(queue: &AnyQueue) -> Delivery {
    let leasing = queue.leasing().unwrap();
    let delivery = leasing.receive_one(HOUR, Duration::ZERO).await.unwrap();
    delivery.expect("a message is ready")
}

async fn settle(queue: &AnyQueue, settlement: Settlement) {
    let leasing = queue.leasing().unwrap();
    leasing.settle(&[settlement]).await.unwrap();
}

#[tokio::test]
async fn a_strict_group_whose_first_message_waits_for_its_retry_keeps_its_order() {
    for (backend, _server) in backends().await {
        let config = QueueConfig::from(GroupedConfig::default());
        for (nth, settlement) in [
            |receipt| Settlement::retry_because(receipt, HOUR, "no paper"),
            |receipt| Settlement::defer(receipt, HOUR),
        ]
        .into_iter()
        .enumerate()
        {
            let name = |name: &str| format!("{name}-{nth}");
            let old = open(&*backend, &name("old"), &config).await;
            put(&old, "a", &["a1", "a2", "a3"]).await;
            let first = delivered(&old).await;
            settle(&old, settlement(first.receipt)).await;
            put(&old, "b", &["b1", "b2"]).await;
            // Joins its group when it is due, so it holds up nothing, and stays delayed.
            let AnyQueue::Grouped(queue) = &old else {
                panic!("a grouped queue")
            };
            let later = Push::new("a4").with_due(HOUR);
            queue
                .push_one(later.with_group("a"))
                .await
                .unwrap()
                .id()
                .unwrap();

            let read = open(&*backend, &name("read"), &config).await;
            let messages = exported(&*backend, &name("old")).await;
            let firsts = messages.iter().filter(|one| one.is_first_of_group);
            assert_eq!(firsts.count(), 1);
            import(&*backend, &name("read"), "t", &messages)
                .await
                .unwrap();
            old.leasing().unwrap().pause().await.unwrap();
            let new = open(&*backend, &name("new"), &config).await;
            let moved =
                move_messages(&*backend, &name("old"), &name("new"), "t", &mut |_| ()).await;
            let moved = moved.unwrap();
            assert_eq!((moved.pushed, moved.stay), (6, 0), "{moved:?}");
            for queue in [&read, &new] {
                let delayed = peeked(queue, Place::Delayed).await;
                assert_eq!(delayed.len(), 1);
                assert_eq!(delayed[0].message.body, "a4");
                let order = drained(queue).await;
                for (group, expected) in
                    [("a", ["a1", "a2", "a3"].as_slice()), ("b", &["b1", "b2"])]
                {
                    let own: Vec<_> = order.iter().filter(|one| one.starts_with(group)).collect();
                    assert_eq!(own, expected, "{order:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_group_that_hands_out_nothing_stays_and_the_others_are_moved() {
    for (backend, _server) in backends().await {
        let config = GroupedConfig::default().with_on_death(OnDeath::Park);
        let config = QueueConfig::from(config);
        let old = open(&*backend, "old", &config).await;
        put(&old, "leased", &["l1", "l2", "l3"]).await;
        let held = delivered(&old).await;
        put(&old, "parked", &["p1", "p2"]).await;
        let dying = delivered(&old).await;
        settle(&old, Settlement::bury(dying.receipt, "no customer")).await;
        put(&old, "paused", &["z1"]).await;
        put(&old, "runs", &["r1", "r2"]).await;
        let AnyQueue::Grouped(grouped) = &old else {
            panic!("a grouped queue")
        };
        grouped
            .change_group("paused".into(), GroupChange::Pause(HOUR))
            .await
            .unwrap();
        // A file holds the leased message as the first of its group.
        let messages = exported(&*backend, "old").await;
        let bodies = messages
            .iter()
            .filter(|one| one.group.as_ref().unwrap().bytes().unwrap() == "leased");
        let bodies: Vec<Bytes> = bodies.map(|one| one.body.bytes().unwrap()).collect();
        assert_eq!(bodies, ["l1", "l2", "l3"]);

        let new = open(&*backend, "new", &config).await;
        let leasing = old.leasing().unwrap();
        leasing.pause().await.unwrap();
        let go = async || {
            let moved = move_messages(&*backend, "old", "new", "t", &mut |_| ()).await;
            let moved = moved.unwrap();
            (moved.pushed, moved.stay)
        };
        assert_eq!(go().await, (2, 4));
        assert_eq!(drained(&new).await, ["r1", "r2"]);
        let resumed = GroupChange::Resume;
        for group in ["parked", "paused"] {
            let group = Bytes::from(group);
            grouped.change_group(group, resumed.clone()).await.unwrap();
        }
        settle(&old, Settlement::release(held.receipt)).await;
        assert_eq!(go().await, (5, 0), "none of them stays for ever");
        let order = drained(&new).await;
        let own: Vec<_> = order.iter().filter(|one| one.starts_with('l')).collect();
        assert_eq!(own, ["l1", "l2", "l3"]);
        let depth = leasing.depth().await.unwrap();
        assert_eq!((depth.occupied(), depth.dead), (0, 1));
    }
}
