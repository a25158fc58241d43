//! What handlers report and return: progress with heartbeats, and results with acks.

use std::{num::NonZeroU32, time::Duration};

use queue_core::*;
use queue_worker::*;
use tokio::time::sleep;

use crate::{
    environment::{Environment, HOUR, MILLI, SECOND},
    spy::Fault,
};

const MANY: NonZeroU32 = NonZeroU32::new(100).unwrap();

async fn progress(environment: &Environment, id: u64) -> Option<Bytes> {
    let found = environment.queue.find_one(MessageId::new(id)).await;
    match found.unwrap() {
        Found::Present {
            standing: Standing::Leased { progress, .. },
            ..
        } => progress,
        other => panic!("message {id} is leased: {other:?}"),
    }
}

/// A handler of 30 s reports each 100 ms; heartbeats go out each 3 s.
async fn reporting(environment: &Environment, reports: bool) -> u64 {
    let worker = environment.worker().lease(9 * SECOND);
    let work = environment.work_off(worker, move |_: u64, cx: Context| async move {
        for step in 0..300 {
            if reports {
                cx.progress(&step).unwrap();
            }
            sleep(100 * MILLI).await;
        }
    });
    let look = async {
        sleep(10 * MILLI).await;
        let first = progress(environment, 1).await;
        assert_eq!(first, reports.then(|| "0".into()), "at once");
        sleep(10 * SECOND).await;
        let later = progress(environment, 1).await;
        assert!(!reports || later != first, "{later:?}, with a heartbeat");
    };
    let (report, ()) = tokio::join!(work, look);
    assert_eq!(report.counts.acked, 1);
    environment.spy.watched().extends
}

#[tokio::test(start_paused = true)]
async fn progress_costs_one_heartbeat_more_and_the_first_is_sent_at_once() {
    let without = reporting(&Environment::holding(1).await, false).await;
    let with = reporting(&Environment::holding(1).await, true).await;
    assert_eq!((without, with), (10, 11));
}

#[tokio::test(start_paused = true)]
async fn progress_whose_heartbeat_failed_goes_with_the_next() {
    let environment = Environment::holding(1).await;
    environment.spy.watched().fault = Some(Fault::NoExtend);
    let worker = environment.worker().lease(9 * SECOND);
    let work = environment.work_off(worker, |_: u64, cx: Context| async move {
        cx.progress("begun").unwrap();
        sleep(8 * SECOND).await;
    });
    let look = async {
        sleep(SECOND).await;
        assert_eq!(progress(&environment, 1).await, None);
        environment.spy.watched().fault = None;
        sleep(6 * SECOND).await;
        assert_eq!(progress(&environment, 1).await, Some("\"begun\"".into()));
    };
    tokio::join!(work, look);
}

#[tokio::test(start_paused = true)]
async fn bad_progress_is_refused() {
    let environment = Environment::holding(1).await;
    let queue = environment.queue.clone();
    let report = environment
        .work_off(environment.worker(), move |_: u64, cx: Context| {
            let queue = queue.clone();
            async move {
                let large = cx.progress(&"x".repeat(1_023)).unwrap_err();
                assert_eq!(large.kind(), ErrorKind::Invalid);
                assert!(large.to_string().contains("1025 bytes"), "{large}");
                queue.ack(cx.receipt()).await.unwrap();
                assert_eq!(cx.stopped().await, Stop::LeaseLost);
                let lost = cx.progress(&1).unwrap_err();
                assert_eq!(lost.kind(), ErrorKind::LeaseLost);
            }
        })
        .await;
    assert_eq!((report.counts.lost, report.counts.panicked), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_returned_value_is_kept_if_the_worker_keeps_results() {
    for keeps in [true, false] {
        let environment = Environment::holding(2).await;
        let worker = match keeps {
            true => environment.worker().keep_results(HOUR, MANY),
            false => environment.worker(),
        };
        let handler = |number: u64, _| async move {
            match number {
                0 => Ok(Output(vec![number; 3])),
                _ => Err(Failure::bury("unlucky")),
            }
        };
        environment.work_off(worker, handler).await;
        let result = environment.numbers.result::<Vec<u64>>(MessageId::new(1));
        let expected = match keeps {
            true => JobResult::Done(vec![0; 3]),
            false => JobResult::Gone,
        };
        assert_eq!(result.await.unwrap(), expected);
        let failed = environment.numbers.result::<u64>(MessageId::new(2)).await;
        let reason = "buried: unlucky".to_owned();
        assert_eq!(failed.unwrap(), JobResult::Failed(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn each_message_of_a_batch_has_its_own_result() {
    let environment = Environment::holding(3).await;
    let worker = environment.worker().keep_results(HOUR, MANY);
    let done = environment.until(|counters| counters.acked == 3);
    worker
        .run_batches_until(3, done, |batch: Vec<(u64, Context)>| async move {
            batch
                .into_iter()
                .map(|(number, _)| Output(number * 10))
                .collect::<Vec<_>>()
        })
        .await
        .unwrap();
    for id in 1..=3 {
        let result = environment.numbers.result::<u64>(MessageId::new(id)).await;
        assert_eq!(result.unwrap(), JobResult::Done((id - 1) * 10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_buries_its_message() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().keep_results(HOUR, MANY);
    let large = |_: u64, _| async { Output("x".repeat(limits::MAX_RESULT)) };
    let report = environment.work_off(worker, large).await;
    assert_eq!(report.counts.died, 1);
    let result = environment
        .numbers
        .result::<String>(MessageId::new(1))
        .await;
    let JobResult::Failed(why) = result.unwrap() else {
        panic!("it is dead")
    };
    assert!(why.contains("a result of 65538 bytes"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_result_without_time_is_refused_before_the_run() {
    let environment = Environment::holding(1).await;
    let worker = environment.worker().keep_results(Duration::ZERO, MANY);
    let error = worker.run(|_: u64, _| async {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("the time of a result"),
        "{error}"
    );
}
