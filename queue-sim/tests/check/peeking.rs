use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::story::{LEASE_TIME, Story, lease, ms, push};

fn peek(place: Place) -> Call {
    Call::Peek(place, Page::first(9))
}

fn settle_and_lease(holder: &'static str) -> Call {
    let holder = Holder::new(holder).unwrap();
    Call::SettleAndLease(Vec::new(), NonZeroUsize::MIN, ms(LEASE_TIME), Some(holder))
}

/// A peek with a wrong answer.
fn peeks(story: &mut Story, place: Place, wrong: impl FnOnce(&mut Vec<Peeked>)) {
    let mut page = match story.call(peek(place)) {
        Answer::Peeked(page) => page,
        other => panic!("{other:?}"),
    };
    wrong(&mut page.entries);
    story.says(peek(place), Answer::Peeked(page));
}

/// One message is leased under a name, one is delayed, one is back, and two are fresh.
fn of_all_places() -> Story {
    let mut story = Story::reliable();
    for body in ["leased", "back", "fresh"] {
        story.push(body);
    }
    story.call(Call::Push(vec![
        Push::new("delayed").with_due(ms(LEASE_TIME)),
        Push::new("fresh, too"),
    ]));
    story.call(settle_and_lease("mailer"));
    let back = story.after(5).take();
    story.settle(Settlement::release(back.receipt));
    story
}

#[test]
fn messages_of_each_place_are_shown() {
    let mut story = of_all_places();
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        let Answer::Peeked(page) = story.call(peek(place)) else {
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
    story.call(Call::Peek(Place::Ready, Page::first(1)));
    story.call(Call::Peek(Place::Ready, Page::after(Cursor::new(1), 1)));
    story.holds();
}

/// A peek shows the receipt, also of a lease whose answer is lost.
#[test]
fn a_lease_with_a_lost_answer_is_ended_by_a_peeked_receipt() {
    let mut story = Story::reliable();
    story.push("a");
    story.loses(lease(1), true);
    let Answer::Peeked(page) = story.call(peek(Place::Leased)) else {
        panic!("a peek answers what it shows");
    };
    let Standing::Leased { receipt, .. } = page.entries[0].standing else {
        panic!("it is leased");
    };
    story.settle(Settlement::release(receipt));
    let first = story.take();
    assert_eq!(first.attempt, 1);
    story.settle(Settlement::ack(first.receipt));
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn l16_a_message_is_shown_that_is_acked() {
    let mut story = Story::reliable();
    story.push("a");
    let before = story.call(peek(Place::Ready));
    let first = story.take();
    story.settle(Settlement::ack(first.receipt));
    story.says(peek(Place::Ready), before);
    story.breaks("L16");
}

#[test]
fn l16_a_leased_message_is_shown_as_ready() {
    let mut story = Story::reliable();
    story.push("a");
    let before = story.call(peek(Place::Ready));
    story.take();
    story.says(peek(Place::Ready), before);
    story.breaks("L16");
}

#[test]
fn l16_the_second_is_shown_first() {
    let mut story = Story::reliable();
    story.push("a");
    story.push("b");
    peeks(&mut story, Place::Ready, |shown| shown.reverse());
    story.breaks("L16");
}

#[test]
fn l16_what_is_due_first_is_shown_last() {
    let mut story = Story::reliable();
    let later = |after| Push::new("a").with_due(ms(after));
    story.call(Call::Push(vec![later(20), later(30)]));
    peeks(&mut story, Place::Delayed, |shown| shown.reverse());
    story.breaks("L16");
}

/// Makes tests of peeks that show a place wrongly.
macro_rules! spoilt {
    ($($test:ident: $place:ident, $wrong:expr, breaks $rule:literal;)+) => {$(
        #[test]
        fn $test() {
            let mut story = of_all_places();
            peeks(&mut story, Place::$place, $wrong);
            story.breaks($rule);
        }
    )+};
}

spoilt! {
    l16_what_came_back_is_left_out: Ready, |shown| drop(shown.remove(0)), breaks "L16";
    l16_what_is_delayed_is_left_out: Delayed, Vec::clear, breaks "L16";
    l16_what_is_leased_is_left_out: Leased, Vec::clear, breaks "L16";
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
    let mut story = Story::reliable();
    story.call(push("a"));
    let first = story.take();
    let failed = Disposition::Retry {
        delay: ms(20),
        reason: Some("no paper".to_owned()),
    };
    story.settle(Settlement::new(first.receipt, failed));
    peeks(&mut story, Place::Delayed, |shown| shown[0].failure = None);
    story.breaks("L14");
}
