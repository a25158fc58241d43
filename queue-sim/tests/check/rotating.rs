use std::{num::NonZeroUsize, time::Duration};

use queue_core::{
    QueueConfig,
    call::{Answer, Call},
    *,
};

use crate::story::{Story, ms};

fn ring(config: RotatingConfig) -> Story {
    let mut story = Story::of(QueueConfig::Rotating(config));
    story.call(Call::Insert(vec![
        Insert::new("a").with_key("a"),
        Insert::new("b"),
        Insert::new("c"),
    ]));
    story
}

fn rotate(story: &mut Story) -> Message {
    match story.call(Call::Rotate(NonZeroUsize::MIN)) {
        Answer::Rotated(mut rotated) => rotated.items.remove(0),
        other => panic!("{other:?}"),
    }
}

fn visits(items: &[&Message]) -> Answer {
    Answer::Rotated(Rotated {
        items: items.iter().map(|item| (*item).clone()).collect(),
        next: None,
    })
}

fn one() -> Call {
    Call::Rotate(NonZeroUsize::MIN)
}

#[test]
fn a_ring_that_turns_holds() {
    let mut story = ring(RotatingConfig::default().with_pace(ms(20)));
    for _ in 0..3 {
        rotate(&mut story);
    }
    story.call(one());
    story.after(20);
    rotate(&mut story);
    story.call(Call::Remove(vec![MessageId::new(2)]));
    story.call(Call::Insert(vec![Insert::new("a").with_key("a")]));
    story.call(Call::Len);
    story.call(Call::List(Page::first(10)));
    rotate(&mut story);
    story.holds();
}

#[test]
fn t1_an_item_is_visited_twice_in_a_call() {
    let mut story = ring(RotatingConfig::default());
    let first = rotate(&mut story);
    let two = Call::Rotate(NonZeroUsize::new(2).unwrap());
    story.says(two, visits(&[&first, &first]));
    story.breaks("T1");
}

#[test]
fn t2_a_removed_item_is_seen() {
    let mut story = ring(RotatingConfig::default());
    let first = rotate(&mut story);
    story.call(Call::Remove(vec![first.id]));
    story.says(one(), visits(&[&first]));
    story.breaks("T2");
}

#[test]
fn t2_an_item_goes_missing() {
    let mut story = ring(RotatingConfig::default());
    story.says(Call::Len, Answer::Count(2));
    story.breaks("T2");
}

#[test]
fn t2_a_key_is_added_twice() {
    let mut story = ring(RotatingConfig::default());
    let same = Call::Insert(vec![Insert::new("a").with_key("a")]);
    let added = Inserted::Added(MessageId::new(4));
    story.says(same, Answer::Inserted(vec![added]));
    story.breaks("T2");
}

/// The answer of the second-last call comes only now.
fn ends_now(story: &mut Story) {
    let later = story.moment();
    let (rotation, _) = story.last_two();
    rotation.ended.as_mut().unwrap().at = later;
}

/// A rotation of two items answers only the second; the first is removed once that is executed.
fn leaves_out_the_first(removal_comes_before_the_answer: bool) -> Story {
    let mut story = ring(RotatingConfig::default());
    let second = Message {
        id: MessageId::new(2),
        body: "b".into(),
        headers: Headers::new(),
    };
    let two = Call::Rotate(NonZeroUsize::new(2).unwrap());
    story.says(two, visits(&[&second]));
    story.call(Call::Remove(vec![MessageId::new(1)]));
    if removal_comes_before_the_answer {
        ends_now(&mut story);
    }
    story
}

#[test]
fn an_item_removed_before_the_answer_may_be_left_out() {
    let mut story = leaves_out_the_first(true);
    rotate(&mut story);
    assert_eq!(rotate(&mut story).id, MessageId::new(2));
    story.holds();
}

#[test]
fn an_item_removed_after_the_answer_may_not_be_left_out() {
    leaves_out_the_first(false).breaks_first("linearisable");
}

#[test]
fn a_rotation_that_leaves_out_all_answers_zero_until_next() {
    for next in [Some(ms(0)), Some(ms(1)), None] {
        let mut story = ring(RotatingConfig::default());
        let nothing = Rotated {
            items: Vec::new(),
            next,
        };
        story.says(one(), Answer::Rotated(nothing));
        story.call(Call::Remove(vec![MessageId::new(1)]));
        ends_now(&mut story);
        match next {
            Some(Duration::ZERO) => story.holds(),
            _ => story.breaks_first("linearisable"),
        }
    }
}

#[test]
fn t3_an_item_is_left_out() {
    let mut story = ring(RotatingConfig::default());
    let first = rotate(&mut story);
    rotate(&mut story);
    story.says(one(), visits(&[&first]));
    story.breaks("T3");
}

#[test]
fn t4_a_pace_is_not_kept() {
    let mut story = ring(RotatingConfig::default().with_pace(ms(50)));
    let first = rotate(&mut story);
    rotate(&mut story);
    rotate(&mut story);
    story.after(20);
    story.says(one(), visits(&[&first]));
    story.breaks("T4");
}

fn pace(pace: u64) -> Call {
    Call::Reconfigure(RotatingConfig::default().with_pace(ms(pace)).into())
}

#[test]
fn another_pace_makes_each_item_due() {
    let mut story = ring(RotatingConfig::default().with_pace(ms(50)));
    let first = rotate(&mut story);
    rotate(&mut story);
    story.after(20);
    story.call(pace(30));
    rotate(&mut story);
    assert_eq!(rotate(&mut story), first);
    rotate(&mut story);
    story.after(30);
    rotate(&mut story);
    story.call(Call::Reconfigure(RotatingConfig::default().into()));
    for _ in 0..6 {
        rotate(&mut story);
    }
    story.holds();
}

#[test]
fn t4_a_later_pace_is_not_kept() {
    let mut story = ring(RotatingConfig::default());
    story.call(pace(50));
    let first = rotate(&mut story);
    rotate(&mut story);
    rotate(&mut story);
    story.after(20);
    story.says(one(), visits(&[&first]));
    story.breaks("T4");
}

#[test]
fn a_page_goes_on_where_the_last_one_ended_while_the_ring_turns() {
    let mut story = ring(RotatingConfig::default());
    let Answer::Items(first) = story.call(Call::List(Page::first(1))) else {
        panic!("a page");
    };
    let after = Page::after(first.next.expect("there is more"), 10);
    rotate(&mut story);
    let Answer::Items(rest) = story.call(Call::List(after)) else {
        panic!("a page");
    };
    let bodies: Vec<_> = rest.entries.iter().map(|item| &item.body[..]).collect();
    assert_eq!(bodies, [b"b", b"c", b"a"]);
    story.holds();
    let short = Paged {
        entries: rest.entries[..2].to_vec(),
        next: None,
    };
    story.says(Call::List(after), Answer::Items(short));
    story.breaks_first("linearisable");
}
