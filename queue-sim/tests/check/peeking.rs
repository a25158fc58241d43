use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, LEASE_TIME, lease, ms, push};

fn peek(place: Place) -> Call {
    Call::Peek(place, Page::first(9))
}

fn settle_and_lease(holder: &'static str) -> Call {
    let holder = Holder::new(holder).unwrap();
    Call::SettleAndLease(Vec::new(), NonZeroUsize::MIN, ms(LEASE_TIME), Some(holder))
}

/// A peek with a wrong answer.
fn peeks(history: &mut HistoryBuilder, place: Place, wrong: impl FnOnce(&mut Vec<Peeked>)) {
    let mut page = match history.call(peek(place)) {
        Answer::Peeked(page) => page,
        other => panic!("{other:?}"),
    };
    wrong(&mut page.entries);
    history.says(peek(place), Answer::Peeked(page));
}

/// One message is leased under a name, one is delayed, one is back, and two are fresh.
fn of_all_places() -> HistoryBuilder {
    let mut history = HistoryBuilder::reliable();
    for body in ["leased", "back", "fresh"] {
        history.push(body);
    }
    history.call(Call::Push(vec![
        Push::new("delayed").with_due(ms(LEASE_TIME)),
        Push::new("fresh, too"),
    ]));
    history.call(settle_and_lease("mailer"));
    let back = history.after(5).take();
    history.settle(Settlement::release(back.receipt));
    history
}

#[test]
fn messages_of_each_place_are_shown() {
    let mut history = of_all_places();
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        let Answer::Peeked(page) = history.call(peek(place)) else {
            panic!("a peek answers what it shows");
        };
        let shown: Vec<u64> = page
            .entries
            .iter()
            .map(|one| one.message.id.get())
            .collect();
        let expected = match place {
            Place::Ready => vec![2, 3, 5],
            Place::Delayed => vec![4],
            Place::Leased => vec![1],
        };
        assert_eq!(shown, expected);
    }
    history.call(Call::Peek(Place::Ready, Page::first(1)));
    history.call(Call::Peek(Place::Ready, Page::after(Cursor::new(1), 1)));
    history.holds();
}

/// A peek shows the receipt, also of a lease whose answer is lost.
#[test]
fn a_lease_with_a_lost_answer_is_ended_by_a_peeked_receipt() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.loses(lease(1), true);
    let Answer::Peeked(page) = history.call(peek(Place::Leased)) else {
        panic!("a peek answers what it shows");
    };
    let Standing::Leased { receipt, .. } = page.entries[0].standing else {
        panic!("it is leased");
    };
    history.settle(Settlement::release(receipt));
    let first = history.take();
    assert_eq!(first.attempt, 1);
    history.settle(Settlement::ack(first.receipt));
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn l16_a_message_is_shown_that_is_acked() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let before = history.call(peek(Place::Ready));
    let first = history.take();
    history.settle(Settlement::ack(first.receipt));
    history.says(peek(Place::Ready), before);
    history.breaks("L16");
}

#[test]
fn l16_a_leased_message_is_shown_as_ready() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    let before = history.call(peek(Place::Ready));
    history.take();
    history.says(peek(Place::Ready), before);
    history.breaks("L16");
}

#[test]
fn l16_the_second_is_shown_first() {
    let mut history = HistoryBuilder::reliable();
    history.push("a");
    history.push("b");
    peeks(&mut history, Place::Ready, |shown| shown.reverse());
    history.breaks("L16");
}

#[test]
fn l16_the_first_due_message_is_shown_last() {
    let mut history = HistoryBuilder::reliable();
    let later = |after| Push::new("a").with_due(ms(after));
    history.call(Call::Push(vec![later(20), later(30)]));
    peeks(&mut history, Place::Delayed, |shown| shown.reverse());
    history.breaks("L16");
}

/// Makes tests of peeks that show a place wrongly.
macro_rules! spoilt {
    ($($test:ident: $place:ident, $wrong:expr, breaks $rule:literal;)+) => {$(
        #[test]
        fn $test() {
            let mut history = of_all_places();
            peeks(&mut history, Place::$place, $wrong);
            history.breaks($rule);
        }
    )+};
}

spoilt! {
    l16_a_returned_message_is_left_out: Ready, |shown| drop(shown.remove(0)), breaks "L16";
    l16_a_delayed_message_is_left_out: Delayed, Vec::clear, breaks "L16";
    l16_a_leased_message_is_left_out: Leased, Vec::clear, breaks "L16";
    l16_a_message_is_shown_twice: Ready, |shown| shown.push(shown[0].clone()), breaks "L16";
    l16_the_holder_is_another: Leased, |shown| {
        if let Standing::Leased { holder, .. } = &mut shown[0].standing {
            *holder = Holder::new("somebody else").ok();
        }
    }, breaks "L16";
    l16_the_receipt_is_made_up: Leased, |shown| {
        if let Standing::Leased { receipt, .. } = &mut shown[0].standing {
            receipt.token = Token::new(receipt.token.get() + 1);
        }
    }, breaks "L16";
    l16_the_time_left_is_the_whole_lease: Leased, |shown| {
        if let Standing::Leased { time_left, .. } = &mut shown[0].standing {
            *time_left = ms(LEASE_TIME + 50);
        }
    }, breaks "L16";
    l16_the_age_counts_from_elsewhere: Ready, |shown| shown[0].age = ms(50), breaks "L16";
    l16_an_attempt_is_not_counted: Leased, |shown| shown[0].attempts = 0, breaks "L16";
    l5_a_body_is_another: Ready, |shown| {
        shown[0].message.body = Bytes::from_static(b"another");
    }, breaks "L5";
}

#[test]
fn l14_the_reason_of_a_failure_is_left_out() {
    let mut history = HistoryBuilder::reliable();
    history.call(push("a"));
    let first = history.take();
    let failed = Disposition::Retry {
        delay: ms(20),
        reason: Some("no paper".to_owned()),
    };
    history.settle(Settlement::new(first.receipt, failed));
    peeks(&mut history, Place::Delayed, |shown| {
        shown[0].failure = None;
    });
    history.breaks("L14");
}
