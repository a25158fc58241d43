//! Calls that wait: they end in time, survive transient errors, and return their last attempt's result.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context as Poller, Poll, Waker},
    time::Duration,
};

use queue_kit::{call::Call, *};
use tokio::time::Instant;

use crate::fault_injector::*;

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than any test.
const LEASE: Duration = Duration::from_secs(3600);
/// How far virtual time may pass the requested time.
const GRAIN: Duration = Duration::from_millis(5);

fn is_lease(call: &Call) -> bool {
    matches!(call, Call::Lease(..))
}

/// The call's answer, and the time it takes.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let answer = tokio::time::timeout(2 * LEASE, call).await;
    (answer.expect("it ends"), start.elapsed())
}

fn about(took: Duration, expected: Duration) {
    assert!(
        took >= expected && took <= expected + GRAIN,
        "{took:?}, not {expected:?}"
    );
}

/// Leases fail with this error before this time; everything else works.
fn leases_fail(
    until: Duration,
    error: impl Fn() -> Error + Send + Sync + 'static,
) -> impl Fn(Duration, &Call) -> Behaviour + Send + Sync + 'static {
    move |at, call| match is_lease(call) && at < until {
        true => Behaviour::Refused(error()),
        false => Behaviour::Made,
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_within_its_timeout_on_a_server_that_hangs() {
    let queue = before(&reliable().await, |_, _| Behaviour::Hangs).front();
    for timeout in [SECOND, 7 * SECOND, MINUTE] {
        let (answer, took) = timed(queue.receive(1, LEASE, timeout)).await;
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome(), Outcome::Unknown);
        assert!(error.is_transient());
        about(took, timeout);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_has_a_second_before_it_is_cut() {
    let queue = before(&reliable().await, |_, _| Behaviour::Hangs).front();
    let (answer, took) = timed(queue.receive(1, LEASE, 10 * MILLI)).await;
    answer.unwrap_err();
    about(took, SECOND);

    let jobs = reliable().await;
    let slow = before(&jobs, |_, call| match is_lease(call) {
        true => Behaviour::Slow(900 * MILLI),
        false => Behaviour::Made,
    });
    jobs.push_one("a").await.unwrap().id().unwrap();
    let (answer, took) = timed(slow.front().receive(1, LEASE, 500 * MILLI)).await;
    assert_eq!(answer.unwrap().len(), 1);
    about(took, 900 * MILLI);
    // The last attempt begins when the time is over, and still has its second.
    let (answer, took) = timed(slow.front().receive(1, LEASE, 950 * MILLI)).await;
    assert_eq!(answer.unwrap(), []);
    about(took, 950 * MILLI + 900 * MILLI);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_not_cut_before_the_timeout() {
    let jobs = reliable().await;
    let slow = before(&jobs, |_, _| Behaviour::Slow(9 * SECOND)).front();
    jobs.push_one("a").await.unwrap().id().unwrap();
    let (answer, took) = timed(slow.receive(1, LEASE, 10 * SECOND)).await;
    assert_eq!(answer.unwrap().len(), 1);
    about(took, 9 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn zero_timeout_is_one_uninterrupted_attempt() {
    let jobs = reliable().await;
    let slow = before(&jobs, |_, _| Behaviour::Slow(9 * SECOND));
    jobs.push_one("a").await.unwrap().id().unwrap();
    let (answer, took) = timed(slow.front().receive(1, LEASE, Duration::ZERO)).await;
    assert_eq!(answer.unwrap().len(), 1);
    about(took, 9 * SECOND);

    let failing = before(&jobs, leases_fail(MINUTE, down));
    let (answer, took) = timed(failing.front().receive(1, LEASE, Duration::ZERO)).await;
    assert_eq!(answer.unwrap_err().outcome(), Outcome::NotApplied);
    about(took, Duration::ZERO);
    assert_eq!(failing.times(is_lease).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_rides_out_an_outage_and_is_back_within_a_second_of_its_end() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    let outage = 20 * SECOND;
    let failing = before(&jobs, leases_fail(outage, down));
    let (answer, took) = timed(failing.front().receive(1, LEASE, MINUTE)).await;
    assert_eq!(answer.unwrap().len(), 1);
    assert!(took >= outage && took <= outage + SECOND, "{took:?}");
    // Errors that come at once do not make the loop spin.
    let polls = failing.times(is_lease).len();
    assert!((20..=25).contains(&polls), "{polls} attempts");
}

#[tokio::test(start_paused = true)]
async fn it_pauses_as_long_as_the_error_asks() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    let busy = || down().with_retry_after(3 * SECOND);
    let failing = before(&jobs, leases_fail(7 * SECOND, busy));
    let (answer, took) = timed(failing.front().receive(1, LEASE, MINUTE)).await;
    assert_eq!(answer.unwrap().len(), 1);
    about(took, 9 * SECOND);
    assert_eq!(failing.times(is_lease).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn pauses_restart_after_an_attempt_that_succeeded() {
    // Every second attempt fails, and hints come every 10 ms.
    let polls = std::sync::atomic::AtomicU64::new(0);
    let flaky = before(&reliable().await, move |_, call| match call {
        Call::Lease(..) => match polls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 {
            0 => Behaviour::Refused(down()),
            _ => Behaviour::Made,
        },
        _ => Behaviour::Spurious(10 * MILLI),
    });
    let answer = flaky.front().receive(1, LEASE, 11 * SECOND).await;
    drop(answer);
    let failed = flaky.times(is_lease).len() / 2;
    assert!(failed >= 95, "{failed} attempts failed, and 100 would fit");
}

#[tokio::test(start_paused = true)]
async fn at_the_timeout_the_last_attempt_decides() {
    let jobs = reliable().await;
    // The call failed first, and later found nothing.
    let failing = before(&jobs, leases_fail(3 * SECOND, down)).front();
    let (answer, took) = timed(failing.receive(1, LEASE, 10 * SECOND)).await;
    assert_eq!(answer.unwrap(), []);
    about(took, 10 * SECOND);
    // The call found nothing first, and failed in the end.
    let later = before(&jobs, |at, _| match at < 3 * SECOND {
        true => Behaviour::Made,
        false => Behaviour::Refused(down()),
    });
    let (answer, took) = timed(later.front().receive(1, LEASE, 10 * SECOND)).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    about(took, 10 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_error_is_unknown_if_any_attempt_perhaps_took_effect() {
    let failing = before(&reliable().await, |at, call| match call {
        Call::Lease(..) if at < SECOND => Behaviour::Lost,
        _ => Behaviour::Refused(down()),
    });
    let error = failing.front().receive(1, LEASE, 5 * SECOND).await;
    assert_eq!(error.unwrap_err().outcome(), Outcome::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_it_at_once() {
    let jobs = reliable().await;
    let failing = before(&jobs, |at, call| match call {
        Call::Lease(..) if at < 3 * SECOND => Behaviour::Refused(down()),
        Call::Lease(..) => Behaviour::Refused(forbidden()),
        _ => Behaviour::Made,
    });
    let (answer, took) = timed(failing.front().receive(1, LEASE, MINUTE)).await;
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Configuration);
    assert!((3 * SECOND..=4 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn without_hints_a_call_polls_on_a_timer() {
    for broken in [down, forbidden] {
        let jobs = reliable().await;
        let failing = before(&jobs, move |_, call| match call {
            Call::WaitToLease(..) => Behaviour::Refused(broken()),
            _ => Behaviour::Made,
        });
        let queue = failing.front();
        let push = async {
            tokio::time::sleep(30 * SECOND).await;
            jobs.push_one("a").await.unwrap().id().unwrap();
        };
        let ((answer, took), ()) = tokio::join!(timed(queue.receive(1, LEASE, MINUTE)), push);
        assert_eq!(answer.unwrap().len(), 1);
        assert!((30 * SECOND..=31 * SECOND).contains(&took), "{took:?}");
        let polls = failing.times(is_lease).len();
        assert!(polls <= 36, "{polls} attempts in 31 s");
        // The call also ends in time.
        let (answer, took) = timed(queue.receive(1, LEASE, 1500 * MILLI)).await;
        assert_eq!(answer.unwrap(), []);
        about(took, 1500 * MILLI);
    }
}

#[tokio::test(start_paused = true)]
async fn without_hints_a_message_is_taken_when_due() {
    let jobs = reliable().await;
    let failing = before(&jobs, |_, call| match call {
        Call::WaitToLease(..) => Behaviour::Refused(forbidden()),
        _ => Behaviour::Made,
    });
    jobs.push_one("a").await.unwrap().id().unwrap();
    jobs.receive_one(4321 * MILLI, SECOND).await.unwrap();
    let (answer, took) = timed(failing.front().receive(1, LEASE, MINUTE)).await;
    assert_eq!(answer.unwrap().len(), 1);
    about(took, 4321 * MILLI);
}

fn is_offer(call: &Call) -> bool {
    matches!(call, Call::Push(..))
}

#[tokio::test(start_paused = true)]
async fn spurious_hints_do_not_prolong_the_wait_of_a_producer() {
    let (queue, injector) = bounded(|_, call| match call {
        Call::WaitForRoom(_) => Behaviour::Spurious(300 * MILLI),
        _ => Behaviour::Made,
    })
    .await;
    queue.push_one("a").await.unwrap().id().unwrap();
    let (answer, took) = timed(injector.front().push_or_wait("b", SECOND)).await;
    assert_eq!(answer.unwrap(), Pushed::Full);
    about(took, SECOND);
    let waits = injector.waits_for_room();
    assert_eq!(waits, [1000, 700, 400, 100].map(|left| left * MILLI));
}

#[tokio::test(start_paused = true)]
async fn a_producer_rides_out_an_outage() {
    let (queue, injector) = bounded(|at, call| match call {
        Call::Push(..) if at < 20 * SECOND => Behaviour::Refused(down()),
        _ => Behaviour::Made,
    })
    .await;
    let front = injector.front();
    let (answer, took) = timed(front.push_or_wait("a", MINUTE)).await;
    assert!(matches!(answer.unwrap(), Pushed::Accepted(_)));
    assert!((20 * SECOND..=21 * SECOND).contains(&took), "{took:?}");
    assert_eq!(queue.depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn a_producer_ends_within_its_timeout_on_a_server_that_hangs() {
    let (_, injector) = bounded(|_, _| Behaviour::Hangs).await;
    let (answer, took) = timed(injector.front().push_or_wait("a", 5 * SECOND)).await;
    assert_eq!(answer.unwrap_err().outcome(), Outcome::Unknown);
    about(took, 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_offer_that_perhaps_took_effect_is_repeated_only_under_a_dedup_key() {
    let losing = |at: Duration, call: &Call| match call {
        Call::Push(..) if at < SECOND => Behaviour::Lost,
        _ => Behaviour::Made,
    };
    let (queue, injector) = bounded(losing).await;
    let (answer, took) = timed(injector.front().push_or_wait("a", MINUTE)).await;
    assert_eq!(answer.unwrap_err().outcome(), Outcome::Unknown);
    about(took, Duration::ZERO);
    assert_eq!(injector.times(is_offer).len(), 1);
    assert_eq!(queue.depth().await.unwrap().ready, 1);

    // The message's mark ends with it, and the message may be done by now.
    let (queue, injector) = bounded(losing).await;
    let push = Push::new("a").with_unique("order 1", MINUTE);
    let answer = injector.front().push_or_wait(push, MINUTE).await;
    assert_eq!(answer.unwrap_err().outcome(), Outcome::Unknown);
    assert_eq!(injector.times(is_offer).len(), 1);
    assert_eq!(queue.depth().await.unwrap().ready, 1);

    let (queue, injector) = bounded(losing).await;
    let push = Push::new("a").with_dedup("order 1", MINUTE);
    let answer = injector.front().push_or_wait(push, MINUTE).await;
    assert!(matches!(answer.unwrap(), Pushed::Duplicate(_)));
    assert!(injector.times(is_offer).len() > 1);
    assert_eq!(queue.depth().await.unwrap().ready, 1);
}

#[tokio::test(start_paused = true)]
async fn a_visit_rides_out_an_outage_and_ends_in_time() {
    let rotations = |call: &Call| matches!(call, Call::Rotate(_));
    let (ring, injector) = ring(move |at, call| match (rotations(call), at.as_secs()) {
        (true, 0..20) => Behaviour::Refused(down()),
        (true, 100..) => Behaviour::Hangs,
        (false, _) => Behaviour::Refused(forbidden()),
        _ => Behaviour::Made,
    })
    .await;
    ring.insert_one("a").await.unwrap();
    let front = injector.front();
    let (answer, took) = timed(front.visit(1, MINUTE)).await;
    assert_eq!(answer.unwrap().len(), 1);
    assert!((20 * SECOND..=21 * SECOND).contains(&took), "{took:?}");
    // Nothing is due, and no hint comes.
    let id = ring.list(Page::first(1)).await.unwrap().entries[0].id;
    ring.remove(&[id]).await.unwrap();
    let (answer, took) = timed(front.visit(1, 10 * SECOND)).await;
    assert_eq!(answer.unwrap(), []);
    about(took, 10 * SECOND);
    assert!(injector.times(rotations).len() < 60);
    tokio::time::sleep(100 * SECOND).await;
    let (answer, took) = timed(front.visit(1, 5 * SECOND)).await;
    answer.unwrap_err();
    about(took, 5 * SECOND);
}

/// Dropping it at any time leaves no trace.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_during_an_outage_loses_nothing() {
    let jobs = reliable().await;
    jobs.push_one("a").await.unwrap().id().unwrap();
    let failing = before(&jobs, leases_fail(3 * SECOND, down));
    let queue = Arc::new(failing.front());
    let receive = queue.receive(1, LEASE, MINUTE);
    tokio::time::timeout(2 * SECOND, receive).await.unwrap_err();
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(jobs.depth().await.unwrap().ready, 1);
}

/// Makes a call outside of any runtime; it must not wait.
fn outside<T>(call: impl Future<Output = T>) -> T {
    let mut poller = Poller::from_waker(Waker::noop());
    match pin!(call).poll(&mut poller) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it waits without a runtime"),
    }
}

#[test]
fn outside_of_a_runtime_only_a_wait_is_refused_and_says_what_to_do() {
    let queues = outside(connect("memory:")).unwrap();
    let jobs = outside(queues.reliable("jobs").open::<u64>()).unwrap();
    outside(jobs.push(&1)).unwrap();
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(!error.is_transient());
        assert!(error.to_string().contains("tokio runtime"), "{error}");
    };
    refused(outside(jobs.receive(LEASE, SECOND)).unwrap_err());
    let delivery = outside(jobs.receive(LEASE, Duration::ZERO)).unwrap();
    outside(delivery.expect("it was pushed").ack()).unwrap();
    refused(outside(jobs.queue().wait_for_arrival(SECOND)).unwrap_err());
}
