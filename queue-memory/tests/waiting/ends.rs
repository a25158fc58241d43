//! Waits for the result of a message.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use queue_core::{KeptResult, Leasing, LeasingExt, Push, Settled, Settlement};
use tokio::time::{Instant, sleep};

use crate::{LONG, SECOND, reliable};

/// How long two callers waited for a result that came after a second.
async fn waits() -> [Duration; 2] {
    let queue = reliable().await;
    let id = queue
        .push_one(Push::new("awaited"))
        .await
        .unwrap()
        .id()
        .unwrap();
    let receipt = queue
        .receive_one(LONG, SECOND)
        .await
        .unwrap()
        .unwrap()
        .receipt;
    let begun = Instant::now();
    // Tasks of their own, so that nothing but a wake-up polls them again.
    let wait = || {
        let queue = Arc::clone(&queue);
        tokio::spawn(async move {
            queue.wait_for_end(id, LONG).await.unwrap();
            begun.elapsed()
        })
    };
    let waits = [wait(), wait()];
    sleep(SECOND).await;
    let result = KeptResult::new("done", LONG).with_at_most(NonZeroU32::MIN);
    let ack = Settlement::ack_with(receipt, result);
    assert_eq!(queue.settle_one(ack).await.unwrap(), Settled::Done);
    let [one, two] = waits;
    [one.await.unwrap(), two.await.unwrap()]
}

#[tokio::test(start_paused = true)]
async fn an_ack_with_a_result_wakes_all_who_wait_for_it() {
    assert_eq!(waits().await, [SECOND; 2]);
}

#[cfg(feature = "planted")]
#[tokio::test(start_paused = true)]
async fn a_missing_wake_up_shows() {
    let _planted = queue_memory::planted::plant(queue_memory::planted::Bug::EndWakesNobody);
    assert_eq!(waits().await, [LONG; 2]);
}
