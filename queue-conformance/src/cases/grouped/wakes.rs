//! G6: each way in which a group may run again is an arrival.

use std::{sync::Arc, time::Duration};

use queue_core::*;

use super::push;
use crate::{
    stage::{Stage, ms},
    steps::*,
};

const SOON: Duration = ms(60);
/// Long enough that a slow machine leases the message before its end.
const END: Duration = ms(1_000);
const LATE: Duration = ms(1_000_000);

/// A way in which a group may run again.
struct Way {
    name: &'static str,
    /// Nothing is ready, or its group may not run. Returns the delivery that keeps the group, if there is one.
    before: Before,
    /// The message that comes, and the time after which it comes.
    comes: (u64, Duration),
}

/// The state that keeps a waiting caller from the next message.
#[derive(Clone, Copy)]
enum Before {
    /// The queue is empty.
    Empty,
    /// The first of two messages is leased, for this time.
    Leased(Duration),
    /// The same, with one attempt for each message.
    LastAttempt(Duration),
    /// The first of two is leased, and its time to live ends soon.
    EndsSoon(fn(u64) -> Push),
    /// The first of two waits for a late retry.
    WaitsForRetry,
    /// A message is dead.
    Dead,
    /// The first of two is dead, and has parked its group.
    Parked,
    /// Two messages, and the group is paused for this time.
    Paused(Duration),
    /// The first of two is leased, by the usual limit of one. The order is loose.
    AtLimit,
    /// The same by a rule, which lasts for this time. The usual limit is two.
    AtRule(Duration),
}

const WAYS: [Way; 24] = {
    use Before::*;
    const fn way(name: &'static str, before: Before, comes: (u64, Duration)) -> Way {
        Way {
            name,
            before,
            comes,
        }
    }
    [
        way("push", Empty, (1, ms(0))),
        way("push-due-soon", Empty, (1, SOON)),
        way("ack", Leased(LATE), (2, ms(0))),
        way("bury", Leased(LATE), (2, ms(0))),
        way("release", Leased(LATE), (1, ms(0))),
        way("retry-now", Leased(LATE), (1, ms(0))),
        way("retry-soon", Leased(LATE), (1, SOON)),
        way("defer-soon", Leased(LATE), (1, SOON)),
        way("extend-to-soon", Leased(LATE), (1, SOON)),
        way("expiry", Leased(SOON), (1, SOON)),
        way("last-retry", LastAttempt(LATE), (2, ms(0))),
        way("last-expiry", LastAttempt(SOON), (2, SOON)),
        way("dropped-at-its-end", EndsSoon(dropped_after), (2, END)),
        way("dead-at-its-end", EndsSoon(buried_after), (2, END)),
        way("cancel", WaitsForRetry, (2, ms(0))),
        way("revive", Dead, (1, ms(0))),
        way("resume-parked", Parked, (2, ms(0))),
        way("resume-paused", Paused(LATE), (1, ms(0))),
        way("pause-ends", Paused(SOON), (1, SOON)),
        way("pause-becomes-short", Paused(LATE), (1, SOON)),
        way("rule-of-two", AtLimit, (2, ms(0))),
        way("rule-ends", AtRule(SOON), (2, SOON)),
        way("no-rule", AtRule(LATE), (2, ms(0))),
        way("rule-becomes-short", AtRule(LATE), (2, SOON)),
    ]
};

async fn open(stage: &Stage<'_>, way: &Way) -> Arc<dyn GroupedQueue> {
    let config = match way.before {
        Before::AtLimit => GroupedConfig::loose(1),
        Before::AtRule(_) => GroupedConfig::loose(2),
        Before::LastAttempt(_) => GroupedConfig::default().with_max_attempts(1),
        Before::Parked => GroupedConfig::default().with_on_death(OnDeath::Park),
        _ => GroupedConfig::default(),
    };
    let opened = stage.try_grouped(way.name, &config).await;
    opened.expect("opens")
}

/// Brings the queue into this state. Returns the delivery that keeps the group.
async fn prepare(queue: &dyn GroupedQueue, before: Before) -> Option<Delivery> {
    match before {
        Before::Empty => return None,
        Before::Dead => {
            push(queue, &["a"]).await;
            bury_next(queue, "dead").await;
            return None;
        }
        Before::EndsSoon(ends) => {
            let first = ends(END.as_millis() as u64);
            put(queue, first.with_group("a")).await;
            push(queue, &["a"]).await;
        }
        _ => push(queue, &["a", "a"]).await,
    }
    let rule = |lasts| queue.set_rule("a", GroupRule::lasting(lasts).with_at_once(1));
    match before {
        Before::Paused(lasts) => {
            queue.pause_group("a", lasts).await.expect("pauses");
            return None;
        }
        Before::Parked => {
            bury_next(queue, "dead").await;
            return None;
        }
        Before::AtRule(lasts) => rule(lasts).await.expect("changes"),
        _ => {}
    }
    let lasts = match before {
        Before::Leased(lasts) | Before::LastAttempt(lasts) => lasts,
        _ => LATE,
    };
    let held = take_one_for(queue, lasts).await;
    if matches!(before, Before::WaitsForRetry) {
        settle_live(queue, Settlement::retry(held.receipt, LATE)).await;
    }
    Some(held)
}

/// Lets the group run. Ways that are not here come with time.
async fn act(queue: &dyn GroupedQueue, way: &str, held: Option<Delivery>) {
    let held = || held.as_ref().expect("a leased message").receipt;
    let settlement = match way {
        "ack" => Settlement::ack(held()),
        "bury" => Settlement::bury(held(), "dead"),
        "release" => Settlement::release(held()),
        "retry-now" => Settlement::retry(held(), ms(0)),
        "retry-soon" => Settlement::retry(held(), SOON),
        "defer-soon" => Settlement::defer(held(), SOON),
        "last-retry" | "dropped-at-its-end" | "dead-at-its-end" => Settlement::retry(held(), LATE),
        _ => {
            return match way {
                "push" => push(queue, &["a"]).await,
                "push-due-soon" => {
                    let later = Push::new("x").with_due(Due::After(SOON));
                    put(queue, later.with_group("a")).await;
                }
                "extend-to-soon" => extend(queue, held(), SOON).await,
                "cancel" => assert_eq!(cancel(queue, &[1]).await, [Cancelled::Cancelled]),
                "revive" => queue
                    .revive(&[id(1)], Revival::WithState)
                    .await
                    .map(drop)
                    .expect("revives"),
                "resume-parked" | "resume-paused" => {
                    queue.resume_group("a").await.expect("resumes");
                }
                "pause-becomes-short" => queue.pause_group("a", SOON).await.expect("pauses"),
                "rule-of-two" => {
                    let two = GroupRule::lasting(LATE).with_at_once(2);
                    queue.set_rule("a", two).await.expect("changes");
                }
                "no-rule" => queue.end_rule("a").await.expect("changes"),
                "rule-becomes-short" => {
                    let short = GroupRule::lasting(SOON).with_at_once(1);
                    queue.set_rule("a", short).await.expect("changes");
                }
                "expiry" | "last-expiry" | "pause-ends" | "rule-ends" => {}
                other => panic!("no way {other}"),
            };
        }
    };
    settle_live(queue, settlement).await;
}

pub(crate) async fn g6_each_way_in_which_a_group_may_run_wakes_who_waits(stage: &Stage<'_>) {
    for way in &WAYS {
        let queue = open(stage, way).await;
        let held = prepare(&*queue, way.before).await;
        let waits = Arc::clone(&queue);
        let waiting = stage
            .start(async move { waits.receive_one(LATE, LONG).await })
            .await;
        act(&*queue, way.name, held).await;
        let (expected, after) = way.comes;
        let came = stage.within(way.name, after, waiting).await;
        let came = came.expect("receives").expect("a message");
        assert_eq!(came.id(), id(expected), "{}", way.name);
    }
}
