//! The effects of the faulty network on a call, and the history's knowledge of them.

use std::{future::Future, sync::Arc, time::Duration};

use queue_core::{Layered, call::Answer, *};
use queue_memory::MemoryBackend;
use queue_sim::{
    engine::{End, Executor, in_virtual_time},
    history::{CallEnd, Event, History, Journal, Recorder},
    plan::{Decisions, Process},
    world::{EPOCH, Fault, FaultInjector, FaultMix, Network, RunContext},
};
use tokio::time;

const LEASE_TIME: Duration = Duration::from_millis(20);
/// Two leases and 3 ms.
const PATIENCE: u64 = 43;

/// The history of one process's calls to a reliable queue behind a network with these faults, which strike
/// according to `plan`.
fn history<F>(
    faults: &[Fault],
    plan: &str,
    process: impl FnOnce(Arc<dyn ReliableQueue>) -> F,
) -> History
where
    F: Future<Output = ()> + Send + 'static,
{
    in_virtual_time(async {
        let decisions = Decisions::planned(plan.parse().unwrap());
        let executor = Executor::new(decisions.clone(), 0);
        let journal = Journal::new(EPOCH, true);
        let faults = faults.iter();
        let context = RunContext {
            executor: executor.clone(),
            decisions: decisions.clone(),
            journal: journal.clone(),
            faults: faults.fold(FaultMix::none(), |all, fault| all.with(*fault, 1)),
            lease_time: LEASE_TIME,
        };
        let network = Network::new(context);
        assert_eq!(network.patience(), Duration::from_millis(PATIENCE));
        let memory = MemoryBackend::starting_at(EPOCH);
        let backend = Layered::new(
            FaultInjector::new(Process(1), network.clone()),
            Arc::new(memory),
        );
        let backend = Layered::new(
            Recorder::new(Process(1), journal.clone()),
            Arc::new(backend),
        );
        let name = "jobs".parse().unwrap();
        let config = ReliableConfig::default();
        let queue = backend.open_reliable(&name, &config).await.unwrap();
        executor.spawn(Process(1), Box::pin(process(queue)));
        assert_eq!(executor.run(Duration::from_secs(60)).await, End::Finished);
        executor.spawn(Process(2), Box::pin(async move { network.heal().await }));
        assert_eq!(executor.run(Duration::from_secs(60)).await, End::Finished);
        assert!(decisions.unmet().is_empty());
        journal.take()
    })
}

async fn push_once(queue: Arc<dyn ReliableQueue>) {
    let _ = queue.push_one("a").await;
}

/// The times at which the backend executed the call with this index, and its end and outcome, in ms
/// of the run.
fn fate(history: &History, index: usize) -> (Vec<u64>, u64, CallEnd) {
    let millis = |at: Timestamp| at.as_millis() - EPOCH.as_millis();
    let record = &history.records[index];
    let executed = record.executed.iter().map(|moment| millis(moment.at));
    let ended = record.ended.as_ref().unwrap();
    (
        executed.collect(),
        millis(ended.at.at),
        ended.outcome.clone(),
    )
}

fn accepted(id: u64) -> CallEnd {
    CallEnd::Ok(Answer::Pushed(vec![Pushed::Accepted(MessageId::new(id))]))
}

fn is_unknown(outcome: &CallEnd) -> bool {
    matches!(outcome, CallEnd::Unknown(ErrorKind::Unavailable, _))
}

#[test]
fn without_faults_a_call_is_executed_when_it_is_made() {
    let history = history(&[], "v1:", push_once);
    assert_eq!(fate(&history, 0), (vec![0], 0, accepted(1)));
    assert_eq!(history.events, []);
}

#[test]
fn a_refused_call_is_not_executed_and_says_so() {
    let history = history(&[Fault::Refused], "v1:1.0.request=1", push_once);
    let (executed, ended, outcome) = fate(&history, 0);
    assert_eq!((executed, ended), (vec![], 0));
    assert!(matches!(
        outcome,
        CallEnd::NotApplied(ErrorKind::Unavailable, _)
    ));
    assert_eq!(history.events[0].1, Event::Fault("refused", Process(1)));
}

#[test]
fn a_lost_request_is_never_executed_and_its_caller_does_not_know() {
    let history = history(&[Fault::RequestLost], "v1:1.0.request=2", push_once);
    let (executed, ended, outcome) = fate(&history, 0);
    assert_eq!((executed, ended), (vec![], PATIENCE));
    assert!(is_unknown(&outcome));
}

#[test]
fn a_call_whose_reply_is_lost_was_executed_and_its_caller_does_not_know() {
    let history = history(&[Fault::ReplyLost], "v1:1.0.reply=1", push_once);
    let (executed, ended, outcome) = fate(&history, 0);
    assert_eq!((executed, ended), (vec![0], PATIENCE));
    assert!(is_unknown(&outcome));
}

#[test]
fn a_delayed_call_is_executed_later_and_still_answered() {
    let plan = "v1:1.0.request=3,1.0.delay=3,1.0.reply=2,1.0.delay.1=1";
    let history = history(&[Fault::Delayed], plan, push_once);
    assert_eq!(fate(&history, 0), (vec![21], 40, accepted(1)));
}

#[test]
fn a_late_call_is_executed_after_its_caller_gave_up() {
    let plan = "v1:1.0.request=4,1.0.delay=2";
    let history = history(&[Fault::Late], plan, push_once);
    let (executed, ended, outcome) = fate(&history, 0);
    assert_eq!((executed, ended), (vec![PATIENCE + 20], PATIENCE));
    assert!(is_unknown(&outcome));
}

#[test]
fn a_repeated_call_is_executed_twice_and_answered_once() {
    let plan = "v1:1.0.request=5,1.0.delay=2";
    let history = history(&[Fault::Repeated], plan, push_once);
    assert_eq!(fate(&history, 0), (vec![0, 20], 0, accepted(1)));
}

#[test]
fn calls_held_up_by_a_partition_arrive_in_order_when_it_heals() {
    // A partition of 80 ms, which is more than a client's patience.
    let plan = "v1:1.0.server=1,1.0.delay=3";
    let history = history(&[Fault::Partition], plan, |queue| async move {
        for body in ["a", "b", "c"] {
            let _ = queue.push_one(body).await;
        }
    });
    let (executed, ended, outcome) = fate(&history, 0);
    assert_eq!((executed, ended), (vec![80], 43));
    assert!(is_unknown(&outcome));
    assert_eq!(fate(&history, 1), (vec![80], 80, accepted(2)));
    assert_eq!(fate(&history, 2), (vec![80], 80, accepted(3)));
    let orders: Vec<u64> = history
        .records
        .iter()
        .map(|record| record.executed[0].order)
        .collect();
    assert!(orders.is_sorted(), "{orders:?}");
}

#[test]
fn a_request_on_its_way_arrives_though_its_call_is_dropped() {
    let plan = "v1:1.0.request=3,1.0.delay=2";
    let history = history(&[Fault::Delayed], plan, |queue| async move {
        let push = queue.push_one("a");
        assert!(time::timeout(Duration::from_millis(5), push).await.is_err());
    });
    assert_eq!(fate(&history, 0), (vec![20], 5, CallEnd::Dropped));
}

#[test]
fn waits_end_for_no_reason_are_refused_or_late_and_are_never_executed() {
    let minute = Duration::from_secs(60);
    let wait = move |queue: Arc<dyn ReliableQueue>| async move {
        let _ = queue.wait_for_arrival(minute / 2).await;
    };
    let spurious = history(&[Fault::Spurious], "v1:1.0.request=1", wait);
    assert_eq!(
        fate(&spurious, 0),
        (vec![], 0, CallEnd::Ok(Answer::Nothing))
    );
    let refused = history(&[Fault::Refused], "v1:1.0.request=2", wait);
    assert!(matches!(fate(&refused, 0).2, CallEnd::NotApplied(..)));
    let late = history(&[Fault::Delayed], "v1:1.0.request=3,1.0.delay=3", wait);
    assert_eq!(
        fate(&late, 0),
        (vec![], 30_021, CallEnd::Ok(Answer::Nothing))
    );
    let cut = history(&[Fault::Cut], "v1:1.0.request=4", wait);
    assert_eq!(
        fate(&cut, 0),
        (vec![], 30_000, CallEnd::Ok(Answer::Nothing))
    );
}
