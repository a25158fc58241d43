//! Sequences that told a wrong queue from a right one, shrunk by hand.

use std::time::Duration;

use queue_core::{
    BoundedConfig, Disposition, Insert, Offer, Overflow, Page, Place, Push, QueueConfig, QueueKind,
    RotatingConfig, Settlement, call::Call, limits::MAX_BATCH,
};
use queue_sim::{
    sequence::{
        Sequence, Step, Wait,
        strategy::{Round, burst},
        symbol,
    },
    world::{Environment, MemoryEnvironment},
};

use crate::hold;

const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(20);

fn holds(config: QueueConfig, steps: &[Vec<Step>]) {
    let steps = steps.concat();
    let sequence = Sequence { config, steps };
    let mut environments: Vec<Box<dyn Environment>> = vec![Box::new(MemoryEnvironment::new())];
    #[cfg(all(unix, feature = "redis"))]
    environments.push(Box::new(
        queue_sim::wire::RedisEnvironment::start().expect("a redis-server"),
    ));
    for environment in &mut environments {
        if let Err(broken) = hold(&sequence, &mut **environment) {
            panic!("on {}: {broken}", environment.name());
        }
    }
}

fn after(millis: u64) -> Vec<Step> {
    vec![Step::Wait(Wait::For(millis))]
}

fn call(call: Call) -> Vec<Step> {
    vec![Step::Call(call)]
}

/// 256 messages, leased first for a short and then for a longer time.
fn leased_twice(kind: QueueKind) -> Vec<Step> {
    let leased = |ttl| Round {
        ttl: Some(ttl),
        ..Round::default()
    };
    burst(kind, &[leased(SOON), leased(LATER)])
}

fn keyed(first: u8) -> Vec<Step> {
    let round = Round {
        keys: Some(first),
        ..Round::default()
    };
    burst(QueueKind::Reliable, &[round])
}

/// 256 leases expire at once; the receipt belongs to one beyond the 128 that the call reclaims.
#[test]
fn a_lease_that_expired_is_lost_before_it_is_reclaimed() {
    for kind in [QueueKind::Reliable, QueueKind::Delay, QueueKind::Priority] {
        let ack = call(Call::Settle(vec![Settlement::ack(symbol::receipt(0))]));
        holds(
            QueueConfig::of(kind, 1),
            &[leased_twice(kind), after(20), ack],
        );
    }
}

#[test]
fn an_expired_lease_beyond_128_is_not_cancelled() {
    for kind in [QueueKind::Reliable, QueueKind::Delay, QueueKind::Priority] {
        let ids = vec![symbol::id(0), symbol::id(MAX_BATCH)];
        holds(
            QueueConfig::of(kind, 1),
            &[leased_twice(kind), after(20), call(Call::Cancel(ids))],
        );
    }
}

/// 256 messages are due at once: a call promotes 128 of them, and the others are delayed still.
#[test]
fn what_is_due_beyond_128_is_delayed_still() {
    let later = vec![Push::new("p").with_due(SOON); MAX_BATCH];
    let peek = |place| call(Call::Peek(place, Page::first(1_000)));
    holds(
        QueueConfig::of(QueueKind::Reliable, 1),
        &[
            call(Call::Push(later.clone())),
            call(Call::Push(later)),
            after(10),
            peek(Place::Delayed),
            peek(Place::Ready),
        ],
    );
}

/// More marks end at once than one call must clear away.
#[test]
fn a_dedup_mark_has_ended_before_it_is_cleared_away() {
    holds(
        QueueConfig::of(QueueKind::Reliable, 1),
        &[
            keyed(0),
            keyed(100),
            after(19),
            keyed(100),
            after(1),
            keyed(122),
        ],
    );
}

/// Batches that evict or replace a unique message, of their own or of an earlier one: from that
/// entry on, its key is free.
#[test]
fn a_mark_ends_within_the_batch_that_takes_its_message_away() {
    let plain = || Offer::new("p");
    let unique = || Offer::new(Push::new("p").with_unique("k", LATER));
    let replaces = |offer: Offer| offer.with_distinct("d");
    let offer = |batch| call(Call::Offer(batch, Overflow::DropOldest));
    holds(
        QueueConfig::of(QueueKind::Bounded, 1),
        &[
            offer(vec![unique(), plain(), unique()]),
            offer(vec![plain(), unique()]),
            offer(vec![replaces(plain()), replaces(unique()), plain()]),
            offer(vec![replaces(unique()), replaces(plain()), unique()]),
        ],
    );
}

#[test]
fn nothing_is_revived_into_a_full_queue() {
    let round = Round {
        ttl: Some(SOON),
        ..Round::default()
    };
    let failed = Disposition::Retry {
        delay: Duration::ZERO,
        reason: Some("no paper".to_owned()),
    };
    let failed = Settlement::new(symbol::receipt(1), failed);
    holds(
        QueueConfig::Bounded(BoundedConfig::new(300).with_max_attempts(1)),
        &[
            burst(QueueKind::Bounded, &[round]),
            call(Call::Settle(vec![failed])),
            call(Call::Resize(std::num::NonZeroUsize::MIN)),
            call(Call::Revive(vec![symbol::id(1)])),
        ],
    );
}

#[test]
fn the_pace_counts_from_the_last_visit() {
    let visit = || call(Call::Rotate(std::num::NonZeroUsize::MIN));
    let pace = Duration::from_millis(1);
    holds(
        QueueConfig::Rotating(RotatingConfig::default().with_pace(pace)),
        &[
            call(Call::Insert(vec![Insert::new("p")])),
            visit(),
            after(2),
            visit(),
            visit(),
        ],
    );
}
