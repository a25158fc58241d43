use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    QueueConfig,
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, ms};

fn ring(config: RotatingConfig) -> HistoryBuilder {
    let mut history = HistoryBuilder::of(QueueConfig::Rotating(config));
    history.call(Call::Insert(vec![
        Insert::new("a").with_key("a"),
        Insert::new("b"),
        Insert::new("c"),
    ]));
    history
}

fn rotate(history: &mut HistoryBuilder) -> Message {
    match history.call(Call::Rotate(NonZeroUsize::MIN)) {
        Answer::Rotated(mut rotated) => rotated.items.remove(0),
        other => panic!("{other:?}"),
    }
}

fn visits(items: &[&Message]) -> Answer {
    Answer::Rotated(Rotated::new(
        items.iter().map(|item| (*item).clone()).collect(),
        None,
    ))
}

fn one() -> Call {
    Call::Rotate(NonZeroUsize::MIN)
}

#[test]
fn a_ring_that_rotates_holds() {
    let mut history = ring(RotatingConfig::default().with_pace(ms(20)));
    for _ in 0..3 {
        rotate(&mut history);
    }
    history.call(one());
    history.after(20);
    rotate(&mut history);
    history.call(Call::Remove(vec![MessageId::new(2)]));
    history.call(Call::Insert(vec![Insert::new("a").with_key("a")]));
    history.call(Call::Len);
    history.call(Call::List(Page::first(10)));
    rotate(&mut history);
    history.holds();
}

#[test]
fn t1_an_item_is_visited_twice_in_a_call() {
    let mut history = ring(RotatingConfig::default());
    let first = rotate(&mut history);
    let two = Call::Rotate(NonZeroUsize::new(2).unwrap());
    history.says(two, visits(&[&first, &first]));
    history.breaks("T1");
}

#[test]
fn t2_a_removed_item_is_seen() {
    let mut history = ring(RotatingConfig::default());
    let first = rotate(&mut history);
    history.call(Call::Remove(vec![first.id]));
    history.says(one(), visits(&[&first]));
    history.breaks("T2");
}

#[test]
fn t2_an_item_goes_missing() {
    let mut history = ring(RotatingConfig::default());
    history.says(Call::Len, Answer::Count(2));
    history.breaks("T2");
}

#[test]
fn t2_a_key_is_added_twice() {
    let mut history = ring(RotatingConfig::default());
    let same = Call::Insert(vec![Insert::new("a").with_key("a")]);
    let added = Inserted::Added(MessageId::new(4));
    history.says(same, Answer::Inserted(vec![added]));
    history.breaks("T2");
}

/// The answer of the second-last call comes only now.
fn ends_now(history: &mut HistoryBuilder) {
    let later = history.moment();
    let (rotation, _) = history.last_two();
    rotation.ended.as_mut().unwrap().at = later;
}

/// A rotation of two items answers only the second; the first is removed once that is executed.
fn leaves_out_the_first(removal_comes_before_the_answer: bool) -> HistoryBuilder {
    let mut history = ring(RotatingConfig::default());
    let second = Message::new(MessageId::new(2), "b".into(), Headers::new());
    let two = Call::Rotate(NonZeroUsize::new(2).unwrap());
    history.says(two, visits(&[&second]));
    history.call(Call::Remove(vec![MessageId::new(1)]));
    if removal_comes_before_the_answer {
        ends_now(&mut history);
    }
    history
}

#[test]
fn an_item_removed_before_the_answer_may_be_left_out() {
    let mut history = leaves_out_the_first(true);
    rotate(&mut history);
    assert_eq!(rotate(&mut history).id, MessageId::new(2));
    history.holds();
}

#[test]
fn an_item_removed_after_the_answer_may_not_be_left_out() {
    leaves_out_the_first(false).breaks_first("linearisable");
}

#[test]
fn a_rotation_that_leaves_out_all_answers_zero_until_next() {
    for next in [Some(ms(0)), Some(ms(1)), None] {
        let mut history = ring(RotatingConfig::default());
        let nothing = Rotated::new(Vec::new(), next);
        history.says(one(), Answer::Rotated(nothing));
        history.call(Call::Remove(vec![MessageId::new(1)]));
        ends_now(&mut history);
        match next {
            Some(Duration::ZERO) => history.holds(),
            _ => history.breaks_first("linearisable"),
        }
    }
}

#[test]
fn t3_an_item_is_left_out() {
    let mut history = ring(RotatingConfig::default());
    let first = rotate(&mut history);
    rotate(&mut history);
    history.says(one(), visits(&[&first]));
    history.breaks("T3");
}

#[test]
fn t4_a_pace_is_not_kept() {
    let mut history = ring(RotatingConfig::default().with_pace(ms(50)));
    let first = rotate(&mut history);
    rotate(&mut history);
    rotate(&mut history);
    history.after(20);
    history.says(one(), visits(&[&first]));
    history.breaks("T4");
}

fn pace(pace: u64) -> Call {
    Call::Reconfigure(RotatingConfig::default().with_pace(ms(pace)).into())
}

#[test]
fn another_pace_makes_each_item_due() {
    let mut history = ring(RotatingConfig::default().with_pace(ms(50)));
    let first = rotate(&mut history);
    rotate(&mut history);
    history.after(20);
    history.call(pace(30));
    rotate(&mut history);
    assert_eq!(rotate(&mut history), first);
    rotate(&mut history);
    history.after(30);
    rotate(&mut history);
    history.call(Call::Reconfigure(RotatingConfig::default().into()));
    for _ in 0..6 {
        rotate(&mut history);
    }
    history.holds();
}

#[test]
fn t4_a_later_pace_is_not_kept() {
    let mut history = ring(RotatingConfig::default());
    history.call(pace(50));
    let first = rotate(&mut history);
    rotate(&mut history);
    rotate(&mut history);
    history.after(20);
    history.says(one(), visits(&[&first]));
    history.breaks("T4");
}

#[test]
fn a_page_goes_on_where_the_last_one_ended_while_the_ring_rotates() {
    let mut history = ring(RotatingConfig::default());
    let Answer::Items(first) = history.call(Call::List(Page::first(1))) else {
        panic!("a page");
    };
    let after = Page::after(first.next.expect("there is more"), 10);
    rotate(&mut history);
    let Answer::Items(rest) = history.call(Call::List(after)) else {
        panic!("a page");
    };
    let bodies: Vec<_> = rest.entries.iter().map(|item| &item.body[..]).collect();
    assert_eq!(bodies, [b"b", b"c", b"a"]);
    history.holds();
    let short = Paged::new(rest.entries[..2].to_vec(), None);
    history.says(Call::List(after), Answer::Items(short));
    history.breaks_first("linearisable");
}
