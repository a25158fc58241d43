//! D5: a waiting consumer has a message when it is due.

use queue_core::{Rescheduled::Moved, *};

use super::later;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

pub(crate) async fn d5_a_waiting_consumer_has_a_message_when_it_is_due(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(60)).await;
    let waiting = stage.receiver(&queue).await;
    let delivery = stage
        .within("a receive at the due time", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(1));
    // The next consumer knows of no due time when it begins to wait.
    let waiting = stage.receiver(&queue).await;
    queue.put(later(60)).await;
    let delivery = stage
        .within("a receive at the due time", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(2));
}

pub(crate) async fn d5_a_sooner_message_wakes_who_sleeps_towards_a_later(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    queue.put(later(500_000)).await;
    queue.put(later(60)).await;
    let delivery = stage
        .within("a receive of the sooner", ms(60), waiting)
        .await;
    assert_eq!(delivery.id(), id(3));
}

pub(crate) async fn d5_a_message_due_now_wakes_who_sleeps_towards_a_later(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    queue.put("x").await;
    let delivery = stage.prompt("a receive of what is ready", waiting).await;
    assert_eq!(delivery.id(), id(2));
}

pub(crate) async fn d5_all_that_is_due_at_once_wakes_as_many(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(stage.receiver(&queue).await);
    }
    let batch = vec![later(60); 4];
    queue.try_put(&batch).await.expect("is accepted");
    let mut after = ms(60);
    let mut seen = Vec::new();
    for task in waiting {
        let delivery = stage.within("one of four", after, task).await;
        seen.push(delivery.id().get());
        after = ms(0);
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 4]);
}

pub(crate) async fn d5_a_message_rescheduled_sooner_wakes_in_time(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    queue.put(later(1_000_000)).await;
    let waiting = stage.receiver(&queue).await;
    assert_eq!(reschedule(&*queue, &[1], ms(60)).await, [Moved]);
    stage
        .within("a receive of the rescheduled", ms(60), waiting)
        .await;
}

pub(crate) async fn d5_a_dropped_waiter_leaves_its_watch_to_another(stage: &Stage<'_>) {
    // The waiter may be dropped with its lease under way.
    stage.needs_rule("L8");
    let queue = stage.leasing().await;
    for (first_is_dropped, asleep) in [(true, 0), (false, 0), (true, 20), (false, 20)] {
        // Neither consumer knows of a due time when it begins to wait.
        let first = stage.receiver(&queue).await;
        let second = stage.receiver(&queue).await;
        let scheduled = queue.put(later(60)).await;
        let (dropped, kept) = match first_is_dropped {
            true => (first, second),
            false => (second, first),
        };
        // One consumer may know the due time, and sleep towards it.
        stage.advance(asleep).await;
        dropped.abort();
        if let Ok(delivery) = dropped.await {
            // The machine was so slow that the message came before the drop.
            settle_live(&*queue, Settlement::release(delivery.receipt)).await;
        }
        let got = stage
            .within("the receive that was kept", ms(60 - asleep), kept)
            .await;
        assert_eq!(got.id(), scheduled);
    }
}

pub(crate) async fn d5_who_takes_another_leaves_its_watch(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    let receivers = [
        stage.receiver(&queue).await,
        stage.receiver(&queue).await,
        stage.receiver(&queue).await,
    ];
    // The messages come in one batch, so that the notified consumer takes the due one, and no other consumer learns of
    // the rest.
    let batch = [60, 30, 0].map(later);
    queue.try_put(&batch).await.expect("is accepted");
    let mut seen = Vec::new();
    for receiver in receivers {
        seen.push(
            stage
                .within("each of three", ms(60), receiver)
                .await
                .id()
                .get(),
        );
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

pub(crate) async fn d5_who_gives_up_leaves_its_watch_to_another(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for gives_up_first in [true, false] {
        let gives_up = {
            let queue = queue.clone();
            async move { queue.receive_one(LONG, ms(40)).await }
        };
        let (quitter, kept) = if gives_up_first {
            let quitter = stage.start(gives_up).await;
            (quitter, stage.receiver(&queue).await)
        } else {
            let kept = stage.receiver(&queue).await;
            (stage.start(gives_up).await, kept)
        };
        let scheduled = queue.put(later(60)).await;
        let got = stage.within("the receive that goes on", ms(60), kept).await;
        assert_eq!(got.id(), scheduled);
        let tried = quitter.await.expect("no panic").expect("is served");
        assert_eq!(tried, None, "it is not due until the other is alone");
    }
}

pub(crate) async fn d5_who_looks_and_goes_leaves_its_watch_to_another(stage: &Stage<'_>) {
    let queue = stage.leasing().await;
    for goes_first in [true, false] {
        let goes = {
            let queue = queue.clone();
            // When notified of the later message, this consumer polls, and then does something else. If it is notified
            // only when that message is due, it leaves the message to the other consumer.
            async move {
                queue.wait_for_arrival(LONG).await.expect("waits");
                for taken in take(&*queue, 1).await {
                    settle_live(&*queue, Settlement::release(taken.receipt)).await;
                }
            }
        };
        let (gone, kept) = if goes_first {
            let gone = stage.start(goes).await;
            (gone, stage.receiver(&queue).await)
        } else {
            let kept = stage.receiver(&queue).await;
            (stage.start(goes).await, kept)
        };
        let scheduled = queue.put(later(60)).await;
        let got = stage.within("the receive that goes on", ms(60), kept).await;
        assert_eq!(got.id(), scheduled);
        gone.abort();
    }
}
