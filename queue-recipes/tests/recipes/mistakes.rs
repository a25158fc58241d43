//! Mistakes of published strategies that our recipes share, and one that they do not.

use std::time::Duration;

use queue_core::*;
use queue_recipes::*;

use crate::ground::{Ground, lease_bodies, taking};

#[tokio::test]
async fn a_score_less_its_priority_fires_early() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetJson::default().with_priority(), "q").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    let urgent = r#"{"priority":2500,"task":1}"#;
    let in_three_seconds = Duration::from_secs(3);
    let _ = delay
        .push_one(Push::new(urgent).with_due(in_three_seconds))
        .await
        .expect("it pushes");
    let _ = delay
        .push_one(Push::new(r#"{"task":2}"#).with_due(in_three_seconds))
        .await
        .expect("it pushes");
    ground.pass(Duration::from_millis(499));
    assert_eq!(lease_bodies(&queue, 9).await, [] as [Bytes; 0]);
    ground.pass(Duration::from_millis(1));
    assert_eq!(
        lease_bodies(&queue, 9).await,
        [urgent],
        "two and a half seconds early"
    );
    ground.pass(Duration::from_millis(2_500));
    assert_eq!(lease_bodies(&queue, 9).await, [r#"{"task":2}"#]);
}

#[tokio::test]
async fn whole_seconds_fire_early() {
    let ground = Ground::start().await;
    let queue = ground.open(ZsetString::default(), "q").await;
    let AnyQueue::Delay(delay) = &queue else {
        panic!("another kind");
    };
    // The push is 600 ms past the second, and the score leaves the fraction out.
    let _ = delay
        .push_one(Push::new("m").with_due(Duration::from_secs(3)))
        .await
        .expect("it pushes");
    ground.pass(Duration::from_millis(2_399));
    assert_eq!(lease_bodies(&queue, 9).await, [] as [Bytes; 0]);
    ground.pass(Duration::from_millis(1));
    assert_eq!(lease_bodies(&queue, 9).await, ["m"], "after 2.4 s of 3");
}

#[tokio::test]
async fn a_body_that_is_gone_costs_no_other_message_of_its_batch() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    for (key, body) in [
        ("queue_data_1", Some("a")),
        ("queue_data_2", None),
        ("queue_data_3", Some("c")),
    ] {
        if let Some(body) = body {
            let _: String = foreign.run(&["SET", key, body]);
        }
        let _: u64 = foreign.run(&["ZADD", "delay_queue", "1", key]);
    }
    let queue = ground.open(ZsetString::default(), "delay_queue").await;
    assert_eq!(lease_bodies(&queue, 9).await, ["a", "c"]);
    ground.holds(&[]);
}

/// A blocked consumer is served while the producer's transaction has only just begun to push.
#[tokio::test]
async fn a_blocked_consumer_of_priorities_gets_what_multi_pushes_first() {
    let ground = Ground::start().await;
    let mut foreign = ground.foreign();
    let queue = ground.open(PriorityLists::default(), "q").await;
    let receiver = taking(&queue);
    ground.until_blocked().await;
    let _: String = foreign.run(&["MULTI"]);
    let _: String = foreign.run(&["LPUSH", "{q}:low", "low"]);
    let _: String = foreign.run(&["LPUSH", "{q}:high", "high"]);
    let _: Vec<u64> = foreign.run(&["EXEC"]);
    let first = receiver.await.expect("no panic");
    assert_eq!(first[0].body, "low");
    assert_eq!(lease_bodies(&queue, 9).await, ["high"]);
}
