//! Compares reports with their expected text.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    QueueConfig,
    call::{Answer, Call},
    *,
};
use queue_sim::{
    check::Finding,
    engine::in_virtual_time,
    history::{CallEnd, CallId, Event, History, Journal},
    plan::Process,
    report::{picture, timeline},
    world::EPOCH,
};

const LEASE_TIME: Duration = Duration::from_millis(20);

/// A handwritten history.
struct HistoryScript {
    journal: Journal,
    queue: QueueName,
}

impl HistoryScript {
    fn played(script_of: impl AsyncFnOnce(&Self)) -> History {
        in_virtual_time(async {
            let script = Self {
                journal: Journal::new(EPOCH, true),
                queue: QueueName::new("jobs").unwrap(),
            };
            script_of(&script).await;
            script.journal.take()
        })
    }

    fn begins(&self, process: u8, call: Call) -> CallId {
        self.journal.began(Process(process), &self.queue, call)
    }

    fn executed(&self, call: CallId) {
        self.journal.executed(call, self.journal.now());
    }

    fn answers(&self, call: CallId, answer: Answer) {
        self.journal.ended(call, CallEnd::Ok(answer));
    }

    /// A call that the backend executes and answers at once.
    fn call(&self, process: u8, call: Call, answer: Answer) {
        let id = self.begins(process, call);
        self.executed(id);
        self.answers(id, answer);
    }
}

async fn sleep(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

fn one() -> NonZeroUsize {
    NonZeroUsize::MIN
}

fn push(body: &'static str) -> Call {
    Call::Push(vec![Push::new(body)])
}

fn accepted(id: u64) -> Answer {
    Answer::Pushed(vec![Pushed::Accepted(MessageId::new(id))])
}

fn lease() -> Call {
    Call::Lease(one(), LEASE_TIME)
}

/// The receipt of the first lease in that millisecond.
fn receipt(id: u64, now: u64) -> Receipt {
    let token = EPOCH.plus_millis(now).as_millis() * 1_000;
    Receipt::new(MessageId::new(id), Token::new(token))
}

/// A delivery of message 1, which was pushed at this time before the lease.
fn delivered(receipt: Receipt, attempt: u32, age: u64) -> Answer {
    let body = Bytes::from_static(b"a");
    let mut delivery = Delivery::new(receipt, attempt, LEASE_TIME, body);
    delivery.age = Some(Duration::from_millis(age));
    Answer::Leased(Leased::of(vec![delivery]))
}

fn finding(rule: &'static str, message: &str, calls: &[u64]) -> Finding {
    Finding::new(rule, message).shown_by(calls.iter().copied().map(CallId))
}

fn reliable() -> QueueConfig {
    QueueConfig::Reliable(ReliableConfig::default())
}

#[track_caller]
fn assert_shows(shown: &str, expected: &str) {
    assert_eq!(shown, expected, "\n{shown}");
}

#[test]
fn a_stale_ack_that_was_taken() {
    let (first, second) = (receipt(1, 0), receipt(1, 20));
    let history = HistoryScript::played(async |script| {
        script.call(1, push("a"), accepted(1));
        script.call(1, lease(), delivered(first, 1, 0));
        sleep(20).await;
        script.call(2, lease(), delivered(second, 2, 20));
        sleep(1).await;
        let ack = Call::Settle(vec![Settlement::ack(first)]);
        script.call(1, ack, Answer::Settled(vec![Settled::Done]));
        script.journal.note(Event::Healed);
        script.call(3, Call::Depth, Answer::Depth(Depth::default()));
    });
    let broken = finding(
        "L4",
        "a stale receipt changed state at 1800000000021",
        &[3, 4],
    );
    let shown = timeline(&reliable(), &history, &broken, Some(41));
    assert_shows(&shown, STALE_ACK);
}

const STALE_ACK: &str = include_str!("report/stale_ack.txt");

#[test]
fn faults_crashes_and_late_executions() {
    let held = receipt(1, 5);
    let history = HistoryScript::played(async |script| {
        let late = script.begins(1, push("a"));
        script.journal.note(Event::Fault("late", Process(1)));
        sleep(5).await;
        let lost = "no reply within 5 ms".to_owned();
        script
            .journal
            .ended(late, CallEnd::Unknown(ErrorKind::Unavailable, lost));
        let never = script.begins(2, push("b"));
        script.journal.ended(never, CallEnd::Dropped);
        script.journal.note(Event::Crashed(Process(2)));
        script.executed(late);
        let wait = script.begins(2, Call::WaitForArrival(LEASE_TIME));
        script.call(1, lease(), delivered(held, 1, 0));
        script
            .journal
            .note(Event::Fault("scripts flushed", Process::WORLD));
        script
            .journal
            .note(Event::Stalled(Process(1), EPOCH.plus_millis(40)));
        sleep(20).await;
        script.answers(wait, Answer::Nothing);
        sleep(20).await;
        let again = script.begins(2, push("c"));
        script.executed(again);
        sleep(1).await;
        script.executed(again);
        script.answers(again, accepted(2));
        script.journal.note(Event::Healed);
        let depth = Depth::new(3, 0, 0, 0);
        script.call(3, Call::Depth, Answer::Depth(depth));
    });
    let broken = finding("progress", "process 3 waits for what never comes", &[]);
    let shown = timeline(&reliable(), &history, &broken, None);
    assert_shows(&shown, FAULTS);
}

const FAULTS: &str = include_str!("report/faults.txt");

/// Reports shorten calls that never end, and large ones.
#[test]
fn a_history_view_is_never_too_long_to_read() {
    let history = HistoryScript::played(async |script| {
        let large: Vec<_> = (0..100)
            .map(|_| Push::new("a body of some length"))
            .collect();
        let accepted = (1..=100).map(|id| Pushed::Accepted(MessageId::new(id)));
        let accepted = Answer::Pushed(accepted.collect());
        for _ in 0..2_000 {
            script.call(1, Call::Push(large.clone()), accepted.clone());
        }
    });
    let message = "a".repeat(1_000_000);
    let shown = timeline(
        &reliable(),
        &history,
        &finding("L5", &message, &[900]),
        None,
    );
    assert!(shown.len() < 500_000, "{} bytes", shown.len());
    assert!(shown.contains("rows are left out"), "{shown}");
    assert!(shown.contains("here L5 breaks"), "{shown}");
    assert!(shown.contains("bytes are left out)"), "{shown}");
}

#[test]
fn a_picture_shows_lanes_leases_and_states_and_needs_nothing_else() {
    let (first, second) = (receipt(1, 0), receipt(1, 20));
    let history = HistoryScript::played(async |script| {
        script.call(1, push("<b>\"&"), accepted(1));
        script.call(1, lease(), delivered(first, 1, 0));
        script.journal.note(Event::Crashed(Process(1)));
        sleep(20).await;
        script.call(2, lease(), delivered(second, 2, 20));
        let ack = Call::Settle(vec![Settlement::ack(second)]);
        script.call(2, ack, Answer::Settled(vec![Settled::Done]));
    });
    let broken = finding("L4", "a stale receipt changed state", &[4]);
    let page = picture(&reliable(), &history, &broken, "replay: 'v1:…'");
    let shows = |text: &str| assert!(page.contains(text), "no {text} in\n{page}");
    shows("process 1</div>");
    shows("process 2</div>");
    shows("class=\"bar expired\" title=\"lease 1 #1, until 20\"");
    shows("class=\"bar\" title=\"lease 1 #2, settled\"");
    shows("<span class=\"fault\">crashes, and forgets</span>");
    shows("<td>ready</td><td>1</td>");
    shows("<td>leased until</td><td>1 (40)</td>");
    shows("&lt;b&gt;");
    shows("here L4 breaks");
    shows("replay: 'v1:…'");
    for other in ["http", "<script", "src=", "url(", "@import", "<b>\\"] {
        assert!(!page.contains(other), "{other} in\n{page}");
    }
}
