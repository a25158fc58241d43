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
    report::timeline,
    world::EPOCH,
};

const LEASE_TIME: Duration = Duration::from_millis(20);

/// A handwritten history.
struct Story {
    journal: Journal,
    queue: QueueName,
}

impl Story {
    fn told(tell: impl AsyncFnOnce(&Self)) -> History {
        in_virtual_time(async {
            let story = Self {
                journal: Journal::new(EPOCH, true),
                queue: QueueName::new("jobs").unwrap(),
            };
            tell(&story).await;
            story.journal.take()
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

fn delivered(receipt: Receipt, attempt: u32) -> Answer {
    Answer::Leased(Leased::of(vec![Delivery {
        receipt,
        attempt,
        time_left: LEASE_TIME,
        body: Bytes::from_static(b"a"),
        headers: Headers::new(),
        failure: None,
    }]))
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
    let history = Story::told(async |story| {
        story.call(1, push("a"), accepted(1));
        story.call(1, lease(), delivered(first, 1));
        sleep(20).await;
        story.call(2, lease(), delivered(second, 2));
        sleep(1).await;
        let ack = Call::Settle(vec![Settlement::ack(first)]);
        story.call(1, ack, Answer::Settled(vec![Settled::Done]));
        story.journal.note(Event::Healed);
        story.call(3, Call::Depth, Answer::Depth(Depth::default()));
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
    let history = Story::told(async |story| {
        let late = story.begins(1, push("a"));
        story.journal.note(Event::Fault("late", Process(1)));
        sleep(5).await;
        let lost = "no reply within 5 ms".to_owned();
        story
            .journal
            .ended(late, CallEnd::Unknown(ErrorKind::Unavailable, lost));
        let never = story.begins(2, push("b"));
        story.journal.ended(never, CallEnd::Dropped);
        story.journal.note(Event::Crashed(Process(2)));
        story.executed(late);
        let wait = story.begins(2, Call::WaitForArrival(LEASE_TIME));
        story.call(1, lease(), delivered(held, 1));
        story
            .journal
            .note(Event::Fault("scripts flushed", Process::WORLD));
        story
            .journal
            .note(Event::Stalled(Process(1), EPOCH.plus_millis(40)));
        sleep(20).await;
        story.answers(wait, Answer::Nothing);
        sleep(20).await;
        let again = story.begins(2, push("c"));
        story.executed(again);
        sleep(1).await;
        story.executed(again);
        story.answers(again, accepted(2));
        story.journal.note(Event::Healed);
        let depth = Depth {
            ready: 3,
            ..Depth::default()
        };
        story.call(3, Call::Depth, Answer::Depth(depth));
    });
    let broken = finding("progress", "process 3 waits for what never comes", &[]);
    let shown = timeline(&reliable(), &history, &broken, None);
    assert_shows(&shown, FAULTS);
}

const FAULTS: &str = include_str!("report/faults.txt");

/// Reports shorten calls that never end, and large ones.
#[test]
fn a_story_is_never_too_long_to_read() {
    let history = Story::told(async |story| {
        let large: Vec<_> = (0..100)
            .map(|_| Push::new("a body of some length"))
            .collect();
        let accepted = (1..=100).map(|id| Pushed::Accepted(MessageId::new(id)));
        let accepted = Answer::Pushed(accepted.collect());
        for _ in 0..2_000 {
            story.call(1, Call::Push(large.clone()), accepted.clone());
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
