//! Scripts that the server forgot, and calls that share a round trip.

use std::{collections::BTreeSet, num::NonZeroUsize, sync::Arc, time::Duration};

use futures_util::FutureExt;
use queue_core::{Leased, LeasingExt, Push, Settled, Settlement};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use super::{Queue, Test, fresh, until::PATIENCE};

/// Starts `count` pushes at the same time.
fn push(set: &mut JoinSet<queue_core::Result<u64>>, queue: &Queue, count: usize) {
    for _ in 0..count {
        let queue = Arc::clone(queue);
        set.spawn(async move { Ok(queue.push_one("hello").await?.id().expect("accepted").get()) });
    }
}

#[tokio::test]
async fn scripts_that_are_forgotten_in_mid_flight_are_loaded_again() -> Test {
    let (server, queue) = fresh().await?;
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        let mut set = JoinSet::new();
        push(&mut set, &queue, 10);
        server.ask::<()>(&["SCRIPT", "FLUSH"])?;
        while let Some(id) = set.join_next().await {
            assert!(ids.insert(id??), "each push is a message of its own");
        }
    }
    assert_eq!(ids.len(), 200);
    assert_eq!(queue.depth().await?.ready, 200);
    Ok(())
}

#[tokio::test]
async fn pushes_at_the_same_time_travel_together() -> Test {
    let (server, queue) = fresh().await?;
    let _ = queue.push_one("first").await?;
    let before = server.command_counts()?;
    let mut set = JoinSet::new();
    push(&mut set, &queue, 64);
    let mut ids = BTreeSet::new();
    while let Some(id) = set.join_next().await {
        assert!(ids.insert(id??));
    }
    assert_eq!(ids, (2..=65).collect());
    // One call for the first push, and one for the 63 that came meanwhile.
    assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 2);

    let before = server.command_counts()?;
    let _ = queue.push_one("alone").await?;
    let one = server.command_counts()?.since(&before);
    assert_eq!(one.of("evalsha"), 1);
    Ok(())
}

const LEASE: Duration = Duration::from_secs(60);

/// Runs these `settle_and_lease` calls at the same time. Each settles its settlements, and leases one
/// message if asked to.
async fn settle_and_lease_together(
    queue: &Queue,
    settlements: Vec<Vec<Settlement>>,
) -> queue_core::Result<Vec<(Vec<Settled>, Leased)>> {
    let calls = settlements.into_iter().map(|settlements| {
        let queue = Arc::clone(queue);
        async move {
            queue
                .settle_and_lease(&settlements, NonZeroUsize::MIN, LEASE, None)
                .await
        }
    });
    futures_util::future::try_join_all(calls).await
}

#[tokio::test]
async fn settle_and_leases_at_the_same_time_share_a_call() -> Test {
    let (server, queue) = fresh().await?;
    for first in [1, 101] {
        let messages: Vec<Push> = (first..first + 100)
            .map(|n| Push::new(n.to_string()))
            .collect();
        queue.push(&messages).await?;
    }
    let mut settlements = vec![Vec::new(); 64];
    for round in 0..3_u64 {
        let before = server.command_counts()?;
        let calls = settle_and_lease_together(&queue, settlements).await?;
        // One call each for the first two and one for the 62 that came meanwhile; after other calls, one
        // call for all but the first.
        let sent = server.command_counts()?.since(&before).of("evalsha");
        assert!(sent <= 3, "round {round}: {sent}");
        // Each caller gets its own answer and its own message, in the order of the calls.
        let ids: Vec<_> = calls
            .iter()
            .map(|(_, leased)| leased.deliveries[0].id().get())
            .collect();
        let expected: Vec<_> = (64 * round + 1..=64 * round + 64).collect();
        assert_eq!(ids, expected);
        for (settled, leased) in &calls {
            assert_eq!(settled.len(), usize::from(round > 0));
            assert!(settled.iter().all(|settled| *settled == Settled::Done));
            assert_eq!((leased.deliveries.len(), leased.next), (1, None));
        }
        let ack = |leased: &Leased| vec![Settlement::ack(leased.deliveries[0].receipt)];
        settlements = calls.iter().map(|(_, leased)| ack(leased)).collect();
    }

    // Eight messages are left for 64 callers, so that no caller's share exceeds what is there.
    let calls = settle_and_lease_together(&queue, settlements).await?;
    let ids = calls.iter().flat_map(|(_, leased)| &leased.deliveries);
    let ids: BTreeSet<_> = ids.map(|delivery| delivery.id().get()).collect();
    assert_eq!(ids, (193..=200).collect());
    for (settled, leased) in &calls {
        assert_eq!(*settled, [Settled::Done]);
        let next = leased.next.is_some();
        assert_eq!(
            next,
            leased.is_empty(),
            "only a caller without a message waits"
        );
    }
    let counters = queue.counters().await?;
    assert_eq!((counters.acked, counters.depth.leased), (192, 8));
    Ok(())
}

#[tokio::test]
async fn acks_at_the_same_time_share_a_call_and_only_the_holder_of_a_lost_lease_learns_of_it()
-> Test {
    let (server, queue) = fresh().await?;
    queue.push(&vec![Push::new("hello"); 64]).await?;
    let some = NonZeroUsize::new(64).expect("it is not 0");
    let leased = queue.lease(some, LEASE).await?;
    let lost = leased.deliveries[7].receipt;
    let settled = queue.settle_one(Settlement::ack(lost)).await?;
    assert_eq!(settled, Settled::Done);
    let before = server.command_counts()?;
    let acks = leased.deliveries.iter().map(|delivery| {
        let (queue, receipt) = (Arc::clone(&queue), delivery.receipt);
        async move { queue.settle(&[Settlement::ack(receipt)]).await }
    });
    let settled = futures_util::future::try_join_all(acks).await?;
    assert_eq!(server.command_counts()?.since(&before).of("evalsha"), 3);
    for (settled, delivery) in settled.iter().zip(&leased.deliveries) {
        let expected = match delivery.receipt == lost {
            true => Settled::LeaseLost,
            false => Settled::Done,
        };
        assert_eq!(*settled, [expected]);
    }
    Ok(())
}

#[tokio::test]
async fn settle_and_leases_of_different_terms_are_calls_of_their_own() -> Test {
    let (_server, queue) = fresh().await?;
    queue.push(&vec![Push::new("hello"); 8]).await?;
    let calls = (1..=8).map(|n| {
        let (queue, lease_time) = (Arc::clone(&queue), LEASE * n);
        async move {
            let leased = queue.lease(NonZeroUsize::MIN, lease_time).await?;
            Ok::<_, queue_core::Error>((lease_time, leased))
        }
    });
    for (lease_time, leased) in futures_util::future::try_join_all(calls).await? {
        assert_eq!(leased.deliveries[0].time_left, lease_time);
    }
    Ok(())
}

#[tokio::test]
async fn a_message_for_a_dropped_caller_is_released_at_once() -> Test {
    let (_server, queue) = fresh().await?;
    queue.push(&vec![Push::new("hello"); 3]).await?;
    let mut first = Box::pin(queue.lease(NonZeroUsize::MIN, LEASE));
    let mut second = Box::pin(queue.lease(NonZeroUsize::MIN, LEASE));
    let mut third = Box::pin(queue.lease(NonZeroUsize::MIN, LEASE));
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    assert_eq!(first.await?.deliveries.len(), 1);
    assert_eq!(second.await?.deliveries.len(), 1);
    // The third call is sent when the second ends, although nobody polls its future any more.
    let start = Instant::now();
    while queue.depth().await?.leased < 3 {
        assert!(start.elapsed() < PATIENCE, "the third is sent");
    }
    drop(third);
    while queue.depth().await?.leased == 3 {
        assert!(start.elapsed() < PATIENCE, "its message is released");
    }
    let counters = queue.counters().await?;
    assert_eq!((counters.released, counters.expired), (1, 0));
    let again = queue.lease(NonZeroUsize::MIN, LEASE).await?;
    assert_eq!(again.deliveries[0].attempt, 1, "it costs no attempt");
    Ok(())
}

#[tokio::test]
async fn dropped_pushes_lose_nothing_of_the_others() -> Test {
    let (server, queue) = fresh().await?;
    for round in 0_u64..20 {
        let mut set = JoinSet::new();
        // The pushes are sent while nothing answers, so that they are dropped before, during and
        // after their calls.
        server.freeze()?;
        for n in 0..32_u64 {
            let queue = Arc::clone(&queue);
            let patience = Duration::from_millis(n % 4 * (round % 3));
            set.spawn(async move {
                let push = queue.push_one("hello");
                if n.is_multiple_of(2) {
                    return push.await.is_ok();
                }
                matches!(timeout(patience, push).await, Ok(Ok(_)))
            });
        }
        sleep(Duration::from_millis(3)).await;
        server.thaw()?;
        let mut confirmed = 0;
        while let Some(pushed) = set.join_next().await {
            confirmed += u64::from(pushed?);
        }
        // All awaited pushes are in the queue; each dropped one is there once or not at all.
        assert!(confirmed >= 16, "{confirmed}");
        let depth = queue.depth().await?.ready;
        assert!((confirmed..=32).contains(&depth), "{confirmed} of {depth}");
        let counters = queue.counters().await?;
        assert_eq!(counters.accepted, counters.purged + depth);
        let max = std::num::NonZeroUsize::new(1_000).expect("it is not 0");
        assert_eq!(queue.purge(max).await?, depth);
    }
    Ok(())
}
