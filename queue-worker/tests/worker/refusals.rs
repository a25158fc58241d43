//! Permanent errors of a batch: one bad entry harms no other.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::{Part, Refusal},
};

const MANY: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
const COUNT: u64 = 8;

const fn refusal(part: Part, id: Option<u64>) -> Refusal {
    let applied = false;
    Refusal { part, id, applied }
}

/// How often each number's handler ran.
type Runs = Arc<Mutex<BTreeMap<u64, u32>>>;

/// Works off eight messages, whose handlers end at the same time, so that one call settles all of them.
async fn work_off(environment: &Environment, runs: &Runs) -> Counts {
    let runs = Arc::clone(runs);
    let worker = environment
        .worker()
        .concurrency(COUNT as usize)
        .lease(30 * SECOND)
        .keep_results(HOUR, MANY);
    let handler = move |number: u64, _| {
        *runs.lock().unwrap().entry(number).or_default() += 1;
        async move {
            sleep(100 * MILLI).await;
            Output(number)
        }
    };
    let report = environment.work_off(worker, handler).await;
    assert!(report.counts.balance(), "{report:?}");
    report.counts
}

fn once_each(runs: &Runs) {
    let runs = runs.lock().unwrap();
    assert_eq!(runs.len() as u64, COUNT);
    assert!(runs.values().all(|times| *times == 1), "{runs:?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_refused_result_buries_its_message_and_all_others_are_settled_once() {
    for bad in 1..=COUNT {
        // A call fails for the moment, too.
        for fails in std::iter::once(None).chain((2..6 + COUNT).map(Some)) {
            let environment = Environment::holding(COUNT).await;
            {
                let mut watched = environment.spy.watched();
                watched.refusal = Some(refusal(Part::Settlement, Some(bad)));
                watched.fails_once = fails;
            }
            let runs = Runs::default();
            let counts = work_off(&environment, &runs).await;
            once_each(&runs);
            assert_eq!(
                (counts.acked, counts.died, counts.refused),
                (COUNT - 1, 1, 1)
            );
            let dead = environment
                .numbers
                .dead_letters(Page::first(9))
                .await
                .unwrap();
            let [dead] = &dead.entries[..] else {
                panic!("{dead:?}");
            };
            assert_eq!(dead.id.get(), bad);
            let reason = format!("{:?}", dead.reason);
            assert!(reason.contains("refused, says the test"), "{reason}");
            for id in (1..=COUNT).filter(|id| *id != bad) {
                let result = environment.numbers.result::<u64>(MessageId::new(id)).await;
                assert_eq!(result.unwrap(), JobResult::Done(id - 1));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_refused_batch_that_took_effect_is_not_handled_again() {
    for bad in 1..=COUNT {
        let environment = Environment::holding(COUNT).await;
        environment.spy.watched().refusal = Some(Refusal {
            applied: true,
            ..refusal(Part::Settlement, Some(bad))
        });
        let runs = Runs::default();
        let counts = work_off(&environment, &runs).await;
        once_each(&runs);
        assert_eq!(counts.unconfirmed, COUNT, "{counts:?}");
        assert_eq!(environment.counters().await.acked, COUNT);
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_result_that_is_taken_in_no_way_is_given_up_and_all_others_are_settled_once() {
    for bad in 1..=COUNT {
        let environment = Environment::holding(COUNT).await;
        environment.spy.watched().refusal = Some(refusal(Part::AnySettlement, Some(bad)));
        let runs = Runs::default();
        let heal = async {
            sleep(10 * SECOND).await;
            let counters = environment.counters().await;
            assert_eq!((counters.acked, counters.depth.leased), (COUNT - 1, 1));
            environment.spy.watched().refusal = None;
        };
        let (counts, ()) = tokio::join!(work_off(&environment, &runs), heal);
        assert_eq!(
            (counts.acked, counts.unsettled, counts.refused),
            (COUNT, 1, 1)
        );
        // Its lease ran out.
        assert_eq!(runs.lock().unwrap()[&(bad - 1)], 2);
        assert_eq!(counts.started, COUNT + 1);
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_queue_that_refuses_all_results_loses_none_and_buries_none() {
    let environment = Environment::holding(COUNT).await;
    environment.spy.watched().refusal = Some(refusal(Part::AnySettlement, None));
    let runs = Runs::default();
    let heal = async {
        sleep(10 * SECOND).await;
        let counters = environment.counters().await;
        assert_eq!((counters.depth.leased, counters.died), (COUNT, 0));
        environment.spy.watched().refusal = None;
    };
    let (counts, ()) = tokio::join!(work_off(&environment, &runs), heal);
    once_each(&runs);
    assert_eq!((counts.acked, counts.died, counts.refused), (COUNT, 0, 0));
    assert!(
        counts.errors < 20 && counts.calls < 200,
        "it pauses: {counts:?}"
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_shutdown_releases_all_messages_but_those_that_cannot_be_released() {
    let environment = Environment::holding(COUNT).await;
    environment.spy.watched().refusal = Some(refusal(Part::Settlement, Some(3)));
    let worker = environment.worker().concurrency(COUNT as usize);
    let shutdown = environment.until(|counters| counters.depth.leased == COUNT);
    let report = worker
        .drain(SECOND)
        .cleanup(SECOND)
        .run_until(shutdown, |_: u64, _| sleep(HOUR))
        .await
        .unwrap();
    let counts = report.counts;
    assert_eq!(
        (counts.released, counts.unsettled, counts.died),
        (COUNT - 1, 1, 0)
    );
    assert!(counts.balance() && !report.drained, "{report:?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_full_batch_of_the_largest_results_is_taken() {
    let most = limits::MAX_BATCH as u64;
    let environment = Environment::holding(most).await;
    let worker = environment
        .worker()
        .concurrency(limits::MAX_BATCH)
        .keep_results(HOUR, MANY);
    let large = |_: u64, _| async {
        sleep(SECOND).await;
        Verdict::DoneWith(OutputBytes::new(vec![b'7'; limits::MAX_RESULT]).unwrap())
    };
    let counts = environment.work_off(worker, large).await.counts;
    assert_eq!((counts.acked, counts.errors), (most, 0));
    assert!(counts.calls < 10, "together: {counts:?}");
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_call_has_room_for_as_many_of_the_largest_results_as_it_has_entries() {
    let most = limits::MAX_BATCH;
    let environment = Environment::holding(most as u64).await;
    let all = environment.queue.lease(most.try_into().unwrap(), HOUR);
    let largest = KeptResult::new(vec![b'7'; limits::MAX_RESULT], HOUR);
    let settlements = all.await.unwrap().deliveries.into_iter();
    let settlements = settlements.map(|each| Settlement::ack_with(each.receipt, largest.clone()));
    let settlements: Vec<_> = settlements.collect();
    let settled = environment.queue.settle(&settlements);
    assert_eq!(settled.await.unwrap(), vec![Settled::Done; most]);
    assert_eq!(most * limits::MAX_RESULT, limits::MAX_BATCH_BYTES);
}

/// Works off eight messages that take ten leases each. Returns the jobs whose handlers were asked to stop.
async fn long_jobs(environment: &Environment, runs: &Runs, reports: bool) -> (Counts, Vec<u64>) {
    let (runs, stopped) = (Arc::clone(runs), Arc::new(Mutex::new(Vec::new())));
    let told = Arc::clone(&stopped);
    let worker = environment
        .worker()
        .concurrency(COUNT as usize)
        .lease(3 * SECOND);
    let handler = move |number: u64, cx: Context| {
        *runs.lock().unwrap().entry(number).or_default() += 1;
        let told = Arc::clone(&told);
        async move {
            if reports {
                cx.progress(&number).unwrap();
            }
            tokio::select! {
                () = sleep(30 * SECOND) => {}
                stop = cx.stopped() => {
                    assert_eq!(stop, Stop::LeaseLost);
                    told.lock().unwrap().push(number);
                }
            }
        }
    };
    let counts = environment.work_off(worker, handler).await.counts;
    assert!(counts.balance(), "{counts:?}");
    let stopped = std::mem::take(&mut *stopped.lock().unwrap());
    (counts, stopped)
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_lease_that_cannot_be_extended_costs_no_other_its_lease() {
    for bad in 1..=COUNT {
        let environment = Environment::holding(COUNT).await;
        environment.spy.watched().refusal = Some(refusal(Part::Extension, Some(bad)));
        let heal = async {
            sleep(3 * SECOND - 100 * MILLI).await;
            environment.spy.watched().refusal = None;
        };
        let runs = Runs::default();
        let ((counts, told), ()) = tokio::join!(long_jobs(&environment, &runs, false), heal);
        assert_eq!(told, [bad - 1]);
        assert_eq!((counts.acked, counts.lost, counts.refused), (COUNT, 1, 1));
        for (number, times) in &*runs.lock().unwrap() {
            assert_eq!(*times, if *number == bad - 1 { 2 } else { 1 });
        }
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn refused_progress_costs_no_lease() {
    for bad in 1..=COUNT {
        let environment = Environment::holding(COUNT).await;
        environment.spy.watched().refusal = Some(refusal(Part::Progress, Some(bad)));
        let runs = Runs::default();
        let look = async {
            sleep(2 * SECOND).await;
            for id in 1..=COUNT {
                let found = environment.queue.find_one(MessageId::new(id)).await;
                let Ok(Found::Present {
                    standing: Standing::Leased { progress, .. },
                    ..
                }) = found
                else {
                    panic!("message {id} is leased: {found:?}");
                };
                assert_eq!(progress.is_some(), id != bad);
            }
        };
        let ((counts, told), ()) = tokio::join!(long_jobs(&environment, &runs, true), look);
        once_each(&runs);
        assert_eq!((told, counts.acked, counts.refused), (vec![], COUNT, 1));
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn an_extension_takes_effect_without_its_refused_progress() {
    let environment = Environment::holding(COUNT).await;
    environment.spy.watched().refusal = Some(refusal(Part::Progress, Some(4)));
    let worker = environment.worker().concurrency(COUNT as usize);
    let handler = |_: u64, cx: Context| async move {
        // The first progress goes at once, the second with the extension.
        for step in 0..2 {
            cx.progress(&step).unwrap();
            sleep(MILLI * (1 - step) * 100).await;
        }
        cx.extend(60 * SECOND).await.unwrap();
        assert!(cx.remaining() > 59 * SECOND);
    };
    let counts = environment.work_off(worker, handler).await.counts;
    assert_eq!(
        (counts.acked, counts.panicked, counts.refused),
        (COUNT, 0, 2)
    );
}

#[tokio::test(start_paused = true)]
pub(crate) async fn a_queue_that_extends_nothing_for_a_time_loses_no_lease() {
    for reports in [false, true] {
        let environment = Environment::holding(COUNT).await;
        environment.spy.watched().refusal = Some(refusal(Part::Extension, None));
        let heal = async {
            sleep(2 * SECOND).await;
            environment.spy.watched().refusal = None;
        };
        let runs = Runs::default();
        let ((counts, told), ()) = tokio::join!(long_jobs(&environment, &runs, reports), heal);
        once_each(&runs);
        assert_eq!((told, counts.acked, counts.refused), (vec![], COUNT, 0));
    }
}

#[tokio::test(start_paused = true)]
pub(crate) async fn each_handler_gets_the_error_of_its_own_extension() {
    for fails in [None, Some(2), Some(3), Some(5)] {
        let environment = Environment::holding(COUNT).await;
        {
            let mut watched = environment.spy.watched();
            watched.refusal = Some(refusal(Part::Extension, Some(4)));
            watched.fails_once = fails;
        }
        let worker = environment.worker().concurrency(COUNT as usize);
        let refused = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&refused);
        let handler = move |number: u64, cx: Context| {
            let told = Arc::clone(&told);
            async move {
                while let Err(error) = cx.extend(Duration::from_secs(60)).await {
                    if !error.is_transient() {
                        told.lock().unwrap().push((number, error.to_string()));
                        break;
                    }
                    sleep(MILLI).await;
                }
            }
        };
        let report = environment.work_off(worker, handler).await;
        assert_eq!(report.counts.acked, COUNT);
        let refused = refused.lock().unwrap();
        assert_eq!(*refused, [(3, "refused, says the test".to_owned())]);
    }
}
