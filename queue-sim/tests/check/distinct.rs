use queue_core::{
    call::{Answer, Call},
    *,
};

use crate::history_builder::{HistoryBuilder, lease, ms};

fn keyed(body: &'static str, key: &'static str) -> Push {
    Push::new(body).with_distinct(key)
}

fn push(push: Push) -> Call {
    Call::Push(vec![push])
}

fn replaced(id: u64, replaced: u64) -> Answer {
    let (id, replaced) = (MessageId::new(id), MessageId::new(replaced));
    Answer::Pushed(vec![Pushed::Replaced { id, replaced }])
}

#[test]
fn a_push_replaces_the_undelivered_message_with_its_key() {
    for kind in QueueKind::ALL {
        if kind == QueueKind::Rotating {
            continue;
        }
        let mut history = HistoryBuilder::of(QueueConfig::of(kind, 1));
        history.call(push(keyed("ready", "k")));
        assert_eq!(
            history.call(push(keyed("later", "k").with_due(ms(20)))),
            replaced(2, 1)
        );
        assert_eq!(history.call(push(keyed("now", "k"))), replaced(3, 2));
        let first = history.take();
        history.settle(Settlement::retry(first.receipt, ms(10)));
        assert_eq!(history.call(push(keyed("again", "k"))), replaced(4, 3));
        assert_eq!(history.take().body, "again");
        history.call(Call::Counters);
        history.holds();
    }
}

#[test]
fn a_key_passes_from_a_leased_message() {
    let mut history = HistoryBuilder::reliable();
    history.call(push(keyed("a", "k")));
    let first = history.take();
    history.call(push(keyed("b", "k")));
    history.settle(Settlement::release(first.receipt));
    assert_eq!(history.call(push(keyed("c", "k"))), replaced(3, 2));
    for body in ["a", "c"] {
        assert_eq!(history.take().body, body);
    }
    history.holds();
}

#[test]
fn a_longest_wait_counts_from_the_first_push() {
    let edit = |longest: Option<u64>| {
        let mut distinct = Distinct::new("k");
        distinct.longest = longest.map(ms);
        push(Push::new("a").with_due(ms(20)).with_distinct(distinct))
    };
    let mut history = HistoryBuilder::reliable();
    for _ in 0..3 {
        history.call(edit(Some(50)));
        history.after(15);
    }
    history.after(4).call(lease(1));
    history.after(1);
    assert_eq!(history.take().id(), MessageId::new(3));
    // A push without a longest wait ends the chain.
    for longest in [Some(30), None, Some(30)] {
        history.call(edit(longest));
        history.after(15);
    }
    history.after(4).call(lease(1));
    history.after(1);
    assert_eq!(history.take().id(), MessageId::new(6));
    history.holds();
}

#[test]
fn b7_a_key_is_there_twice() {
    let mut history = HistoryBuilder::reliable();
    history.call(push(keyed("a", "k")));
    let first = history.model().apply(queue_sim::world::EPOCH, &lease(1));
    let second = Answer::Pushed(vec![Pushed::Accepted(MessageId::new(2))]);
    history.says(push(keyed("b", "k")), second);
    history.claims(lease(1), first.unwrap());
    history.breaks_first("B7");
}

#[test]
fn b7_another_key_is_replaced() {
    let mut history = HistoryBuilder::reliable();
    history.call(push(keyed("a", "k")));
    history.says(push(keyed("b", "l")), replaced(2, 1));
    history.breaks("B7");
}

#[test]
fn b7_a_message_that_lost_its_key_is_replaced() {
    let mut history = HistoryBuilder::reliable();
    history.call(push(keyed("a", "k")));
    let first = history.take();
    history.call(push(keyed("b", "k")));
    history.settle(Settlement::release(first.receipt));
    history.claims(push(keyed("c", "k")), replaced(3, 1));
    history.breaks_first("B7");
}

#[test]
fn b7_a_leased_message_is_replaced() {
    let mut history = HistoryBuilder::reliable();
    history.call(push(keyed("a", "k")));
    history.take();
    history.says(push(keyed("b", "k")), replaced(2, 1));
    history.breaks_first("B7");
}
