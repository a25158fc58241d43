use queue_core::{
    call::{Answer, Call},
    *,
};
use queue_sim::history::{CallEnd, Event};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, again, keyed, lease, leased, ms, push};

fn put(history: &mut HistoryBuilder, push: Push) -> MessageId {
    history.put(Call::Push(vec![push]))
}

fn buried_after(limit: u64) -> Push {
    Push::new("a").with_time_to_live(TimeToLive::bury_after(ms(limit)))
}

fn letters() -> Call {
    Call::DeadLetters(Page::first(9))
}

/// The dead letters of a queue whose message was to be buried after 20 ms, 50 ms later.
fn of_another() -> Answer {
    let mut other = HistoryBuilder::reliable();
    put(&mut other, buried_after(20));
    other.after(50).call(letters())
}

#[test]
fn a_history_as_it_should_be_holds() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.call(keyed("b"));
    history.call(keyed("b"));
    let first = history.take();
    history
        .after(10)
        .settle(Settlement::retry(first.receipt, ms(20)));
    let second = history.take();
    history
        .after(60)
        .call(Call::Extend(vec![second.receipt.into()], ms(LEASE_TIME)));
    let third = history.take();
    assert_eq!(third.attempt, 2);
    history.settle(Settlement::retry(third.receipt, ms(5)));
    history.settle(Settlement::ack(second.receipt));
    history.settle(Settlement::ack(second.receipt));
    history.loses(push("lost"), false);
    history.loses(push("there"), true);
    history.loses(lease(1), true);
    history.after(2 * LEASE_TIME).call(letters());
    let last = history.take();
    assert_eq!(last.attempt, 2);
    history.after(LEASE_TIME).call(Call::Counters);
    history.call(Call::Revive(
        vec![MessageId::new(1), MessageId::new(9)],
        Revival::WithState,
    ));
    history.event(Event::Healed);
    let revived = history.take();
    history.settle(Settlement::ack(revived.receipt));
    history.call(Call::Depth);
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn b7_finds_that_a_message_of_another_key_is_replaced() {
    let keyed = |body: &'static str, key: &'static str| {
        Call::Push(vec![Push::new(body).with_distinct(key)])
    };
    let mut history = HistoryBuilder::reliable();
    history.call(keyed("a", "k"));
    let (id, replaced) = (MessageId::new(2), MessageId::new(1));
    let answer = Answer::Pushed(vec![Pushed::Replaced { id, replaced }]);
    history.says(keyed("b", "l"), answer);
    history.breaks("B7");
}

#[test]
fn d4_finds_that_a_ready_message_is_moved() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    let moved = Answer::Rescheduled(vec![Rescheduled::Moved]);
    history.says(Call::Reschedule(vec![id], Due::After(ms(5))), moved);
    history.breaks_first("D4");
}

#[test]
fn l2_finds_that_a_dead_message_is_delivered() {
    let (mut history, first) = HistoryBuilder::leased();
    history.settle(Settlement::bury(first.receipt, "no"));
    history.after(10);
    history.claims(lease(1), leased(&again(&first, 10)));
    history.breaks("L2");
}

#[test]
fn l8_finds_that_not_applied_is_not_true() {
    let mut history = HistoryBuilder::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Unavailable, "no connection".to_owned());
    history.record(push("a"), Some(outcome), true);
    history.breaks_first("outcome");
}

/// The call that leased last may have executed first.
#[test]
fn l11_allows_any_order_of_calls_that_overlap() {
    let mut history = HistoryBuilder::reliable();
    put(&mut history, Push::new("a").with_due(ms(10)));
    history.push("b");
    let second = history.take();
    assert_eq!(second.body, "b");
    history.settle(Settlement::release(second.receipt));
    history.after(10);
    let began = history.moment();
    let both = [history.take(), history.take()];
    assert_eq!(both[0].body, "b");
    for delivery in &both {
        history.settle(Settlement::release(delivery.receipt));
    }
    history.call(lease(2));
    history.last().began = began;
    history.holds();
}

#[test]
fn l13_finds_that_a_live_message_is_revived() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let revived = Answer::Revived(vec![Revived::Revived]);
    history.says(
        Call::Revive(vec![MessageId::new(1)], Revival::WithState),
        revived,
    );
    history.breaks("L13");
}

#[test]
fn l15_finds_that_a_stored_message_never_was() {
    let mut history = HistoryBuilder::reliable();
    let id = history.push("a");
    let never_was = Answer::Cancelled(vec![Cancelled::NeverWas]);
    history.says(Call::Cancel(vec![id]), never_was);
    history.breaks("L15");
}

#[test]
fn l16_finds_that_the_second_is_shown_first() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.push("b");
    let peek = || Call::Peek(Place::Ready, Page::first(9));
    let Answer::Peeked(mut page) = history.call(peek()) else {
        panic!("a peek shows messages");
    };
    page.entries.reverse();
    history.says(peek(), Answer::Peeked(page));
    history.breaks("L16");
}

/// A message has no time to live, is to be dropped, has time left, is leased, or was revived.
#[test]
fn l17_finds_a_message_that_dies_too_early_or_otherwise() {
    let dropped = Push::new("a").with_time_to_live(TimeToLive::drop_after(ms(20)));
    for push in [Push::new("a"), dropped, buried_after(100)] {
        let mut history = HistoryBuilder::reliable();
        put(&mut history, push);
        history.after(50).says(letters(), of_another());
        history.breaks("L17");
    }
    for is_leased in [true, false] {
        let mut history = HistoryBuilder::reliable();
        let id = put(&mut history, buried_after(20));
        if is_leased {
            history.take();
        }
        history.after(50);
        if !is_leased {
            history.call(Call::Revive(vec![id], Revival::WithState));
        }
        history.says(letters(), of_another());
        history.breaks("L17");
    }
}

#[test]
fn limits_find_a_valid_call_that_is_refused_as_invalid() {
    let mut history = HistoryBuilder::reliable();
    let outcome = CallEnd::NotApplied(ErrorKind::Invalid, "an empty body".to_owned());
    history.record(push("a"), Some(outcome), false);
    history.breaks("limits");
}

#[test]
fn the_model_finds_an_invalid_call_that_succeeds() {
    let mut history = HistoryBuilder::reliable();
    history.says(Call::Push(Vec::new()), Answer::Pushed(Vec::new()));
    history.breaks_first("linearisable");
}
