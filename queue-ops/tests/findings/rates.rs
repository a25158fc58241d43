//! The rates of queues, and for how long they stand still.

use std::{sync::Arc, time::Duration};

use queue_core::*;
use queue_ops::{Sample, Sampler};

use crate::told::{HOUR, Site, lease, push, settle};

/// One sample of the queue `orders`.
async fn sampled(sampler: &mut Sampler) -> Sample {
    sampler.sample().await.unwrap().remove(0)
}

#[tokio::test(start_paused = true)]
async fn each_way_to_fail_counts_as_a_failure() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let backend = Arc::clone(site.queues.backend());
    let mut sampler = Sampler::new(backend, 10.try_into().unwrap());
    assert_eq!(sampled(&mut sampler).await.rates, []);
    push(&**orders.queue(), 16).await;
    // Six leases end unsettled; one message is acked, two are retried, and three are buried.
    lease(&**orders.queue(), 6, Duration::from_secs(1), "").await;
    let receipts = lease(&**orders.queue(), 6, HOUR, "").await;
    let mut settlements = vec![Settlement::ack(receipts[0])];
    for receipt in &receipts[1..3] {
        settlements.push(Settlement::retry(*receipt, HOUR));
    }
    for receipt in &receipts[3..] {
        settlements.push(Settlement::bury(*receipt, "no article"));
    }
    settle(&**orders.queue(), &settlements).await;
    site.at(4_000).await;
    let rates = sampled(&mut sampler).await.rates;
    let [one] = &rates[..] else {
        panic!("{rates:?}")
    };
    assert_eq!((one.pushed, one.acked, one.failed), (4.0, 0.25, 2.75));
}

#[tokio::test(start_paused = true)]
async fn a_queue_stands_still_since_the_sample_after_which_nothing_moved() {
    let site = Site::new();
    let orders = site.queues.reliable("orders").open::<u64>().await.unwrap();
    let backend = Arc::clone(site.queues.backend());
    let mut sampler = Sampler::new(backend, 10.try_into().unwrap());
    push(&**orders.queue(), 3).await;
    for (seconds, stands) in [(0, 0), (2, 2), (7, 7)] {
        site.at(seconds * 1_000).await;
        let stands_for = sampled(&mut sampler).await.stands_for;
        assert_eq!(stands_for, Duration::from_secs(stands), "{seconds}");
    }
    lease(&**orders.queue(), 1, HOUR, "").await;
    for (seconds, stands) in [(9, 0), (12, 3)] {
        site.at(seconds * 1_000).await;
        let stands_for = sampled(&mut sampler).await.stands_for;
        assert_eq!(stands_for, Duration::from_secs(stands), "{seconds}");
    }
}
