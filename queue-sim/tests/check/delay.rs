use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::story::{Story, again, lease, leased, ms};

fn schedule(story: &mut Story, body: &'static str, after: u64) -> MessageId {
    match story.call(Call::Schedule(vec![Scheduled::new(body, ms(after))])) {
        Answer::Pushed(pushed) => pushed[0].id(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_due_comes_and_the_rest_is_moved_or_cancelled() {
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
fn d4_a_cancelled_message_comes() {
    let mut story = Story::delay();
    let id = schedule(&mut story, "a", 10);
    let mut other = Story::delay();
    schedule(&mut other, "a", 10);
    story.call(Call::Cancel(vec![id]));
    story.after(20);
    let delivery = other.after(20).take();
    story.says(lease(1), leased(&delivery));
    story.breaks("D4");
}

#[test]
fn d4_a_leased_message_is_cancelled() {
    let mut story = Story::delay();
    let id = schedule(&mut story, "a", 0);
    story.take();
    story.says(
        Call::Cancel(vec![id]),
        Answer::Cancelled(vec![Cancelled::Cancelled]),
    );
    story.breaks("D4");
}

#[test]
fn d4_an_undelivered_message_is_too_late() {
    let mut story = Story::delay();
    let id = schedule(&mut story, "a", 10);
    let moved = Call::Reschedule(id, Due::After(ms(5)));
    story.says(moved, Answer::Rescheduled(Rescheduled::TooLate));
    story.breaks("D4");
}
