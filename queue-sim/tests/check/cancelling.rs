use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, again, lease, leased, push};

fn says(history: &mut HistoryBuilder, id: MessageId, answer: Cancelled) {
    history.says(Call::Cancel(vec![id]), Answer::Cancelled(vec![answer]));
}

#[test]
fn undelivered_messages_are_cancelled_and_others_answered_one_by_one() {
    let mut history = HistoryBuilder::reliable();
    let ids = ["a", "b", "c"].map(|body| history.push(body));
    let first = history.take();
    let beyond = MessageId::new(4);
    let answer = history.call(Call::Cancel(vec![ids[0], ids[1], ids[1], beyond]));
    let answers = [
        Cancelled::TooLate,
        Cancelled::Cancelled,
        Cancelled::TooLate,
        Cancelled::NeverWas,
    ];
    assert_eq!(answer, Answer::Cancelled(answers.to_vec()));
    history.settle(Settlement::release(first.receipt));
    history.call(Call::Cancel(vec![ids[0]]));
    assert_eq!(history.take().id(), ids[2]);
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn l15_a_cancelled_message_comes() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    let mut other = HistoryBuilder::reliable();
    other.push("a");
    let delivery = other.take();
    history.call(Call::Cancel(vec![id]));
    history.claims(lease(1), leased(&again(&delivery, 1)));
    history.breaks("L15");
}

#[test]
fn l15_a_leased_message_is_cancelled() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    history.take();
    says(&mut history, id, Cancelled::Cancelled);
    history.breaks("L15");
}

#[test]
fn l15_an_undelivered_message_is_too_late() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    says(&mut history, id, Cancelled::TooLate);
    history.breaks("L15");
}

#[test]
fn l15_a_made_up_id_is_too_late() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    says(&mut history, MessageId::new(2), Cancelled::TooLate);
    history.breaks_first("L15");
}

#[test]
fn l15_a_stored_message_is_called_made_up() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    says(&mut history, id, Cancelled::NeverWas);
    history.breaks("L15");
}

#[test]
fn l5_a_cancelled_message_is_not_counted() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    history.call(Call::Cancel(vec![id]));
    history.says_counted(|counters| counters.purged = 1);
    history.breaks("L5");
}

/// A cancel of a lost answer may have taken the message, and it may not.
#[test]
fn nobody_knows_what_a_lost_cancel_did() {
    for executed in [false, true] {
        let mut history = HistoryBuilder::reliable();
        let id = history.push("a");
        history.call(push("b"));
        history.loses(Call::Cancel(vec![id]), executed);
        history.call(Call::Cancel(vec![id]));
        history.take();
        history.holds();
    }
}
