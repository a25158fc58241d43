use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::story::{Story, again, lease, leased, ms};

fn schedule(story: &mut Story, body: &'static str, after: u64) -> MessageId {
    story.put(Call::Schedule(vec![Scheduled::new(body, ms(after))]))
}

#[test]
fn due_messages_are_delivered_and_later_ones_moved_or_cancelled() {
    let mut story = Story::delay();
    schedule(&mut story, "a", 50);
    let second = schedule(&mut story, "b", 20);
    let third = schedule(&mut story, "c", 90);
    story.after(30);
    let first = story.take();
    assert_eq!(first.id(), second);
    story.call(Call::Cancel(vec![second, third]));
    story.call(Call::Reschedule(MessageId::new(1), Due::After(ms(5))));
    story.after(10);
    story.take();
    story.call(Call::NextDue);
    story.holds();
}

#[test]
fn d1_a_message_comes_early() {
    let mut story = Story::delay();
    schedule(&mut story, "a", 50);
    let mut other = Story::delay();
    schedule(&mut other, "a", 0);
    other.after(40);
    let early = other.take();
    story.after(40).says(lease(1), leased(&early));
    story.breaks("D1");
}

#[test]
fn d1_a_retry_comes_early() {
    let mut story = Story::delay();
    schedule(&mut story, "a", 0);
    let first = story.take();
    story.settle(Settlement::retry(first.receipt, ms(50)));
    let mut second = again(&first, 20);
    second.attempt = 2;
    story.after(20).says(lease(1), leased(&second));
    story.breaks("D1");
}

#[test]
fn d2_the_later_due_comes_first() {
    let mut story = Story::delay();
    schedule(&mut story, "a", 10);
    schedule(&mut story, "b", 20);
    story.after(30);
    let (first, second) = (story.take(), story.take());
    story.swap_last_two(&[first, second]);
    story.breaks("D2");
}

#[test]
fn d3_equal_bodies_are_one_message() {
    let mut story = Story::delay();
    let first = schedule(&mut story, "a", 10);
    let same = Call::Schedule(vec![Scheduled::new("a", ms(20))]);
    story.says(same, Answer::Pushed(vec![Pushed::Accepted(first)]));
    story.breaks("D3");
}

#[test]
fn d4_an_undelivered_message_is_too_late() {
    let mut story = Story::delay();
    let id = schedule(&mut story, "a", 10);
    let moved = Call::Reschedule(id, Due::After(ms(5)));
    story.says(moved, Answer::Rescheduled(Rescheduled::TooLate));
    story.breaks("D4");
}

#[test]
fn d4_a_leased_message_is_moved() {
    let mut story = Story::delay();
    let id = schedule(&mut story, "a", 0);
    story.take();
    let moved = Call::Reschedule(id, Due::After(ms(5)));
    story.says(moved, Answer::Rescheduled(Rescheduled::Moved));
    story.breaks("D4");
}

fn push_later(body: &'static str, after: u64) -> Call {
    Call::Push(vec![Push::new(body).with_due(ms(after))])
}

#[test]
fn a_message_due_later_joins_when_due() {
    let mut story = Story::reliable();
    story.call(push_later("a", 20));
    story.call(Call::Push(vec![
        Push::new("b"),
        Push::new("c").with_due(ms(0)),
        Push::new("d").with_due(ms(10)),
    ]));
    story.call(Call::Peek(Place::Delayed, Page::first(9)));
    story.after(30).push("e");
    for body in ["b", "c", "d", "a", "e"] {
        let delivery = story.take();
        assert_eq!(delivery.body, body);
        story.settle(Settlement::ack(delivery.receipt));
    }
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn d1_a_push_with_a_due_time_comes_early() {
    let mut story = Story::reliable();
    story.call(push_later("a", 50));
    let mut other = Story::reliable();
    other.push("a");
    let early = other.after(40).take();
    story.after(40).says(lease(1), leased(&early));
    story.breaks("D1");
}

#[test]
fn d1_what_is_not_due_is_shown_as_ready() {
    let mut story = Story::reliable();
    story.call(push_later("a", 50));
    let mut other = Story::reliable();
    other.push("a");
    let peek = Call::Peek(Place::Ready, Page::first(9));
    let early = other.call(peek.clone());
    story.says(peek, early);
    story.breaks("D1");
}

#[test]
fn l11_what_is_due_joins_before_what_was_there() {
    let mut story = Story::reliable();
    story.call(push_later("a", 50));
    story.push("b");
    story.after(50);
    let (first, second) = (story.take(), story.take());
    assert_eq!((&first.body[..], &second.body[..]), (&b"b"[..], &b"a"[..]));
    story.swap_last_two(&[first, second]);
    story.breaks("L11");
}

#[test]
fn p4_what_is_due_later_arrives_at_its_push() {
    let config = PriorityConfig::default().with_ageing(ms(10));
    let mut story = Story::of(QueueConfig::Priority(config));
    let later = Push::new("a").with_due(ms(50));
    story.call(Call::Enqueue(vec![Prioritized::new(later, 0)]));
    story.after(20);
    story.call(Call::Enqueue(vec![Prioritized::new("b", 0)]));
    story.after(40);
    let (first, second) = (story.take(), story.take());
    assert_eq!((&first.body[..], &second.body[..]), (&b"b"[..], &b"a"[..]));
    story.swap_last_two(&[first, second]);
    story.breaks("P4");
}
