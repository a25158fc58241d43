//! One wait serves all calls that were answered before it.

use std::sync::Arc;

use futures_util::future::try_join_all;
use queue_core::*;
use tokio::task::JoinSet;

use super::{
    LONG, Pair, Reliable, Test, by_a_replica, confirming, open::open, safe_pair, until::until,
};

async fn push_all(safe: &Reliable, count: usize) -> Result<Vec<u64>> {
    let pushes = (0..count).map(|_| safe.confirmed(|safe| safe.push_one("hello")));
    let pushed = try_join_all(pushes).await?;
    let ids = pushed.into_iter().map(|pushed| {
        assert!(pushed.is_confirmed(), "{}", pushed.copies);
        pushed.answer.id().expect("accepted").get()
    });
    Ok(ids.collect())
}

#[tokio::test]
async fn pushes_that_travel_together_share_one_wait() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    push_all(&safe, 1).await?;
    let before = pair.primary.command_counts()?;
    let mut ids = push_all(&safe, 100).await?;
    ids.sort_unstable();
    assert_eq!(ids, (2..=101).collect::<Vec<_>>());
    let counts = pair.primary.command_counts()?.since(&before);
    // One wait for the first push, and one for the pushes that came meanwhile.
    assert_eq!(
        (counts.of("evalsha"), counts.of("wait")),
        (2, 2),
        "{counts:?}"
    );
    Ok(())
}

#[tokio::test]
async fn pushes_that_come_during_a_wait_go_together_in_the_next() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    let before = pair.primary.command_counts()?;
    pair.replica.freeze()?;
    let first = tokio::spawn({
        let safe = Arc::clone(&safe);
        async move { push_all(&safe, 1).await }
    });
    pair.until_one_waits().await;
    let others = tokio::spawn({
        let safe = Arc::clone(&safe);
        async move { push_all(&safe, 100).await }
    });
    tokio::task::yield_now().await;
    pair.replica.thaw()?;
    assert_eq!(first.await??, [1]);
    assert_eq!(others.await??.len(), 100);
    let counts = pair.primary.command_counts()?.since(&before);
    // The first, one that came alone, and the rest.
    let (pushes, waits) = (counts.of("evalsha"), counts.of("wait"));
    assert!(pushes <= 3 && waits <= 3, "{counts:?}");
    Ok(())
}

#[tokio::test]
async fn queues_of_one_backend_share_its_waits() -> Test {
    let pair = Pair::start()?;
    let backend = pair.connect().await?.confirmed(by_a_replica()).await?;
    let mut queues = Vec::new();
    for number in 0..50 {
        let name = QueueName::new(format!("q{number}"))?;
        let config = ReliableConfig::default();
        queues.push(backend.open_reliable(&name, &config).await?);
    }
    let first = Arc::clone(&queues[0]);
    let before = pair.primary.command_counts()?;
    pair.replica.freeze()?;
    let first = tokio::spawn(async move { push_all(&first, 1).await });
    pair.until_one_waits().await;
    let others =
        tokio::spawn(
            async move { try_join_all(queues.iter().map(|queue| push_all(queue, 1))).await },
        );
    tokio::task::yield_now().await;
    pair.replica.thaw()?;
    assert_eq!(first.await??, [1]);
    assert_eq!(others.await??.len(), 50);
    let counts = pair.primary.command_counts()?.since(&before);
    assert_eq!(counts.of("evalsha"), 51);
    assert!(counts.of("wait") < 51, "{counts:?}");
    Ok(())
}

#[tokio::test]
async fn a_push_costs_one_round_trip_more() -> Test {
    let (pair, _, safe) = safe_pair().await?;
    push_all(&safe, 2).await?;
    let before = pair.primary.command_counts()?;
    let pushed = safe.confirmed(|safe| safe.push_one("hello")).await?;
    assert!(pushed.is_confirmed());
    let counts = pair.primary.command_counts()?.since(&before);
    let sent = ["evalsha", "eval", "wait", "ping"].map(|command| counts.of(command));
    assert_eq!(sent, [1, 1, 1, 0]);
    Ok(())
}

#[tokio::test]
async fn confirming_and_plain_handles_are_woken_by_separate_channels() -> Test {
    let pair = Pair::start()?;
    let backend = pair.connect().await?;
    let handles = [
        open(&backend, "q").await?,
        confirming(&backend, by_a_replica()).await?,
    ];
    let mut waiting = JoinSet::new();
    for handle in handles {
        waiting.spawn(async move { handle.wait_for_arrival(LONG).await });
    }
    // On a shared channel, each handle would take the wake-ups of the other.
    until("both listen", || {
        let channels = pair.primary.ask(&["PUBSUB", "CHANNELS", "qk:wake:*"]);
        channels.is_ok_and(|channels: Vec<String>| channels.len() == 2)
    })
    .await;
    Ok(())
}
