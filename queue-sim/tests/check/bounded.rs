use std::num::NonZeroUsize;

use queue_core::{
    call::{Answer, Call},
    *,
};
use queue_sim::history::Event;

use crate::story::Story;

fn offer(body: &'static str, overflow: Overflow) -> Call {
    Call::Offer(vec![Offer::new(body)], overflow)
}

fn keyed(body: &'static str, key: &'static str) -> Call {
    Call::Offer(vec![Offer::new(body).with_distinct(key)], Overflow::Reject)
}

fn accepted(id: u64, evicted: Option<u64>) -> Answer {
    Answer::Offered(vec![Offered::Accepted {
        id: MessageId::new(id),
        evicted: evicted.map(MessageId::new),
    }])
}

fn full_of(bodies: &[&'static str]) -> Story {
    let mut story = Story::bounded(bodies.len());
    for body in bodies {
        story.call(offer(body, Overflow::Reject));
    }
    story
}

#[test]
fn a_queue_of_a_fixed_length_holds() {
    let mut story = full_of(&["a", "b"]);
    story.call(offer("c", Overflow::Reject));
    story.call(offer("d", Overflow::DropOldest));
    story.event(Event::Length(QueueName::new("queue").unwrap(), 2));
    story.call(Call::Recent(5));
    story.take();
    story.call(Call::Resize(NonZeroUsize::MIN));
    story.event(Event::Length(QueueName::new("queue").unwrap(), 1));
    story.call(Call::Capacity);
    story.call(Call::Depth);
    story.call(Call::Resize(NonZeroUsize::new(3).unwrap()));
    story.call(keyed("e", "k"));
    story.call(keyed("f", "k"));
    story.call(Call::Counters);
    story.holds();
}

#[test]
fn b1_too_many_are_held() {
    let mut story = full_of(&["a", "b"]);
    story.event(Event::Length(QueueName::new("queue").unwrap(), 3));
    story.breaks("B1");
}

#[test]
fn b1_the_depth_says_too_many() {
    let mut story = full_of(&["a", "b"]);
    let depth = Depth {
        ready: 3,
        ..Depth::default()
    };
    story.says(Call::Depth, Answer::Depth(depth));
    story.breaks("B1");
}

#[test]
fn b1_one_more_is_accepted() {
    let mut story = full_of(&["a", "b"]);
    story.says(offer("c", Overflow::Reject), accepted(3, None));
    story.breaks_first("linearisable");
}

#[test]
fn b2_the_newest_makes_room() {
    let mut story = full_of(&["a", "b"]);
    story.claims(offer("c", Overflow::DropOldest), accepted(3, Some(2)));
    story.take();
    story.breaks("B2");
}

#[test]
fn b2_one_makes_room_where_there_is_some() {
    let mut story = Story::bounded(2);
    story.call(offer("a", Overflow::Reject));
    story.says(offer("b", Overflow::DropOldest), accepted(2, Some(1)));
    story.breaks("B2");
}

#[test]
fn b2_a_leased_message_makes_room() {
    let mut story = full_of(&["a", "b"]);
    story.take();
    story.says(offer("c", Overflow::DropOldest), accepted(3, Some(1)));
    story.breaks("B2");
}

#[test]
fn b3_an_offer_is_refused_where_there_is_room() {
    let mut story = Story::bounded(2);
    story.call(offer("a", Overflow::Reject));
    story.says(
        offer("b", Overflow::Reject),
        Answer::Offered(vec![Offered::Full]),
    );
    story.breaks("B3");
}

#[test]
fn b5_a_leased_message_is_dropped() {
    let mut story = full_of(&["a", "b"]);
    let taken = story.take().id();
    story.says(Call::Resize(NonZeroUsize::MIN), Answer::Ids(vec![taken]));
    story.breaks("B5");
}

#[test]
fn b5_a_capacity_that_nobody_set() {
    let mut story = full_of(&["a", "b"]);
    story.says(
        Call::Capacity,
        Answer::Capacity(NonZeroUsize::new(5).unwrap()),
    );
    story.breaks("B5");
}

#[test]
fn b6_the_oldest_is_shown_first() {
    let mut story = full_of(&["a", "b"]);
    let Ok(Answer::Messages(mut messages)) = story
        .model()
        .apply(queue_sim::world::EPOCH, &Call::Recent(2))
    else {
        panic!("messages");
    };
    messages.reverse();
    story.says(Call::Recent(2), Answer::Messages(messages));
    story.breaks("B6");
}

#[test]
fn b7_a_key_is_there_twice() {
    let mut story = Story::bounded(3);
    story.call(keyed("a", "k"));
    let first = story
        .model()
        .apply(queue_sim::world::EPOCH, &crate::story::lease(1));
    story.says(keyed("b", "k"), accepted(2, None));
    story.claims(crate::story::lease(1), first.unwrap());
    story.breaks_first("B7");
}

#[test]
fn b7_another_key_is_replaced() {
    let mut story = Story::bounded(3);
    story.call(keyed("a", "k"));
    let replaced = Offered::Replaced {
        id: MessageId::new(2),
        replaced: MessageId::new(1),
    };
    story.says(keyed("b", "l"), Answer::Offered(vec![replaced]));
    story.breaks("B7");
}

/// The open stores the same capacity again. Only a resize to it drops the messages that came back since the
/// last resize.
#[test]
fn a_reconfiguration_with_the_stored_capacity_drops_nothing() {
    let mut story = full_of(&["a", "b"]);
    let (_, second) = (story.take(), story.take());
    let same = || {
        let config = BoundedConfig::new(1);
        Call::Reconfigure(QueueConfig::Bounded(config))
    };
    story.call(same());
    story.settle(Settlement::release(second.receipt));
    story.call(same());
    story.call(Call::Counters);
    story.holds();
    story.call(Call::Resize(NonZeroUsize::MIN));
    let depth = Depth {
        ready: 1,
        leased: 1,
        ..Depth::default()
    };
    story.says(Call::Depth, Answer::Depth(depth));
    story.breaks("B1");
}

#[test]
fn an_open_with_another_capacity_resizes_the_queue() {
    let mut story = full_of(&["a", "b", "c"]);
    story.call(Call::OpenOrResize(NonZeroUsize::MIN));
    story.call(Call::Capacity);
    story.call(Call::Counters);
    story.holds();
    let mut story = full_of(&["a", "b", "c"]);
    story.call(Call::OpenOrResize(NonZeroUsize::MIN));
    let before = NonZeroUsize::new(3).unwrap();
    story.says(Call::Capacity, Answer::Capacity(before));
    story.breaks("B5");
}
