//! Sequences that once showed a bug, shrunk by hand.

use std::time::Duration;

use queue_core::{
    BoundedConfig, Disposition, Due, Insert, Overflow, Page, Place, Push, QueueConfig, QueueKind,
    Revival, RotatingConfig, Settlement, TimeToLive, call::Call, limits::MAX_BATCH,
};
use queue_sim::{
    sequence::{
        Sequence, Step, TimeStep,
        strategy::{Round, burst},
        symbol,
    },
    world::{Environment, MemoryEnvironment},
};

use crate::hold;

const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(20);
const DROP: TimeToLive = TimeToLive::drop_after(SOON);
const BURY: TimeToLive = TimeToLive::bury_after(SOON);

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
    vec![Step::Wait(TimeStep::For(millis))]
}

fn call(call: Call) -> Vec<Step> {
    vec![Step::Call(call)]
}

/// 256 messages, leased first for a short and then for a longer time.
fn leased_twice(kind: QueueKind) -> Vec<Step> {
    let leased = |lease_time| Round {
        lease_time: Some(lease_time),
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

/// 256 messages are due at once: a call promotes 128 of them, and the others stay delayed.
#[test]
fn messages_due_beyond_128_stay_delayed() {
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

fn lease() -> Vec<Step> {
    call(Call::Lease(std::num::NonZeroUsize::MIN, SOON))
}

/// 512 messages are outdated at once, and one is not. A call ends 128 of them, and a lease that
/// leaves some hands out nothing. The client reads depth and counters after each call.
#[test]
fn nothing_is_leased_while_an_outdated_message_is_left() {
    let outdating = |time_to_live| Round {
        time_to_live: Some(time_to_live),
        ..Round::default()
    };
    let rounds = [DROP, BURY, DROP, BURY].map(outdating);
    for kind in [QueueKind::Reliable, QueueKind::Delay, QueueKind::Bounded] {
        holds(
            QueueConfig::of(kind, 1_000),
            &[
                burst(kind, &rounds),
                call(Call::put(kind, vec![Push::new("p")])),
                after(10),
                lease(),
                lease(),
                call(Call::DeadLetters(Page::first(1_000))),
            ],
        );
    }
}

/// 128 leases expire together with their messages' times to live. The messages that come back end in the
/// same call; the others stay leased.
#[test]
fn messages_that_return_outdated_end_in_the_same_call() {
    let round = |time_to_live| Round {
        lease_time: Some(SOON),
        time_to_live: Some(time_to_live),
        ..Round::default()
    };
    for kind in [QueueKind::Reliable, QueueKind::Delay, QueueKind::Bounded] {
        holds(
            QueueConfig::of(kind, 1_000),
            &[
                burst(kind, &[round(DROP), round(BURY)]),
                after(10),
                lease(),
                lease(),
                call(Call::DeadLetters(Page::first(1_000))),
            ],
        );
    }
}

/// A holder may continue beyond the end. A message that it gives back ends, however it does so.
#[test]
fn a_retry_a_deferral_and_a_release_do_not_move_the_end() {
    let push = || Push::new("p").with_time_to_live(BURY);
    let back = [
        Disposition::Retry {
            delay: Duration::ZERO,
            reason: None,
        },
        Disposition::Defer { delay: LATER },
        Disposition::Release,
    ];
    for kind in [QueueKind::Reliable, QueueKind::Delay] {
        for disposition in &back {
            for pause in [9, 10] {
                let end = Settlement::new(symbol::receipt(0), disposition.clone());
                holds(
                    QueueConfig::of(kind, 1),
                    &[
                        call(Call::put(kind, vec![push()])),
                        call(Call::Lease(std::num::NonZeroUsize::MIN, LATER)),
                        after(pause),
                        call(Call::Settle(vec![end])),
                        lease(),
                        after(1),
                        lease(),
                        call(Call::DeadLetters(Page::first(1))),
                        call(Call::Revive(vec![symbol::id(0)], Revival::WithState)),
                        after(30),
                        lease(),
                    ],
                );
            }
        }
    }
}

#[test]
fn another_due_time_does_not_move_the_end() {
    let push = Push::new("p").with_time_to_live(TimeToLive::drop_after(LATER));
    let call_for = |due| call(Call::Reschedule(vec![symbol::id(0)], Due::After(due)));
    for due in [SOON, LATER] {
        holds(
            QueueConfig::of(QueueKind::Delay, 1),
            &[
                call(Call::Push(vec![push.clone().with_due(SOON)])),
                after(9),
                call_for(due),
                after(10),
                call(Call::Peek(Place::Delayed, Page::first(1))),
                after(1),
                lease(),
                call_for(due),
            ],
        );
    }
}

#[test]
fn pushes_that_end_before_they_are_due_are_refused() {
    let short = |limit| Push::new("p").with_time_to_live(TimeToLive::drop_after(limit));
    holds(
        QueueConfig::of(QueueKind::Reliable, 1),
        &[
            call(Call::Push(vec![short(Duration::ZERO)])),
            call(Call::Push(vec![short(SOON).with_due(SOON)])),
            call(Call::Push(vec![short(SOON).with_due(symbol::from_now(10))])),
            after(10),
            lease(),
        ],
    );
}

/// More marks end at once than one call clears away.
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
    let plain = || Push::new("p").with_overflow(Overflow::DropOldest);
    let unique = || plain().with_unique("k", LATER);
    let replaces = |push: Push| push.with_distinct("d");
    let offer = |batch| call(Call::Push(batch));
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
        lease_time: Some(SOON),
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
            call(Call::Revive(vec![symbol::id(1)], Revival::WithState)),
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
