//! A worker that handles a number of jobs and stops.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use queue_core::{Consumer, Raw};
use queue_worker::Worker;
use tokio::sync::Notify;

use crate::{kinds::LeasingQueue, redis::ours::LEASE};

/// Handles the given number of the queue's messages, and ends when all of them are acked. They may come while it runs.
///
/// # Panics
///
/// If the worker acks more or fewer, or reports errors.
pub async fn work_off<H, F>(queue: &LeasingQueue, slots: usize, jobs: usize, handler: H)
where
    H: Fn(Bytes) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let left = Arc::new(AtomicUsize::new(jobs));
    let none_left = Arc::new(Notify::new());
    let handle = {
        let none_left = Arc::clone(&none_left);
        move |body: Bytes, _context| {
            let (left, none_left) = (Arc::clone(&left), Arc::clone(&none_left));
            let work = handler(body);
            async move {
                work.await;
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    none_left.notify_one();
                }
            }
        }
    };
    let worker = worker(queue).concurrency(slots);
    let report = worker.run_until(none_left.notified(), handle).await;
    let counts = report.expect("the worker runs").counts;
    assert_eq!(counts.acked, jobs as u64, "{counts:?}");
    assert_eq!(counts.errors, 0, "{counts:?}");
}

/// A worker on this queue.
///
/// # Panics
///
/// If the queue leases nothing.
pub fn worker(queue: &LeasingQueue) -> Worker<Bytes> {
    let leasing = queue.queue().leasing().expect("the queue leases");
    let consumer: Consumer<Bytes> = Consumer::of(leasing, Raw);
    Worker::new(consumer).lease(LEASE)
}
