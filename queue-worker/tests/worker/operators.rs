//! Running jobs, as operators see and stop them.

use std::sync::{Arc, Mutex};

use queue_core::*;
use queue_worker::*;
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, HOUR, SECOND};

/// The receipt of the only leased message, and the name of its holder.
async fn held(queue: &dyn ReliableQueue) -> (Receipt, Option<Holder>) {
    let page = queue.peek(Place::Leased, Page::first(10)).await.unwrap();
    let [peeked] = &page.entries[..] else {
        panic!("{page:?}");
    };
    let Standing::Leased {
        receipt, holder, ..
    } = &peeked.standing
    else {
        panic!("{peeked:?}");
    };
    (*receipt, holder.clone())
}

/// Works through three messages. Returns the holders' names that their handlers find on their leases.
async fn names(name: Option<&str>) -> Vec<String> {
    let environment = Environment::holding(3).await;
    let queue = Arc::clone(&environment.queue);
    let found = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&found);
    let worker = environment.worker();
    let worker = match name {
        Some(name) => worker.holder(name),
        None => worker,
    };
    let handler = move |_: u64, cx: Context| {
        let (queue, names) = (Arc::clone(&queue), Arc::clone(&names));
        async move {
            let (receipt, holder) = held(&*queue).await;
            assert_eq!(receipt, cx.receipt());
            names.lock().unwrap().push(holder.unwrap().to_string());
        }
    };
    let report = environment.work_off(worker, handler).await;
    assert_eq!((report.counts.acked, report.counts.panicked), (3, 0));
    let names = found.lock().unwrap();
    names.clone()
}

#[tokio::test(start_paused = true)]
async fn each_lease_carries_the_workers_name() {
    assert_eq!(
        names(Some("encoder on web-3")).await,
        ["encoder on web-3"; 3]
    );
}

#[tokio::test(start_paused = true)]
async fn a_worker_without_a_name_uses_that_of_its_process() {
    let process = format!("process {}", std::process::id());
    let names = names(None).await;
    assert_eq!(names.len(), 3);
    assert!(
        names.iter().all(|name| name.ends_with(&process)),
        "{names:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operator_stops_a_running_job_by_the_receipt_that_a_peek_shows() {
    let environment = Environment::holding(1).await;
    let seen = Arc::new(Mutex::new(None));
    let news = Arc::clone(&seen);
    let start = Instant::now();
    let operator = async {
        sleep(10 * SECOND).await;
        let (receipt, holder) = held(&*environment.queue).await;
        assert_eq!(holder, Some(Holder::new("encoder on web-3").unwrap()));
        let stop = Settlement::bury(receipt, "it takes the whole disk");
        let stopped = environment.queue.settle_one(stop).await.unwrap();
        assert_eq!(stopped, Settled::Dead);
        sleep(HOUR).await;
    };
    let worker = environment
        .worker()
        .holder("encoder on web-3")
        .lease(9 * SECOND);
    let report = worker
        .run_until(operator, move |_: u64, cx: Context| {
            let news = Arc::clone(&news);
            async move {
                let stop = cx.stopped().await;
                *news.lock().unwrap() = Some((stop, Instant::now()));
                Err::<(), _>("told to stop")
            }
        })
        .await
        .unwrap();
    let (stop, at) = seen.lock().unwrap().unwrap();
    assert_eq!(stop, Stop::LeaseLost);
    let after = at - start;
    assert!(
        after >= 10 * SECOND && after <= 13 * SECOND,
        "{after:?}: a third of a lease"
    );
    // The worker settled nothing, and counts as lost what the operator has buried.
    assert_eq!(environment.spy.watched().settlements, 0);
    assert_eq!((report.counts.started, report.counts.lost), (1, 1));
    assert_eq!((report.counts.died, report.counts.retried), (0, 0));
    assert!(report.drained && report.counts.balance(), "{report:?}");
    let counters = environment.counters().await;
    assert_eq!((counters.died, counters.expired), (1, 0));
    let dead = environment.queue.dead_letters(Page::first(10)).await;
    let dead = dead.unwrap().entries;
    let reason = DeathReason::Buried("it takes the whole disk".to_owned());
    assert_eq!((dead.len(), &dead[0].reason), (1, &reason));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_that_does_not_listen_is_cut_off_and_frees_its_slot() {
    let environment = Environment::holding(2).await;
    let queue = Arc::clone(&environment.queue);
    let start = Instant::now();
    let operator = async {
        sleep(10 * SECOND).await;
        let (receipt, _) = held(&*queue).await;
        queue.ack(receipt).await.unwrap();
        environment.empty().await;
    };
    let finished = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&finished);
    let report = environment
        .worker()
        .lease(9 * SECOND)
        .cleanup(2 * SECOND)
        .run_until(operator, move |number: u64, _| {
            let list = Arc::clone(&list);
            async move {
                if number == 0 {
                    sleep(HOUR).await;
                }
                list.lock().unwrap().push((number, Instant::now() - start));
            }
        })
        .await
        .unwrap();
    let finished = std::mem::take(&mut *finished.lock().unwrap());
    let [(1, after)] = finished[..] else {
        panic!("{finished:?}");
    };
    assert!(
        after >= 12 * SECOND && after <= 16 * SECOND,
        "{after:?}: a third of a lease, and the cleanup"
    );
    assert_eq!((report.counts.lost, report.counts.acked), (1, 1));
    assert_eq!(environment.counters().await.acked, 2);
}
