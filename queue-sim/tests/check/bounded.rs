use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};
use queue_sim::history::Event;

use crate::history_builder::HistoryBuilder;

fn offer(body: &'static str, overflow: Overflow) -> Call {
    Call::Push(vec![Push::new(body).with_overflow(overflow)])
}

fn accepted(id: u64, evicted: Option<u64>) -> Answer {
    let id = MessageId::new(id);
    Answer::Pushed(vec![match evicted.map(MessageId::new) {
        Some(evicted) => Pushed::Evicted { id, evicted },
        None => Pushed::Accepted(id),
    }])
}

fn full_of(bodies: &[&'static str]) -> HistoryBuilder {
    let mut history = HistoryBuilder::bounded(bodies.len());
    for body in bodies {
        history.call(offer(body, Overflow::Reject));
    }
    history
}

#[test]
fn a_queue_of_a_fixed_length_holds() {
    let mut history = full_of(&["a", "b"]);
    history.call(offer("c", Overflow::Reject));
    history.call(offer("d", Overflow::DropOldest));
    history.event(Event::Length(QueueName::new("queue").unwrap(), 2));
    history.call(Call::Recent(5));
    history.take();
    history.call(Call::Resize(NonZeroUsize::MIN));
    history.event(Event::Length(QueueName::new("queue").unwrap(), 1));
    history.call(Call::Capacity);
    history.call(Call::Depth);
    history.call(Call::Resize(NonZeroUsize::new(3).unwrap()));
    history.call(Call::Push(vec![Push::new("e").with_distinct("k")]));
    history.call(Call::Push(vec![Push::new("f").with_distinct("k")]));
    history.call(Call::Counters);
    history.holds();
}

#[test]
fn b1_too_many_are_held() {
    let mut history = full_of(&["a", "b"]);
    history.event(Event::Length(QueueName::new("queue").unwrap(), 3));
    history.breaks("B1");
}

#[test]
fn b1_the_depth_says_too_many() {
    let mut history = full_of(&["a", "b"]);
    let depth = Depth::new(3, 0, 0, 0);
    history.says(Call::Depth, Answer::Depth(depth));
    history.breaks("B1");
}

#[test]
fn b1_one_more_is_accepted() {
    let mut history = full_of(&["a", "b"]);
    history.says(offer("c", Overflow::Reject), accepted(3, None));
    history.breaks_first("linearisable");
}

#[test]
fn b2_the_newest_makes_room() {
    let mut history = full_of(&["a", "b"]);
    history.claims(offer("c", Overflow::DropOldest), accepted(3, Some(2)));
    history.take();
    history.breaks("B2");
}

#[test]
fn b2_one_makes_room_where_there_is_some() {
    let mut history = HistoryBuilder::bounded(2);
    history.call(offer("a", Overflow::Reject));
    history.says(offer("b", Overflow::DropOldest), accepted(2, Some(1)));
    history.breaks("B2");
}

#[test]
fn b2_a_leased_message_makes_room() {
    let mut history = full_of(&["a", "b"]);
    history.take();
    history.says(offer("c", Overflow::DropOldest), accepted(3, Some(1)));
    history.breaks("B2");
}

#[test]
fn b3_a_message_is_refused_where_there_is_room() {
    let mut history = HistoryBuilder::bounded(2);
    history.call(offer("a", Overflow::Reject));
    history.says(
        offer("b", Overflow::Reject),
        Answer::Pushed(vec![Pushed::Full]),
    );
    history.breaks("B3");
}

#[test]
fn b5_a_leased_message_is_dropped() {
    let mut history = full_of(&["a", "b"]);
    let taken = history.take().id();
    history.says(Call::Resize(NonZeroUsize::MIN), Answer::Ids(vec![taken]));
    history.breaks("B5");
}

#[test]
fn b5_a_capacity_that_nobody_set() {
    let mut history = full_of(&["a", "b"]);
    history.says(
        Call::Capacity,
        Answer::Capacity(NonZeroUsize::new(5).unwrap()),
    );
    history.breaks("B5");
}

#[test]
fn b6_the_oldest_is_shown_first() {
    let mut history = full_of(&["a", "b"]);
    let Ok(Answer::Messages(mut messages)) = history
        .model()
        .apply(queue_sim::world::EPOCH, &Call::Recent(2))
    else {
        panic!("messages");
    };
    messages.reverse();
    history.says(Call::Recent(2), Answer::Messages(messages));
    history.breaks("B6");
}

/// The open stores the same capacity again. Only a resize to it drops the messages that came back since the
/// last resize.
#[test]
fn a_reconfiguration_with_the_stored_capacity_drops_nothing() {
    let mut history = full_of(&["a", "b"]);
    let (_, second) = (history.take(), history.take());
    let same = || {
        let config = BoundedConfig::new(1);
        Call::Reconfigure(QueueConfig::Bounded(config))
    };
    history.call(same());
    history.settle(Settlement::release(second.receipt));
    history.call(same());
    history.call(Call::Counters);
    history.holds();
    history.call(Call::Resize(NonZeroUsize::MIN));
    let depth = Depth::new(1, 0, 1, 0);
    history.says(Call::Depth, Answer::Depth(depth));
    history.breaks("B1");
}

#[test]
fn an_open_with_another_capacity_resizes_the_queue() {
    let mut history = full_of(&["a", "b", "c"]);
    history.call(Call::OpenOrResize(NonZeroUsize::MIN));
    history.call(Call::Capacity);
    history.call(Call::Counters);
    history.holds();
    let mut history = full_of(&["a", "b", "c"]);
    history.call(Call::OpenOrResize(NonZeroUsize::MIN));
    let before = NonZeroUsize::new(3).unwrap();
    history.says(Call::Capacity, Answer::Capacity(before));
    history.breaks("B5");
}
