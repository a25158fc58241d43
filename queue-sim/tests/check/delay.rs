use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, again, lease, leased, ms, push};

fn schedule(history: &mut HistoryBuilder, body: &'static str, after: u64) -> MessageId {
    history.put(push_later(body, after))
}

fn push_later(body: &'static str, after: u64) -> Call {
    Call::Push(vec![Push::new(body).with_due(ms(after))])
}

fn reschedule(id: MessageId, after: u64) -> Call {
    Call::Reschedule(vec![id], Due::After(ms(after)))
}

#[test]
fn due_messages_are_delivered_and_later_ones_moved_or_cancelled() {
    let mut history = HistoryBuilder::delay();
    schedule(&mut history, "a", 50);
    let second = schedule(&mut history, "b", 20);
    let third = schedule(&mut history, "c", 90);
    history.after(30);
    let first = history.take();
    assert_eq!(first.id(), second);
    history.call(Call::Cancel(vec![second, third]));
    history.call(reschedule(MessageId::new(1), 5));
    history.after(10);
    history.take();
    history.call(Call::NextDue);
    history.holds();
}

#[test]
fn d1_a_message_comes_early() {
    let mut history = HistoryBuilder::delay();
    schedule(&mut history, "a", 50);
    let mut other = HistoryBuilder::delay();
    schedule(&mut other, "a", 0);
    other.after(40);
    let early = other.take();
    history.after(40).says(lease(1), leased(&early));
    history.breaks("D1");
}

#[test]
fn d1_a_retry_comes_early() {
    let mut history = HistoryBuilder::delay();
    schedule(&mut history, "a", 0);
    let first = history.take();
    history.settle(Settlement::retry(first.receipt, ms(50)));
    let mut second = again(&first, 20);
    second.attempt = 2;
    history.after(20).says(lease(1), leased(&second));
    history.breaks("D1");
}

#[test]
fn d2_the_later_due_comes_first() {
    let mut history = HistoryBuilder::delay();
    schedule(&mut history, "a", 10);
    schedule(&mut history, "b", 20);
    history.after(30);
    let (first, second) = (history.take(), history.take());
    history.swap_last_two(&[first, second]);
    history.breaks("D2");
}

#[test]
fn d3_equal_bodies_are_one_message() {
    let mut history = HistoryBuilder::delay();
    let first = schedule(&mut history, "a", 10);
    history.says(
        push_later("a", 20),
        Answer::Pushed(vec![Pushed::Accepted(first)]),
    );
    history.breaks("D3");
}

#[test]
fn d4_an_undelivered_message_is_too_late() {
    let mut history = HistoryBuilder::delay();
    let id = schedule(&mut history, "a", 10);
    let moved = reschedule(id, 5);
    history.says(moved, Answer::Rescheduled(vec![Rescheduled::TooLate]));
    history.breaks("D4");
}

#[test]
fn d4_a_leased_message_is_moved() {
    let mut history = HistoryBuilder::delay();
    let id = schedule(&mut history, "a", 0);
    history.take();
    let moved = reschedule(id, 5);
    history.says(moved, Answer::Rescheduled(vec![Rescheduled::Moved]));
    history.breaks("D4");
}

#[test]
fn a_message_due_later_joins_when_due() {
    let mut history = HistoryBuilder::reliable();
    history.call(push_later("a", 20));
    history.call(Call::Push(vec![
        Push::new("b"),
        Push::new("c").with_due(ms(0)),
        Push::new("d").with_due(ms(10)),
    ]));
    history.call(Call::Peek(Place::Delayed, Page::first(9)));
    history.after(30).push("e");
    for body in ["b", "c", "d", "a", "e"] {
        let delivery = history.take();
        assert_eq!(delivery.body, body);
        history.settle(Settlement::ack(delivery.receipt));
    }
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn d1_a_push_with_a_due_time_comes_early() {
    let mut history = HistoryBuilder::reliable();
    history.call(push_later("a", 50));
    let mut other = HistoryBuilder::reliable();
    other.push("a");
    let early = other.after(40).take();
    history.after(40).says(lease(1), leased(&early));
    history.breaks("D1");
}

#[test]
fn d1_a_message_that_is_not_due_is_shown_as_ready() {
    let mut history = HistoryBuilder::reliable();
    history.call(push_later("a", 50));
    let mut other = HistoryBuilder::reliable();
    other.push("a");
    let peek = Call::Peek(Place::Ready, Page::first(9));
    let early = other.call(peek.clone());
    history.says(peek, early);
    history.breaks("D1");
}

#[test]
fn l11_a_due_message_joins_before_ready_ones() {
    let mut history = HistoryBuilder::reliable();
    history.call(push_later("a", 50));
    history.push("b");
    history.after(50);
    let (first, second) = (history.take(), history.take());
    assert_eq!((&first.body[..], &second.body[..]), (&b"b"[..], &b"a"[..]));
    history.swap_last_two(&[first, second]);
    history.breaks("L11");
}

#[test]
fn p4_a_delayed_message_arrives_at_its_push() {
    let config = PriorityConfig::default().with_ageing(ms(10));
    let mut history = HistoryBuilder::of(QueueConfig::Priority(config));
    history.call(push_later("a", 50));
    history.after(20).push("b");
    history.after(40);
    let (first, second) = (history.take(), history.take());
    assert_eq!((&first.body[..], &second.body[..]), (&b"b"[..], &b"a"[..]));
    history.swap_last_two(&[first, second]);
    history.breaks("P4");
}

/// A message that waits for its due time after a retry, on a queue where it is ready otherwise.
fn retried(after: u64) -> (HistoryBuilder, Delivery) {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::retry(first.receipt, ms(after)));
    (history, first)
}

#[test]
fn delayed_messages_of_any_kind_are_moved() {
    let (mut history, retried) = retried(50);
    let second = history.put(push_later("b", 20));
    let ready = history.put(push("c"));
    history.call(Call::Reschedule(
        vec![retried.id(), second, ready],
        Due::After(ms(5)),
    ));
    history
        .after(5)
        .call(Call::Peek(Place::Ready, Page::first(9)));
    for body in ["c", "a", "b"] {
        assert_eq!(history.take().body, body);
    }
    history.call(reschedule(second, 0));
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn d4_a_ready_message_is_moved() {
    let mut history = HistoryBuilder::reliable();
    let id = history.put(push("a"));
    history.says(
        reschedule(id, 5),
        Answer::Rescheduled(vec![Rescheduled::Moved]),
    );
    history.breaks_first("D4");
}

#[test]
fn d4_a_delayed_message_is_too_late() {
    let mut history = HistoryBuilder::reliable();
    let id = history.put(push_later("a", 20));
    history.claims(
        reschedule(id, 5),
        Answer::Rescheduled(vec![Rescheduled::TooLate]),
    );
    history.breaks_first("D4");
    let (mut history, first) = retried(20);
    let too_late = Answer::Rescheduled(vec![Rescheduled::TooLate]);
    history.claims(reschedule(first.id(), 5), too_late);
    history.breaks_first("D4");
}

#[test]
fn d4_a_moved_message_keeps_its_due_time() {
    let (mut history, first) = retried(20);
    history.claims(
        reschedule(first.id(), 50),
        Answer::Rescheduled(vec![Rescheduled::Moved]),
    );
    history.after(20).take();
    history.breaks_first("D4");
}
