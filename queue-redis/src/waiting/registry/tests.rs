use futures_util::FutureExt;
use redis_link::ScriptCall;

use super::{super::waiter::RETURNS, *};

const TRUSTED: Duration = Duration::from_secs(20);

fn registry() -> Arc<WaiterRegistry> {
    Arc::new(WaiterRegistry::new(TRUSTED, 0))
}

fn marker(name: &'static str) -> Bytes {
    Bytes::from_static(name.as_bytes())
}

fn join(name: &'static str, waiting: usize) -> ServerRequest {
    ServerRequest::Register {
        marker: marker(name),
        waiting,
        terms: String::new(),
        before: None,
    }
}

fn forward(name: &'static str, changes: usize) -> ServerRequest {
    ServerRequest::Forward {
        marker: marker(name),
        changes,
    }
}

fn requests(registry: &WaiterRegistry) -> Vec<ServerRequest> {
    registry.requests(usize::MAX)
}

fn is_woken(place: &mut Ticket) -> bool {
    place.woken().now_or_never().is_some()
}

#[test]
fn each_change_wakes_one_waiter_from_the_head_of_the_line() {
    let registry = registry();
    let mut places: Vec<_> = (0..4)
        .map(|_| registry.join(&marker("a"), None, None))
        .collect();
    let mut other = registry.join(&marker("b"), None, None);
    assert_eq!(requests(&registry), [join("a", 4), join("b", 1)]);
    registry.notify(&marker("a"), 2);
    let woken: Vec<bool> = places.iter_mut().map(is_woken).collect();
    assert_eq!(woken, [true, true, false, false]);
    assert!(!is_woken(&mut other));
}

#[test]
fn surplus_wakeups_are_forwarded() {
    let registry = registry();
    let mut place = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.notify(&marker("a"), 3);
    assert!(is_woken(&mut place));
    assert_eq!(requests(&registry), [forward("a", 2)]);
}

#[test]
fn waiters_that_were_not_woken_are_registered_again() {
    let registry = registry();
    let places: Vec<_> = (0..3)
        .map(|_| registry.join(&marker("a"), None, None))
        .collect();
    assert_eq!(requests(&registry), [join("a", 3)]);
    registry.registered(&marker("a"), 3, 0);
    assert_eq!(requests(&registry), []);
    registry.notify(&marker("a"), 1);
    assert_eq!(requests(&registry), [join("a", 2)]);
    // More changes than callers here: the notified caller finds out whether any messages are left.
    registry.registered(&marker("a"), 2, 9);
    assert_eq!(requests(&registry), []);
    drop(places);
    assert_eq!(requests(&registry), [forward("a", 3)]);
}

/// The process may read the server's notification before the reply to an earlier registration.
#[test]
fn a_registration_that_was_used_up_meanwhile_is_not_trusted() {
    let registry = registry();
    let _places: Vec<_> = (0..2)
        .map(|_| registry.join(&marker("a"), None, None))
        .collect();
    assert_eq!(requests(&registry), [join("a", 2)]);
    registry.notify(&marker("a"), 1);
    registry.registered(&marker("a"), 2, 0);
    assert_eq!(requests(&registry), [join("a", 1)]);
}

#[test]
fn the_last_to_be_dropped_passes_it_on_to_other_processes() {
    let registry = registry();
    let place = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.notify(&marker("a"), 1);
    drop(place);
    let asked = requests(&registry);
    assert_eq!(asked, [forward("a", 1)]);
    // A lost connection does not lose the request, either.
    registry.unanswered(asked);
    assert_eq!(requests(&registry), [forward("a", 1)]);
}

#[test]
fn a_joining_waiter_takes_a_change_that_nobody_could_use() {
    let registry = registry();
    registry.notify(&marker("a"), 1);
    let mut other = registry.join(&marker("b"), None, None);
    assert!(!is_woken(&mut other));
    let mut place = registry.join(&marker("a"), None, None);
    assert!(is_woken(&mut place));
    assert_eq!(requests(&registry), [join("b", 1)]);
}

#[test]
fn lost_registrations_are_requested_again() {
    let registry = registry();
    let _place = registry.join(&marker("a"), None, None);
    registry.unanswered(requests(&registry));
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.registered(&marker("a"), 1, 0);
    registry.forget(&marker("a"));
    assert_eq!(requests(&registry), [join("a", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_trusted_for_a_while_and_forgotten_then() {
    let registry = registry();
    let mut waits = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.registered(&marker("a"), 1, 0);
    for n in 0..3 * SWEEP {
        let marker = Bytes::from(n.to_string());
        let place = registry.join(&marker, None, None);
        assert_eq!(requests(&registry).len(), 1);
        registry.registered(&marker, 1, 0);
        drop(place);
        // The process is still registered, so the next waiting caller need not register.
        drop(registry.join(&marker, None, None));
        assert_eq!(requests(&registry), []);
        if n == SWEEP {
            tokio::time::advance(TRUSTED * KEPT).await;
        }
    }
    assert!(registry.lock().markers.len() <= 2 * SWEEP);
    assert!(!is_woken(&mut waits), "who waits is not forgotten");
    let _place = registry.join(&Bytes::from("0"), None, None);
    assert_eq!(requests(&registry).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_registration_is_not_requested_again_at_once() {
    let registry = registry();
    let _first = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    let reason = Error::new(queue_core::ErrorKind::Configuration, "another type");
    registry.refused(&marker("a"), reason);
    let _second = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), []);
    tokio::time::advance(TRUSTED / 4).await;
    let _third = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 3)]);
    // The error lasts until the server accepts that marker, whatever it replies for another.
    registry.registered(&marker("b"), 1, 0);
    assert!(registry.trouble().is_some());
    registry.registered(&marker("a"), 3, 0);
    assert!(registry.trouble().is_none());
}

#[test]
fn waiters_of_a_removed_queue_poll_and_forward_nothing() {
    let registry = registry();
    let mut places: Vec<_> = (0..3)
        .map(|_| registry.join(&marker("a"), None, None))
        .collect();
    let mut other = registry.join(&marker("b"), None, None);
    assert_eq!(requests(&registry), [join("a", 3), join("b", 1)]);
    registry.registered(&marker("a"), 3, 0);
    registry.gone(&marker("a"));
    assert!(places.iter_mut().all(is_woken));
    assert!(!is_woken(&mut other));
    drop(places);
    assert_eq!(requests(&registry), []);
    // Nobody waits: a change that no caller here could use is dropped.
    registry.notify(&marker("a"), 2);
    registry.gone(&marker("a"));
    assert_eq!(requests(&registry), []);
    // The registration was removed with the queue.
    let _place = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
}

/// While a slot is moving, its old node refuses to register, and a caller that polled comes there again.
#[test]
fn a_waiter_whose_slot_moved_polls_and_is_registered_when_it_comes_again() {
    let registry = registry();
    let mut first = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.moved(&marker("a"));
    assert!(is_woken(&mut first));
    assert_eq!(requests(&registry), []);
    let _second = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
}

/// The removal message may overtake the reply to a registration at the next queue of the name.
#[test]
fn a_registration_that_a_removal_may_have_taken_is_not_trusted() {
    let registry = registry();
    let mut first = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), [join("a", 1)]);
    registry.gone(&marker("a"));
    assert!(is_woken(&mut first));
    let _second = registry.join(&marker("a"), None, None);
    assert_eq!(requests(&registry), []);
    registry.registered(&marker("a"), 1, 0);
    assert_eq!(requests(&registry), [join("a", 1)]);
}

/// A woken caller may be the only one that knows of a change.
#[tokio::test(start_paused = true)]
async fn a_remembered_change_wakes_a_waiter_unless_one_that_knows_of_it_joins() {
    let registry = registry();
    let mut place = registry.join(&marker("a"), None, None);
    let change = Instant::now() + Duration::from_millis(30);
    registry.remember(&marker("a"), change, change);
    registry.remember(&marker("b"), change, change);
    let _knows = registry.join(&marker("b"), None, Some(change));
    registry.wake_for_known_changes().await;
    assert_eq!(Instant::now(), change);
    assert!(is_woken(&mut place));
    assert_eq!(next_known_change(&registry).await, None);
}

/// How long it takes until a known change has to be notified.
async fn next_known_change(registry: &WaiterRegistry) -> Option<Duration> {
    let start = Instant::now();
    let wakes = registry.wake_for_known_changes();
    let woken = tokio::time::timeout(Duration::from_secs(3600), wakes).await;
    woken.is_ok().then(|| start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn the_first_known_change_at_a_marker_is_notified_once() {
    let (registry, start) = (registry(), Instant::now());
    for (name, millis) in [("a", 20), ("a", 10), ("b", 30)] {
        let change = start + Duration::from_millis(millis);
        registry.remember(&marker(name), change, change);
    }
    let next = next_known_change(&registry).await;
    assert_eq!(next, Some(Duration::from_millis(10)));
    assert_eq!(requests(&registry), [forward("a", 1)]);
    let next = next_known_change(&registry).await;
    assert_eq!(next, Some(Duration::from_millis(20)));
    assert_eq!(requests(&registry), [forward("b", 1)]);
    assert_eq!(next_known_change(&registry).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_leaves_its_change_to_others_unless_one_that_knows_of_it_waits() {
    let second = Duration::from_secs(1);
    // A caller that knows only of a later change is soon notified.
    for (later, notified) in [(Duration::ZERO, None), (second, Some(RETURNS))] {
        let (registry, change) = (registry(), Instant::now() + second);
        drop(registry.join(&marker("a"), None, Some(change)));
        let mut waits = registry.join(&marker("a"), None, Some(change + later));
        assert_eq!(next_known_change(&registry).await, notified);
        assert_eq!(is_woken(&mut waits), notified.is_some());
    }
}

/// A queue without a server.
#[derive(Debug)]
struct Queue;

impl ReleaseUnwanted for Queue {
    fn release(&self, _handed: Bytes, _now: &str) -> Option<ScriptCall> {
        None
    }
}

fn terms(text: &str) -> Option<HandoffTerms> {
    Some(HandoffTerms {
        text: text.into(),
        queue: Arc::new(Queue),
    })
}

/// The messages that go back.
fn unwanted(registry: &WaiterRegistry) -> Vec<Bytes> {
    let unwanted = std::mem::take(&mut registry.lock().unwanted);
    unwanted
        .into_iter()
        .map(|unwanted| unwanted.lease)
        .collect()
}

const MESSAGE: Bytes = Bytes::from_static(b"message");

fn handed(serial: u64, age: u64) -> HandedOver {
    HandedOver {
        serial,
        age: Duration::from_millis(age),
        lease: MESSAGE,
    }
}

fn join_by(name: &'static str, waiting: usize, terms: &str, before: Option<&str>) -> ServerRequest {
    ServerRequest::Register {
        marker: marker(name),
        waiting,
        terms: terms.to_owned(),
        before: before.map(str::to_owned),
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_goes_to_a_waiter_that_waited_by_its_terms_at_the_lease() {
    let registry = registry();
    let a = marker("a");
    let mut first = registry.join(&a, terms("30 x"), None);
    let mut other = registry.join(&a, terms("40 x"), None);
    assert_eq!(requests(&registry), [join_by("a", 2, " 0 30 x", None)]);
    registry.registered(&a, 2, 0);
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut late = registry.join(&a, terms("30 x"), None);
    assert_eq!(requests(&registry), [], "its terms are those of the first");
    registry.hand_over(&a, handed(0, 5));
    assert_eq!(first.woken().await, Wake::HandedOver(MESSAGE));
    assert!(!is_woken(&mut other) && !is_woken(&mut late));
    // The registration is used up; now another caller waits longest, with other terms.
    assert_eq!(
        requests(&registry),
        [join_by("a", 2, " 1 40 x", Some(" 0 30 x"))]
    );
    registry.registered(&a, 2, 0);
    registry.hand_over(&a, handed(1, 0));
    assert_eq!(other.woken().await, Wake::HandedOver(MESSAGE));
    assert_eq!(unwanted(&registry), Vec::<Bytes>::new());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_nobody_waited_for_goes_back() {
    let registry = registry();
    let a = marker("a");
    let first = registry.join(&a, terms("30 x"), None);
    assert_eq!(requests(&registry), [join_by("a", 1, " 0 30 x", None)]);
    registry.registered(&a, 1, 0);
    drop(first);
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut second = registry.join(&a, terms("30 x"), None);
    assert_eq!(requests(&registry), [], "the registration serves it, too");
    // The message may have been leased before the second caller came: the server counts whole milliseconds.
    registry.hand_over(&a, handed(0, 10));
    assert_eq!(unwanted(&registry), [MESSAGE]);
    assert_eq!(
        requests(&registry),
        [join_by("a", 1, " 1 30 x", Some(" 0 30 x"))]
    );
    registry.registered(&a, 1, 0);
    // From a registration that was replaced.
    registry.hand_over(&a, handed(0, 20));
    assert_eq!(unwanted(&registry), [MESSAGE]);
    // From another registry that listens to the same channel.
    registry.hand_over(&a, handed(2, 0));
    assert_eq!(unwanted(&registry), Vec::<Bytes>::new());
    assert!(!is_woken(&mut second));
    registry.hand_over(&a, handed(1, 0));
    assert!(is_woken(&mut second));
}

/// A registration that remains beside its successor would get a message that goes back, uncharged and late.
#[tokio::test(start_paused = true)]
async fn the_next_registration_replaces_one_that_may_still_exist() {
    type Between = fn(&Arc<WaiterRegistry>);
    let a = || marker("a");
    let between: [(&str, Between); 4] = [
        ("who waits by other terms leaves at once", |registry| {
            drop(registry.join(&marker("a"), terms("40 x"), None));
        }),
        ("the connection is lost", |registry| registry.wake_all()),
        ("the queue is found at another node", |registry| {
            registry.moved(&marker("a"));
        }),
        ("many wait elsewhere", |registry| {
            for n in 0..2 * SWEEP {
                drop(registry.join(&Bytes::from(n.to_string()), None, None));
            }
        }),
    ];
    for (what, happens) in between {
        let registry = registry();
        let first = registry.join(&a(), terms("30 x"), None);
        assert_eq!(requests(&registry), [join_by("a", 1, " 0 30 x", None)]);
        registry.registered(&a(), 1, 0);
        drop(first);
        tokio::time::advance(TRUSTED).await;
        happens(&registry);
        assert_eq!(requests(&registry), [], "{what}");
        let _second = registry.join(&a(), terms("30 x"), None);
        let next = join_by("a", 1, " 1 30 x", Some(" 0 30 x"));
        assert_eq!(requests(&registry), [next], "{what}");
    }
}

/// The server's notification may belong to the previous registration, and the reply comes after it.
#[test]
fn a_registration_of_unknown_state_is_replaced() {
    let registry = registry();
    let a = marker("a");
    let mut first = registry.join(&a, terms("30 x"), None);
    assert_eq!(requests(&registry), [join_by("a", 1, " 0 30 x", None)]);
    registry.notify(&a, 1);
    assert!(is_woken(&mut first));
    registry.registered(&a, 1, 0);
    drop(first);
    assert_eq!(requests(&registry), []);
    let _second = registry.join(&a, terms("30 x"), None);
    let next = join_by("a", 1, " 1 30 x", Some(" 0 30 x"));
    assert_eq!(requests(&registry), [next]);
}

#[test]
fn a_hint_waiter_is_registered_without_terms() {
    let registry = registry();
    let a = marker("a");
    let by_hint = registry.join(&a, None, None);
    let by_message = registry.join(&a, terms("30 x"), None);
    assert_eq!(
        requests(&registry),
        [join("a", 2)],
        "the first waits for a hint"
    );
    registry.registered(&a, 2, 0);
    drop(by_hint);
    assert_eq!(
        requests(&registry),
        [join_by("a", 1, " 1 30 x", Some(""))],
        "the first waits for a message"
    );
    drop(by_message);
}

#[tokio::test(start_paused = true)]
async fn markers_without_a_registration_are_forgotten() {
    let registry = registry();
    drop(registry.join(&marker("kept"), terms("30 x"), None));
    assert_eq!(requests(&registry).len(), 0);
    let _waits = registry.join(&marker("kept"), terms("30 x"), None);
    assert_eq!(requests(&registry).len(), 1);
    for n in 0..3 * SWEEP {
        drop(registry.join(&Bytes::from(n.to_string()), terms("30 x"), None));
        assert_eq!(requests(&registry).len(), 0);
    }
    let state = registry.lock();
    assert!(state.markers.len() <= 2 * SWEEP);
    assert!(state.markers.contains_key(&marker("kept")));
}

/// The queue's handle may be gone, too. The server has the registration until it ends.
#[tokio::test(start_paused = true)]
async fn a_message_goes_back_after_its_queue_is_dropped() {
    let registry = registry();
    let a = marker("a");
    drop({
        let waits = registry.join(&a, terms("30 x"), None);
        assert_eq!(requests(&registry), [join_by("a", 1, " 0 30 x", None)]);
        registry.registered(&a, 1, 0);
        waits
    });
    registry.hand_over(&a, handed(0, 10));
    let asked = requests(&registry);
    let [ServerRequest::Release(unwanted)] = &asked[..] else {
        panic!("not a release: {asked:?}")
    };
    assert_eq!(unwanted.lease, MESSAGE);
    registry.unanswered(asked.clone());
    assert_eq!(
        requests(&registry),
        asked,
        "a lost connection does not lose it"
    );
}
