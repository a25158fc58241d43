//! Random [`Sequence`]s as proptest strategies.
//!
//! All values are small, so that they collide: few keys, few bodies, few durations, small
//! capacities. Time moves to just before, to and just after the next change. Now and then a
//! strategy adds a burst, so that the bounds of 128 show, and an argument that is `Invalid`.

mod amounts;
mod leasing;
mod messages;

use std::{num::NonZeroUsize, time::Duration};

use proptest::{collection::vec, option, prelude::*, sample::select};
use queue_core::{
    Bytes, GroupChange, GroupOrder, GroupRule, LeaseRate, OnDeath, Overflow, Page, Push,
    QueueConfig, QueueKind,
    call::Call,
    limits::{DEFAULT_MAX_BODY, MAX_BATCH_BYTES},
};

use self::{
    amounts::{count, due, page, wait},
    leasing::{heavy, ids, leasing},
    messages::{insert, push},
};
use super::{Sequence, Step};

pub use self::leasing::{Round, burst};

/// The most actions on a queue. A burst is one action, of several calls.
const ACTIONS: usize = 50;

/// How often a message has a due time of its own, if the kind needs none.
const LATER: f64 = 0.25;
/// How often a message has an option of another kind.
const STRANGE: f64 = 0.002;

/// Sequences for queues of this kind.
pub fn sequence(kind: QueueKind) -> impl Strategy<Value = Sequence> {
    let action = match kind {
        QueueKind::Rotating => on_a_ring().boxed(),
        _ => {
            let (own, weight) = own(kind);
            let one = prop_oneof![
                weight => own,
                20 => leasing(),
            ];
            prop_oneof![
                300 => one.prop_map(|call| vec![Step::Call(call)]),
                80 => wait().prop_map(|wait| vec![Step::Wait(wait)]),
                16 => vec(leasing::round(), 1..=3).prop_map(move |rounds| burst(kind, &rounds)),
                1 => Just(heavy(kind)),
            ]
            .boxed()
        }
    };
    (config(kind), vec(action, 1..=ACTIONS)).prop_map(|(config, actions)| Sequence {
        config,
        steps: actions.into_iter().flatten().collect(),
    })
}

/// Pushes, moves, and the calls that only this kind of leasing queue has, and their weight.
fn own(kind: QueueKind) -> (BoxedStrategy<Call>, u32) {
    let push = prop_oneof![
        6 => batch(message(kind)).prop_map(Call::Push),
        2 => (ids(), due()).prop_map(|(ids, due)| Call::Reschedule(ids, due)),
    ];
    match kind {
        QueueKind::Grouped => {
            let own = prop_oneof![
                8 => push,
                2 => select(vec![1, 2, 1_000]).prop_map(|limit| Call::Groups(Page::first(limit))),
                1 => (group(), change()).prop_map(|(key, change)| Call::ChangeGroup(key, change)),
            ];
            (own.boxed(), 11)
        }
        QueueKind::Delay => (prop_oneof![8 => push, 1 => Just(Call::NextDue)].boxed(), 9),
        QueueKind::Bounded => {
            let own = prop_oneof![
                8 => push,
                1 => page().prop_map(Call::Recent),
                1 => Just(Call::Capacity),
                1 => capacity().prop_map(Call::Resize),
            ];
            (own.boxed(), 11)
        }
        _ => (push.boxed(), 8),
    }
}

/// A message with the options of its kind. Now and then it has an option of another kind, which is `Invalid`.
fn message(kind: QueueKind) -> impl Strategy<Value = Push> + Clone {
    let is = |other, often: f64| if kind == other { often } else { STRANGE };
    let priority = select(vec![0, 0, 1, 1, -1, 2, i16::MAX, i16::MIN]);
    let options = (
        option::weighted(is(QueueKind::Priority, 0.9), priority),
        option::weighted(is(QueueKind::Grouped, 0.9), group()),
        prop::bool::weighted(is(QueueKind::Bounded, 0.5)),
    );
    let due_in = is(QueueKind::Delay, 0.95).max(LATER);
    (push(due_in), options).prop_map(|(mut push, (priority, group, evicts))| {
        (push.priority, push.group) = (priority, group);
        if evicts {
            push.overflow = Overflow::DropOldest;
        }
        push
    })
}

/// The key of a group. `B` and `a` have another order in most locales than by their bytes.
fn group() -> impl Strategy<Value = Bytes> + Clone {
    select(vec!["B", "B", "B", "a", "Ba", "c"]).prop_map(Bytes::from)
}

/// A rule or a pause of a group, or its end.
fn change() -> impl Strategy<Value = GroupChange> {
    let lasts = select(vec![0, 1, 10, 30, 100_000]).prop_map(Duration::from_millis);
    let weight = select(vec![0, 1, 2, 3, 7, 1_000, 1_001]);
    let at_once = prop_oneof![2 => Just(None), 1 => select(vec![0, 1, 2, 5]).prop_map(Some)];
    let rates = [(1, 10), (3, 20), (200, 50), (0, 1), (1, 0)].map(|(most, millis)| {
        let per = Duration::from_millis(millis);
        Some(LeaseRate::new(most, per))
    });
    let rate = prop_oneof![3 => Just(None), 1 => select(rates.to_vec())];
    let rule = (lasts.clone(), weight, at_once, rate).prop_map(|(lasts, weight, at_once, rate)| {
        let mut rule = GroupRule::lasting(lasts).with_weight(weight);
        (rule.at_once, rule.rate) = (at_once, rate);
        GroupChange::Rule(rule)
    });
    prop_oneof![
        4 => rule,
        1 => Just(GroupChange::NoRule),
        3 => lasts.prop_map(GroupChange::Pause),
        1 => Just(GroupChange::Resume),
    ]
}

fn on_a_ring() -> impl Strategy<Value = Vec<Step>> {
    let call = prop_oneof![
        4 => batch(insert()).prop_map(Call::Insert),
        6 => count().prop_map(Call::Rotate),
        4 => leasing::pages().prop_map(Call::List),
        2 => ids().prop_map(Call::Remove),
    ];
    prop_oneof![
        300 => call.prop_map(|call| vec![Step::Call(call)]),
        1 => Just(heavy(QueueKind::Rotating)),
        75 => wait().prop_map(|wait| vec![Step::Wait(wait)]),
    ]
}

fn capacity() -> impl Strategy<Value = NonZeroUsize> {
    let beyond = u32::MAX as usize;
    let capacity = prop_oneof![
        4 => 1..=6_usize,
        6 => select(vec![100, 300, 500]),
        1 => select(vec![beyond, beyond + 1]),
    ];
    capacity.prop_map(|capacity| NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN))
}

fn config(kind: QueueKind) -> impl Strategy<Value = QueueConfig> {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let capacity = select(vec![1, 2, 3, 4, 300, 500, 1_000]);
    let ageing = option::of(select(vec![1, 10, DAY]));
    let pace = option::of(select(vec![1, 10, 20]));
    let attempts = prop_oneof![3 => 1..=3_u32, 1 => Just(5)];
    let dead = select(vec![10_000, 10_000, 0, 1, 2, 3]);
    let max_body = prop_oneof![
        1 => Just(DEFAULT_MAX_BODY),
        1 => Just(16),
        3 => Just(MAX_BATCH_BYTES),
    ];
    let at_once = prop_oneof![6 => Just(None), 1 => select(vec![Some(1), Some(2), Some(200)])];
    let rates = [(1, 2), (3, 10), (150, 20)].map(|(most, millis)| {
        let per = Duration::from_millis(millis);
        Some(LeaseRate::new(most, per))
    });
    let rate = prop_oneof![6 => Just(None), 1 => select(rates.to_vec())];
    let group_rate = prop_oneof![2 => Just(None), 1 => select(rates.to_vec())];
    let (strict, loose) = (GroupOrder::Strict, GroupOrder::Loose);
    let orders = [
        (strict, 1),
        (strict, 1),
        (loose, 1),
        (loose, 2),
        (loose, u32::MAX),
        (loose, u32::MAX),
    ];
    let order = select(orders.to_vec());
    let on_death = prop_oneof![3 => Just(OnDeath::Continue), 1 => Just(OnDeath::Park)];
    let own = (capacity, ageing, pace, (order, on_death, group_rate));
    (own, attempts, dead, max_body, (at_once, rate)).prop_map(
        move |((capacity, ageing, pace, order), attempts, dead, body, (at_once, rate))| {
            let mut config = QueueConfig::of(kind, capacity);
            match &mut config {
                QueueConfig::Priority(config) => config.ageing = ageing.map(Duration::from_millis),
                QueueConfig::Grouped(config) => {
                    let of_groups;
                    (of_groups, config.on_death, config.group_rate) = order;
                    (config.order, config.per_group) = of_groups;
                }
                QueueConfig::Rotating(config) => {
                    config.pace = pace.map(Duration::from_millis);
                    config.max_body = body;
                }
                _ => {}
            }
            if let Some(leasing) = config.leasing_mut() {
                leasing.max_attempts = attempts;
                leasing.dead_letter_cap = dead;
                (leasing.at_once, leasing.rate) = (at_once, rate);
                leasing.max_body = body;
            }
            config
        },
    )
}

/// A batch: seldom empty, seldom long.
fn batch<S>(entry: S) -> impl Strategy<Value = Vec<S::Value>>
where
    S: Strategy + Clone,
    S::Value: Clone,
{
    prop_oneof![
        60 => vec(entry.clone(), 1..=4),
        1 => Just(Vec::new()),
        1 => (entry, select(vec![127, 128, 129])).prop_map(|(entry, times)| vec![entry; times]),
    ]
}
