use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::story::{Story, again, lease, leased, push};

fn says(story: &mut Story, id: MessageId, answer: Cancelled) {
    story.says(Call::Cancel(vec![id]), Answer::Cancelled(vec![answer]));
}

#[test]
fn undelivered_messages_are_cancelled_and_others_answered_one_by_one() {
    let mut story = Story::reliable();
    let ids = ["a", "b", "c"].map(|body| story.push(body));
    let first = story.take();
    let beyond = MessageId::new(4);
    let answer = story.call(Call::Cancel(vec![ids[0], ids[1], ids[1], beyond]));
    let answers = [
        Cancelled::TooLate,
        Cancelled::Cancelled,
        Cancelled::TooLate,
        Cancelled::NeverWas,
    ];
    assert_eq!(answer, Answer::Cancelled(answers.to_vec()));
    story.settle(Settlement::release(first.receipt));
    story.call(Call::Cancel(vec![ids[0]]));
    assert_eq!(story.take().id(), ids[2]);
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn l15_a_cancelled_message_comes() {
    let mut story = Story::reliable();
    let id = story.push("a");
    let mut other = Story::reliable();
    other.push("a");
    let delivery = other.take();
    story.call(Call::Cancel(vec![id]));
    story.claims(lease(1), leased(&again(&delivery, 1)));
    story.breaks("L15");
}

#[test]
fn l15_a_leased_message_is_cancelled() {
    let mut story = Story::reliable();
    let id = story.push("a");
    story.take();
    says(&mut story, id, Cancelled::Cancelled);
    story.breaks("L15");
}

#[test]
fn l15_an_undelivered_message_is_too_late() {
    let mut story = Story::reliable();
    let id = story.push("a");
    says(&mut story, id, Cancelled::TooLate);
    story.breaks("L15");
}

#[test]
fn l15_what_never_was_is_too_late() {
    let mut story = Story::reliable();
    story.push("a");
    says(&mut story, MessageId::new(2), Cancelled::TooLate);
    story.breaks_first("L15");
}

#[test]
fn l15_what_was_never_was() {
    let mut story = Story::reliable();
    let id = story.push("a");
    says(&mut story, id, Cancelled::NeverWas);
    story.breaks("L15");
}

#[test]
fn l5_what_was_cancelled_is_not_counted() {
    let mut story = Story::reliable();
    let id = story.push("a");
    story.call(Call::Cancel(vec![id]));
    story.says_counted(|counters| counters.purged = 1);
    story.breaks("L5");
}

/// A cancel of a lost answer may have taken the message, and it may not.
#[test]
fn nobody_knows_what_a_lost_cancel_did() {
    for executed in [false, true] {
        let mut story = Story::reliable();
        let id = story.push("a");
        story.call(push("b"));
        story.loses(Call::Cancel(vec![id]), executed);
        story.call(Call::Cancel(vec![id]));
        story.take();
        story.holds();
    }
}
