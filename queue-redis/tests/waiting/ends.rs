//! Waits for the result of a message.

use std::{num::NonZeroU32, time::Duration};

use queue_core::{KeptResult, Leasing, LeasingExt, MessageId, Push, Pushed, Settled, Settlement};
use tokio::time::timeout;

use crate::{PATIENCE, Test, two_clients, until};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn an_ack_with_a_result_wakes_every_process_that_waits_for_it() -> Test {
    let (server, here, there) = two_clients().await?;
    let [awaited, other] = [
        here.push_one(Push::new("awaited")).await?,
        here.push_one(Push::new("other")).await?,
    ];
    let wait = |queue: &crate::Queue, id| {
        let queue = std::sync::Arc::clone(queue);
        tokio::spawn(async move { queue.wait_for_end(id, HOUR).await })
    };
    let waits = [
        wait(&here, accepted(awaited)),
        wait(&there, accepted(awaited)),
    ];
    let unconcerned = wait(&there, accepted(other));
    until("all wait", || {
        let keys: Vec<String> = server.ask(&["KEYS", "*end-*"]).expect("it runs");
        let waiting = |key: &String| server.ask::<usize>(&["ZCARD", key]).expect("it runs");
        keys.iter().map(waiting).sum::<usize>() == 3
    })
    .await;
    let delivery = here
        .receive_one(HOUR, PATIENCE)
        .await?
        .expect("it was pushed");
    let result = KeptResult::new("done", HOUR).with_at_most(NonZeroU32::MIN);
    let ack = Settlement::ack_with(delivery.receipt, result);
    assert_eq!(here.settle_one(ack).await?, Settled::Done);
    // Nothing else ends these waits: the clients do not poll on their timers.
    for wait in waits {
        timeout(PATIENCE, wait).await???;
    }
    assert!(!unconcerned.is_finished());
    unconcerned.abort();
    Ok(())
}

fn accepted(pushed: Pushed) -> MessageId {
    pushed.id().expect("there is room")
}
