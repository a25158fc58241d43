//! Queues of each kind, with messages in each place and everything that may be stored beside them.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::{
    Backend, BoundedConfig, Claim, DelayConfig, Due, Extension, GroupChange, GroupRule,
    GroupedConfig, GroupedQueueExt, Insert, KeptResult, Leasing, LeasingExt, OnDeath, Overflow,
    Page, Partitioned, PriorityConfig, Push, QueueName, Queues, Receipt, ReliableConfig,
    RotatingConfig, Settlement, TimeToLive,
};
use queue_schedule::{Periodic, Schedules};

use crate::Clock;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// Bytes of a body that is stored out of line.
pub(crate) const LARGE: usize = 500;
/// The time that it takes to store everything, by the clock of the test.
pub(crate) const TIME: Duration = Duration::from_secs(2);
/// The lease of what stays leased.
const LONG: Duration = Duration::from_secs(1800);

pub(crate) fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a name")
}

pub(crate) fn most(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("more than 0")
}

async fn receipt(queue: &dyn Leasing) -> Receipt {
    let leased = queue.lease(most(1), LONG).await.expect("leases");
    leased.deliveries[0].receipt
}

async fn settle(queue: &dyn Leasing, settlement: Settlement) {
    queue.settle(&[settlement]).await.expect("settles");
}

pub(crate) async fn store(backend: &Arc<dyn Backend>, clock: &Clock) {
    reliable(backend).await;
    clock.advance(SECOND);
    delayed_and_urgent(backend).await;
    grouped(backend).await;
    bounded(backend).await;
    clock.advance(SECOND);
    ring(backend).await;
    once(backend).await;
    partitioned(backend).await;
    schedules(backend).await;
}

async fn reliable(backend: &Arc<dyn Backend>) {
    let config = ReliableConfig::default()
        .with_max_attempts(3)
        .with_dead_letter_cap(50)
        .with_at_once(40)
        .with_rate(100, HOUR);
    let mails = backend
        .open_reliable(&name("mails"), &config)
        .await
        .expect("opens");
    let large = Push::new(vec![b'x'; LARGE]).with_header("kind", "large");
    for push in [
        Push::new("acked with a result"),
        Push::new("acked"),
        Push::new("buried").with_header("tenant", "acme"),
        Push::new("retried"),
        Push::new("deferred"),
        Push::new("released"),
        Push::new("leased, with progress").with_unique("leased", HOUR),
        large,
        Push::new("ready, with marks").with_dedup("ready", HOUR),
        Push::new("late").with_time_to_live(TimeToLive::bury_after(2 * HOUR)),
        Push::new("delayed").with_due(Due::After(HOUR)),
    ] {
        let _ = mails.push_one(push).await.expect("pushes");
    }
    let batch: Vec<Push> = (0..6)
        .map(|number| Push::new(format!("of a batch, {number}")))
        .collect();
    mails.push(&batch).await.expect("pushes");

    let done = Settlement::ack_with(
        receipt(&*mails).await,
        KeptResult::new("\"done\"", 4 * HOUR),
    );
    settle(&*mails, done).await;
    settle(&*mails, Settlement::ack(receipt(&*mails).await)).await;
    settle(
        &*mails,
        Settlement::bury(receipt(&*mails).await, "no address"),
    )
    .await;
    let failed = Settlement::retry_because(receipt(&*mails).await, HOUR, "the server is down");
    settle(&*mails, failed).await;
    settle(&*mails, Settlement::defer(receipt(&*mails).await, HOUR)).await;
    settle(&*mails, Settlement::release(receipt(&*mails).await)).await;
    settle(&*mails, Settlement::release(receipt(&*mails).await)).await;
    // The released one is leased again, then the one behind it.
    let (again, leased) = (receipt(&*mails).await, receipt(&*mails).await);
    settle(&*mails, Settlement::release(again)).await;
    let progress = Extension::new(leased).with_progress("\"half of it\"");
    mails.extend(&[progress], LONG).await.expect("extends");

    // A batch lease from a pack, of which one is acked.
    let packed = ReliableConfig::default();
    let packed = backend
        .open_reliable(&name("packed"), &packed)
        .await
        .expect("opens");
    packed.push(&batch).await.expect("pushes");
    packed.push(&batch).await.expect("pushes");
    let run = packed.lease(most(6), LONG).await.expect("leases");
    settle(&*packed, Settlement::ack(run.deliveries[2].receipt)).await;

    let paused = ReliableConfig::default();
    let paused = backend
        .open_reliable(&name("paused"), &paused)
        .await
        .expect("opens");
    let _ = paused.push_one("waits").await.expect("pushes");
    paused.pause().await.expect("pauses");
}

async fn delayed_and_urgent(backend: &Arc<dyn Backend>) {
    let config = DelayConfig::default();
    let timeouts = backend
        .open_delay(&name("timeouts"), &config)
        .await
        .expect("opens");
    for (body, delay) in [("b", 2 * HOUR), ("a", HOUR), ("due", Duration::ZERO)] {
        let _ = timeouts
            .push_one(Push::new(body).with_due(delay))
            .await
            .expect("schedules");
    }
    let due = receipt(&*timeouts).await;
    settle(&*timeouts, Settlement::release(due)).await;

    for (queue, config) in [
        ("tickets", PriorityConfig::default()),
        ("aged", PriorityConfig::default().with_ageing(SECOND)),
    ] {
        let tickets = backend
            .open_priority(&name(queue), &config)
            .await
            .expect("opens");
        let pushes = [
            ("low", -3),
            ("urgent", 9),
            ("urgent, later", 9),
            ("low, leased", 20),
        ];
        let pushes: Vec<Push> = pushes
            .into_iter()
            .map(|(body, priority)| Push::new(body).with_priority(priority))
            .collect();
        tickets.push(&pushes).await.expect("pushes");
        receipt(&*tickets).await;
        let urgent = receipt(&*tickets).await;
        settle(&*tickets, Settlement::retry(urgent, Duration::ZERO)).await;
    }
}

async fn grouped(backend: &Arc<dyn Backend>) {
    let strict = GroupedConfig::default().with_on_death(OnDeath::Park);
    let loose = GroupedConfig::loose(2);
    for (queue, config) in [("invoices", strict), ("exports", loose)] {
        let queue = backend
            .open_grouped(&name(queue), &config)
            .await
            .expect("opens");
        let keyed = ["ann", "ben", "cleo"].into_iter().flat_map(|key| {
            (0..3).map(move |number| Push::new(format!("{key} {number}")).with_group(key))
        });
        let keyed: Vec<Push> = keyed.collect();
        queue.push(&keyed).await.expect("pushes");
        let rule = GroupRule::lasting(3 * HOUR).with_weight(3).with_at_once(5);
        queue.set_rule("ben", rule).await.expect("changes");
        let pause = GroupChange::Pause(HOUR);
        queue
            .change_group("cleo".into(), pause)
            .await
            .expect("changes");
        let (first, second) = (receipt(&*queue).await, receipt(&*queue).await);
        settle(&*queue, Settlement::bury(first, "no such customer")).await;
        settle(&*queue, Settlement::retry(second, 2 * HOUR)).await;
    }
}

async fn bounded(backend: &Arc<dyn Backend>) {
    let config = BoundedConfig::new(6);
    let gifts = backend
        .open_bounded(&name("gifts"), &config)
        .await
        .expect("opens");
    for gift in ["rose", "kite", "cake", "hat"] {
        let _ = gifts
            .push_one(Push::new(gift).with_overflow(Overflow::DropOldest))
            .await
            .expect("offers");
    }
    for price in ["9.5", "9.0"] {
        let offer = Push::new(price).with_distinct("lamp");
        let _ = gifts.push_one(offer).await.expect("offers");
    }
    receipt(&*gifts).await;
    gifts.resize(most(4)).await.expect("resizes");
}

async fn ring(backend: &Arc<dyn Backend>) {
    for (queue, config) in [
        ("sensors", RotatingConfig::default()),
        ("paced", RotatingConfig::default().with_pace(HOUR)),
    ] {
        let ring = backend
            .open_rotating(&name(queue), &config)
            .await
            .expect("opens");
        let items = ["north", "south", "west"].map(|key| Insert::new(key).with_key(key));
        ring.insert(&items).await.expect("inserts");
        ring.insert(&[Insert::new(vec![b'y'; LARGE])])
            .await
            .expect("inserts");
        let _ = ring.rotate(most(1)).await.expect("rotates");
    }
}

async fn once(backend: &Arc<dyn Backend>) {
    let store = backend.open_once(&name("charges")).await.expect("opens");
    for key in ["claimed", "done"] {
        let claim = store.claim(key.as_bytes(), LONG).await.expect("claims");
        let Claim::Claimed(token) = claim else {
            panic!("{claim:?}")
        };
        if key == "done" {
            store
                .finish(key.as_bytes(), token, 5 * HOUR)
                .await
                .expect("finishes");
        }
    }
}

async fn partitioned(backend: &Arc<dyn Backend>) {
    let backend = Partitioned::new(Arc::clone(backend), 3)
        .expect("a good number")
        .beginning_at(0);
    let config = ReliableConfig::default();
    let orders = backend
        .open_reliable(&name("orders"), &config)
        .await
        .expect("opens");
    for key in ["ann", "ben", "cleo", "dora"] {
        let push = Push::new(key).with_header(Partitioned::KEY, key);
        let _ = orders.push_one(push).await.expect("pushes");
    }
}

async fn schedules(backend: &Arc<dyn Backend>) {
    let queues = Queues::from(Arc::clone(backend));
    let config = ReliableConfig::default();
    let ticks = backend
        .open_reliable(&name("ticks"), &config)
        .await
        .expect("opens");
    let schedules = Schedules::open(&queues, "schedules").await.expect("opens");
    let mut scheduler = queue_schedule::Scheduler::new(&schedules);
    let every = Periodic::every("hourly", HOUR).expect("a good interval");
    scheduler
        .add_push(every, "ticks", |_| Ok(Push::new("tick")))
        .await
        .expect("adds");
    let ring = RotatingConfig::default();
    let ring = backend.open_rotating(&name("schedules"), &ring).await;
    let ring = ring.expect("opens");
    // The first slot is pushed ahead. Then the third version of the record, which says so, is alone in the ring.
    let pushed = async {
        loop {
            let stored = ring.list(Page::first(2)).await.expect("lists").entries;
            if stored.len() == 1 && stored[0].id.get() == 3 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    scheduler.run_until(pushed).await.expect("ends");
    assert_eq!(ticks.depth().await.expect("counts").delayed, 1);
}
