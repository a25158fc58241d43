//! A limit on the rate.

use std::sync::{Arc, Mutex};

use queue_core::ErrorKind;
use queue_worker::{Rate, Workers};
use tokio::time::Instant;

use crate::{
    environment::{Environment, HOUR, SECOND},
    looks::waits,
};

#[tokio::test(start_paused = true)]
async fn a_rate_of_nothing_is_refused_before_anything_is_done() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().rate(Rate::new(0, SECOND));
    let error = worker.run(|_: u64, _| async {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("rate"), "{error}");
    assert_eq!(environment.spy.watched().calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_more_is_started_than_the_rate_allows_and_nothing_is_hoarded() {
    let environment = Environment::holding(60).await;
    let starts = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&starts);
    let begin = Instant::now();
    let worker = environment
        .worker()
        .concurrency(16)
        .rate(Rate::new(10, SECOND).with_burst(4));
    let handler = move |_: u64, _| {
        log.lock().unwrap().push(Instant::now());
        async {}
    };
    let report = environment.work_off(worker, handler).await;
    let starts = starts.lock().unwrap();
    assert_eq!((starts.len(), report.counts.acked), (60, 60));
    for (n, start) in starts.iter().enumerate() {
        for (m, later) in starts.iter().enumerate().skip(n) {
            let allowed = 4.0 + (*later - *start).as_secs_f64() * 10.0;
            assert!((m - n + 1) as f64 <= allowed + 0.05, "{n} to {m}");
        }
    }
    let took = begin.elapsed();
    assert!(took < 6 * SECOND, "{took:?}: as much as it allows");
    assert!(environment.spy.watched().largest <= 4);
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_rate_is_spent_waits_for_no_message() {
    let workers = Workers::in_order().concurrency(8);
    assert_eq!(waits(workers.rate(Rate::new(1, HOUR))).await, 0);
}
