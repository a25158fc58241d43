use std::sync::Arc;

use queue_core::*;
use tokio::task::JoinHandle;

use super::schedule;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

async fn receiver(stage: &Stage<'_>, queue: &Arc<dyn DelayQueue>) -> JoinHandle<MessageId> {
    let queue = queue.clone();
    let received = async move {
        let received = queue.receive_one(LONG, LONG).await.expect("receives");
        received.expect("a message").id()
    };
    stage.start(received).await
}

pub(crate) async fn d5_a_waiting_consumer_has_a_message_when_it_is_due(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 60).await;
    let waiting = receiver(stage, &queue).await;
    let got = stage
        .within("a receive at the due time", ms(60), waiting)
        .await;
    assert_eq!(got, id(1));
}

pub(crate) async fn d5_a_message_rescheduled_sooner_wakes_in_time(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    schedule(&queue, 1_000_000).await;
    let waiting = receiver(stage, &queue).await;
    let rescheduled = queue.reschedule(id(1), ms(60).into()).await;
    assert_eq!(rescheduled.expect("reschedules"), Rescheduled::Moved);
    stage
        .within("a receive of the rescheduled", ms(60), waiting)
        .await;
}

pub(crate) async fn d5_a_dropped_waiter_leaves_its_watch_to_another(stage: &Stage<'_>) {
    // The waiter may be dropped with its lease under way.
    stage.needs_rule("L8");
    let queue = stage.delay().await;
    for (first_is_dropped, asleep) in [(true, 0), (false, 0), (true, 20), (false, 20)] {
        // Neither consumer knows of a due time when it begins to wait.
        let first = receiver(stage, &queue).await;
        let second = receiver(stage, &queue).await;
        let scheduled = schedule(&queue, 60).await;
        let (dropped, kept) = match first_is_dropped {
            true => (first, second),
            false => (second, first),
        };
        // One consumer may know the due time, and sleep towards it.
        stage.advance(asleep).await;
        dropped.abort();
        let got = stage
            .within("the receive that was kept", ms(60 - asleep), kept)
            .await;
        assert_eq!(got, scheduled);
    }
}

pub(crate) async fn d5_who_takes_another_leaves_its_watch(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let receivers = [
        receiver(stage, &queue).await,
        receiver(stage, &queue).await,
        receiver(stage, &queue).await,
    ];
    // The messages come in one batch, so that the notified consumer takes the due one, and no other consumer learns of
    // the rest.
    let batch = [60, 30, 0].map(|delay| Scheduled::new("x", ms(delay)));
    queue.schedule(&batch).await.expect("is accepted");
    let mut seen = Vec::new();
    for receiver in receivers {
        seen.push(stage.within("each of three", ms(60), receiver).await.get());
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3]);
}

pub(crate) async fn d5_who_gives_up_leaves_its_watch_to_another(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    for gives_up_first in [true, false] {
        let gives_up = {
            let queue = queue.clone();
            async move { queue.receive_one(LONG, ms(40)).await }
        };
        let (quitter, kept) = if gives_up_first {
            let quitter = stage.start(gives_up).await;
            (quitter, receiver(stage, &queue).await)
        } else {
            let kept = receiver(stage, &queue).await;
            (stage.start(gives_up).await, kept)
        };
        let scheduled = schedule(&queue, 60).await;
        let got = stage.within("the receive that goes on", ms(60), kept).await;
        assert_eq!(got, scheduled);
        let tried = quitter.await.expect("no panic").expect("is served");
        assert_eq!(tried, None, "it is not due until the other is alone");
    }
}

pub(crate) async fn d5_who_looks_and_goes_leaves_its_watch_to_another(stage: &Stage<'_>) {
    let queue = stage.delay().await;
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
            (gone, receiver(stage, &queue).await)
        } else {
            let kept = receiver(stage, &queue).await;
            (stage.start(goes).await, kept)
        };
        let scheduled = schedule(&queue, 60).await;
        let got = stage.within("the receive that goes on", ms(60), kept).await;
        assert_eq!(got, scheduled);
        gone.abort();
    }
}

pub(crate) async fn d5_next_due_is_the_first_undelivered(stage: &Stage<'_>) {
    let queue = stage.delay().await;
    let next = async || queue.next_due().await.expect("answers");
    assert_eq!(next().await, None);
    schedule(&queue, 200).await;
    schedule(&queue, 100).await;
    assert_eq!(next().await, Some(ms(100)));
    stage.advance(100).await;
    assert_eq!(next().await, Some(ms(0)));
    stage.advance(10).await;
    assert_eq!(next().await, Some(ms(0)), "due already");
    take_for(&*queue, 1, ms(50)).await;
    assert_eq!(next().await, Some(ms(90)), "a leased one is not waited for");
    stage.advance(50).await;
    assert_eq!(next().await, Some(ms(0)), "until its lease has expired");
    drain(&*queue).await;
    let cancelled = queue.cancel_one(id(1)).await.expect("cancels");
    assert_eq!(cancelled, Cancelled::Cancelled);
    assert_eq!(next().await, None);
}
