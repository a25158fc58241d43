use futures_util::FutureExt;

use super::{state::SWEEP, *};

const TRUSTED: Duration = Duration::from_secs(20);

fn board() -> Arc<WaiterRegistry> {
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

fn pass_on(name: &'static str, changes: usize) -> ServerRequest {
    ServerRequest::Forward {
        marker: marker(name),
        changes,
    }
}

fn orders(board: &WaiterRegistry) -> Vec<ServerRequest> {
    board.orders(usize::MAX)
}

fn is_woken(place: &mut Ticket) -> bool {
    place.woken().now_or_never().is_some()
}

#[test]
fn each_change_wakes_one_waiter_from_the_head_of_the_line() {
    let board = board();
    let mut places: Vec<_> = (0..4).map(|_| board.join(&marker("a"), None)).collect();
    let mut other = board.join(&marker("b"), None);
    assert_eq!(orders(&board), [join("a", 4), join("b", 1)]);
    board.notify(&marker("a"), 2);
    let woken: Vec<bool> = places.iter_mut().map(is_woken).collect();
    assert_eq!(woken, [true, true, false, false]);
    assert!(!is_woken(&mut other));
}

#[test]
fn surplus_wakeups_are_forwarded() {
    let board = board();
    let mut place = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    board.notify(&marker("a"), 3);
    assert!(is_woken(&mut place));
    assert_eq!(orders(&board), [pass_on("a", 2)]);
}

#[test]
fn waiters_that_were_not_woken_are_registered_again() {
    let board = board();
    let places: Vec<_> = (0..3).map(|_| board.join(&marker("a"), None)).collect();
    assert_eq!(orders(&board), [join("a", 3)]);
    board.joined(&marker("a"), 3, 0);
    assert_eq!(orders(&board), []);
    board.notify(&marker("a"), 1);
    assert_eq!(orders(&board), [join("a", 2)]);
    // More changes than callers here: the notified caller finds out whether any messages are left.
    board.joined(&marker("a"), 2, 9);
    assert_eq!(orders(&board), []);
    drop(places);
    assert_eq!(orders(&board), [pass_on("a", 3)]);
}

/// The process may read the server's notification before the reply to an earlier registration.
#[test]
fn a_registration_that_was_used_up_meanwhile_is_not_trusted() {
    let board = board();
    let _places: Vec<_> = (0..2).map(|_| board.join(&marker("a"), None)).collect();
    assert_eq!(orders(&board), [join("a", 2)]);
    board.notify(&marker("a"), 1);
    board.joined(&marker("a"), 2, 0);
    assert_eq!(orders(&board), [join("a", 1)]);
}

#[test]
fn a_waiter_dropped_unnoticed_passes_its_wakeup_on() {
    let board = board();
    let (first, mut second) = (
        board.join(&marker("a"), None),
        board.join(&marker("a"), None),
    );
    board.notify(&marker("a"), 1);
    drop(first);
    assert!(is_woken(&mut second));
    drop(second);
    assert_eq!(orders(&board), []);
}

#[test]
fn the_last_to_be_dropped_passes_it_on_to_other_processes() {
    let board = board();
    let place = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    board.notify(&marker("a"), 1);
    drop(place);
    let asked = orders(&board);
    assert_eq!(asked, [pass_on("a", 1)]);
    // A lost connection does not lose the request, either.
    board.unanswered(asked);
    assert_eq!(orders(&board), [pass_on("a", 1)]);
}

#[test]
fn a_joining_waiter_takes_a_change_that_nobody_could_use() {
    let board = board();
    board.notify(&marker("a"), 1);
    let mut other = board.join(&marker("b"), None);
    assert!(!is_woken(&mut other));
    let mut place = board.join(&marker("a"), None);
    assert!(is_woken(&mut place));
    assert_eq!(orders(&board), [join("b", 1)]);
}

#[test]
fn lost_registrations_are_requested_again() {
    let board = board();
    let _place = board.join(&marker("a"), None);
    board.unanswered(orders(&board));
    assert_eq!(orders(&board), [join("a", 1)]);
    board.joined(&marker("a"), 1, 0);
    board.forget(&marker("a"));
    assert_eq!(orders(&board), [join("a", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_registration_is_trusted_for_a_while_and_forgotten_then() {
    let board = board();
    let mut waits = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    board.joined(&marker("a"), 1, 0);
    for n in 0..3 * SWEEP {
        let marker = Bytes::from(n.to_string());
        let place = board.join(&marker, None);
        assert_eq!(orders(&board).len(), 1);
        board.joined(&marker, 1, 0);
        drop(place);
        // The process is still registered, so the next waiting caller need not register.
        drop(board.join(&marker, None));
        assert_eq!(orders(&board), []);
        if n == SWEEP {
            tokio::time::advance(TRUSTED * KEPT).await;
        }
    }
    assert!(board.lock().lines.len() <= 2 * SWEEP);
    assert!(!is_woken(&mut waits), "who waits is not forgotten");
    let _place = board.join(&Bytes::from("0"), None);
    assert_eq!(orders(&board).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_registration_is_not_requested_again_at_once() {
    let board = board();
    let _first = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    let reason = Error::new(queue_core::ErrorKind::Configuration, "another type");
    board.refused(&marker("a"), reason);
    let _second = board.join(&marker("a"), None);
    assert_eq!(orders(&board), []);
    tokio::time::advance(TRUSTED / 4).await;
    let _third = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 3)]);
    // The error lasts until the server accepts that marker, whatever it replies for another.
    board.joined(&marker("b"), 1, 0);
    assert!(board.trouble().is_some());
    board.joined(&marker("a"), 3, 0);
    assert!(board.trouble().is_none());
}

#[test]
fn a_lost_connection_makes_every_waiter_poll() {
    let board = board();
    let mut places = [
        board.join(&marker("a"), None),
        board.join(&marker("b"), None),
    ];
    board.wake_all();
    assert!(places.iter_mut().all(is_woken));
    assert_eq!(orders(&board), []);
    assert!(board.lock().lines.is_empty());
}

#[test]
fn waiters_of_a_removed_queue_poll_and_forward_nothing() {
    let board = board();
    let mut places: Vec<_> = (0..3).map(|_| board.join(&marker("a"), None)).collect();
    let mut other = board.join(&marker("b"), None);
    assert_eq!(orders(&board), [join("a", 3), join("b", 1)]);
    board.joined(&marker("a"), 3, 0);
    board.gone(&marker("a"));
    assert!(places.iter_mut().all(is_woken));
    assert!(!is_woken(&mut other));
    drop(places);
    assert_eq!(orders(&board), []);
    // Nobody waits: a change that no caller here could use is dropped.
    board.notify(&marker("a"), 2);
    board.gone(&marker("a"));
    assert_eq!(orders(&board), []);
    // The registration was removed with the queue.
    let _place = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
}

/// While a slot is moving, its old node refuses to register, and a caller that polled comes there again.
#[test]
fn a_waiter_whose_slot_moved_polls_and_is_registered_when_it_comes_again() {
    let board = board();
    let mut first = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    board.moved(&marker("a"));
    assert!(is_woken(&mut first));
    assert_eq!(orders(&board), []);
    let _second = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
}

/// The removal message may overtake the reply to a registration at the next queue of the name.
#[test]
fn a_registration_that_a_removal_may_have_taken_is_not_trusted() {
    let board = board();
    let mut first = board.join(&marker("a"), None);
    assert_eq!(orders(&board), [join("a", 1)]);
    board.gone(&marker("a"));
    assert!(is_woken(&mut first));
    let _second = board.join(&marker("a"), None);
    assert_eq!(orders(&board), []);
    board.joined(&marker("a"), 1, 0);
    assert_eq!(orders(&board), [join("a", 1)]);
}

/// Keeps the messages that go back.
#[derive(Debug, Default)]
struct Basket(Mutex<Vec<Bytes>>);

impl ReturnLease for Basket {
    fn give_back(&self, handed: Bytes) {
        self.0.lock().unwrap().push(handed);
    }
}

impl Basket {
    fn terms(self: &Arc<Self>, text: &str) -> Option<HandoffTerms> {
        let returns: Weak<Self> = Arc::downgrade(self);
        Some(HandoffTerms {
            text: text.into(),
            returns,
        })
    }

    fn take(&self) -> Vec<Bytes> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
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
    let (board, basket) = (board(), Arc::new(Basket::default()));
    let a = marker("a");
    let mut first = board.join(&a, basket.terms("30 x"));
    let mut other = board.join(&a, basket.terms("40 x"));
    assert_eq!(orders(&board), [join_by("a", 2, " 0 30 x", None)]);
    board.joined(&a, 2, 0);
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut late = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board), [], "its terms are those of the first");
    board.hand_over(&a, handed(0, 5));
    assert_eq!(first.woken().await, Wake::HandedOver(MESSAGE));
    assert!(!is_woken(&mut other) && !is_woken(&mut late));
    // The registration is used up; now another caller waits longest, with other terms.
    assert_eq!(
        orders(&board),
        [join_by("a", 2, " 1 40 x", Some(" 0 30 x"))]
    );
    board.joined(&a, 2, 0);
    board.hand_over(&a, handed(1, 0));
    assert_eq!(other.woken().await, Wake::HandedOver(MESSAGE));
    assert_eq!(basket.take(), Vec::<Bytes>::new());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_nobody_waited_for_goes_back() {
    let (board, basket) = (board(), Arc::new(Basket::default()));
    let a = marker("a");
    let first = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board), [join_by("a", 1, " 0 30 x", None)]);
    board.joined(&a, 1, 0);
    drop(first);
    tokio::time::advance(Duration::from_millis(10)).await;
    let mut second = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board), [], "the registration serves it, too");
    // The message may have been leased before the second caller came: the server counts whole milliseconds.
    board.hand_over(&a, handed(0, 10));
    assert_eq!(basket.take(), [MESSAGE]);
    assert_eq!(
        orders(&board),
        [join_by("a", 1, " 1 30 x", Some(" 0 30 x"))]
    );
    board.joined(&a, 1, 0);
    // From a registration that was replaced.
    board.hand_over(&a, handed(0, 20));
    assert_eq!(basket.take(), [MESSAGE]);
    // From another registry that listens to the same channel.
    board.hand_over(&a, handed(2, 0));
    assert_eq!(basket.take(), Vec::<Bytes>::new());
    assert!(!is_woken(&mut second));
    board.hand_over(&a, handed(1, 0));
    assert!(is_woken(&mut second));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_leaves_at_the_handover_keeps_the_message_or_returns_it() {
    let (board, basket) = (board(), Arc::new(Basket::default()));
    let a = marker("a");
    let mut leaves = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board).len(), 1);
    board.joined(&a, 1, 0);
    board.hand_over(&a, handed(0, 0));
    assert_eq!(leaves.leave(), Some(MESSAGE));
    drop(leaves);
    assert_eq!(basket.take(), Vec::<Bytes>::new());
    let dropped = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board).len(), 1);
    board.joined(&a, 1, 0);
    board.hand_over(&a, handed(1, 0));
    drop(dropped);
    assert_eq!(basket.take(), [MESSAGE]);
    // No handle is left: the lease expires.
    let last = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board).len(), 1);
    board.joined(&a, 1, 0);
    drop(basket);
    board.hand_over(&a, handed(2, 0));
    drop(last);
}

/// A registration that remains beside its successor would get a message that goes back, uncharged and late.
#[tokio::test(start_paused = true)]
async fn the_next_registration_replaces_one_that_may_still_exist() {
    type Between = fn(&Arc<WaiterRegistry>, &Arc<Basket>);
    let a = || marker("a");
    let between: [(&str, Between); 4] = [
        (
            "who waits by other terms leaves at once",
            |board, basket| {
                drop(board.join(&marker("a"), basket.terms("40 x")));
            },
        ),
        ("the connection is lost", |board, _| board.wake_all()),
        ("the queue is found at another node", |board, _| {
            board.moved(&marker("a"));
        }),
        ("many wait elsewhere", |board, _| {
            for n in 0..2 * SWEEP {
                drop(board.join(&Bytes::from(n.to_string()), None));
            }
        }),
    ];
    for (what, happens) in between {
        let (board, basket) = (board(), Arc::new(Basket::default()));
        let first = board.join(&a(), basket.terms("30 x"));
        assert_eq!(orders(&board), [join_by("a", 1, " 0 30 x", None)]);
        board.joined(&a(), 1, 0);
        drop(first);
        tokio::time::advance(TRUSTED).await;
        happens(&board, &basket);
        assert_eq!(orders(&board), [], "{what}");
        let _second = board.join(&a(), basket.terms("30 x"));
        let next = join_by("a", 1, " 1 30 x", Some(" 0 30 x"));
        assert_eq!(orders(&board), [next], "{what}");
    }
}

/// The server's notification may belong to the previous registration, and the reply comes after it.
#[test]
fn a_registration_of_unknown_state_is_replaced() {
    let (board, basket) = (board(), Arc::new(Basket::default()));
    let a = marker("a");
    let mut first = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board), [join_by("a", 1, " 0 30 x", None)]);
    board.notify(&a, 1);
    assert!(is_woken(&mut first));
    board.joined(&a, 1, 0);
    drop(first);
    assert_eq!(orders(&board), []);
    let _second = board.join(&a, basket.terms("30 x"));
    let next = join_by("a", 1, " 1 30 x", Some(" 0 30 x"));
    assert_eq!(orders(&board), [next]);
}

#[test]
fn a_hint_waiter_is_registered_without_terms() {
    let (board, basket) = (board(), Arc::new(Basket::default()));
    let a = marker("a");
    let by_hint = board.join(&a, None);
    let by_message = board.join(&a, basket.terms("30 x"));
    assert_eq!(orders(&board), [join("a", 2)], "the first waits for a hint");
    board.joined(&a, 2, 0);
    drop(by_hint);
    assert_eq!(
        orders(&board),
        [join_by("a", 1, " 1 30 x", Some(""))],
        "the first waits for a message"
    );
    drop(by_message);
}

#[test]
fn handles_that_are_gone_are_forgotten() {
    let (board, kept) = (board(), Arc::new(Basket::default()));
    drop(board.join(&marker("kept"), kept.terms("30 x")));
    for n in 0..3 * SWEEP {
        let gone = Arc::new(Basket::default());
        drop(board.join(&Bytes::from(n.to_string()), gone.terms("30 x")));
    }
    let state = board.lock();
    assert!(state.returns.len() <= 2 * SWEEP);
    assert!(state.returns.contains_key(&marker("kept")));
}
