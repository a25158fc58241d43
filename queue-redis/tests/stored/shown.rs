//! The results of the calls on everything that is stored, as text: first of calls that change nothing, then of calls that
//! hand out all messages.

use std::{fmt::Write, sync::Arc, time::Duration};

use queue_core::{
    AnyQueue, Backend, BoundedQueue, Delivery, Leasing, LeasingExt, MessageId, OnceStore, Page,
    Partitioned, Place, Push, Queues, RotatingQueue, Settlement,
};
use queue_schedule::Schedules;

use crate::{
    Clock,
    shop::{most, name},
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const PAGE: Page = Page::first(100);

/// At most the beginning of a long text.
fn short(text: String) -> String {
    match text.char_indices().nth(400) {
        Some((end, _)) => format!("{}… {} bytes", &text[..end], text.len()),
        None => text,
    }
}

macro_rules! line {
    ($out:expr, $($format:tt)*) => { writeln!($out, "{}", short(format!($($format)*))).expect("it is a string") };
}

pub(crate) async fn shown(backend: &Arc<dyn Backend>, clock: &Clock) -> String {
    let mut out = String::new();
    let queues = backend.queues(None, most(100)).await.expect("lists");
    for info in &queues {
        let stored = backend.open_stored(&info.name).await.expect("opens");
        let stored = stored.expect("it is listed");
        line!(out, "\n== {} {:?}", info.name, stored.config);
        let partitioned = info.name.as_str().starts_with("orders");
        if !partitioned {
            let opened = backend.open(&info.name, &stored.config).await;
            opened.expect("the stored configuration is the queue's");
        }
        match &stored.queue {
            AnyQueue::Rotating(ring) => show_ring(&mut out, &**ring).await,
            other => {
                let leasing = other.leasing().expect("all others lease");
                show_messages(&mut out, &*leasing).await;
            }
        }
        match &stored.queue {
            AnyQueue::Grouped(queue) => {
                for group in queue.groups(PAGE).await.expect("lists").entries {
                    line!(out, "group {group:?}");
                }
            }
            AnyQueue::Bounded(queue) => show_feed(&mut out, &**queue).await,
            _ => {}
        }
    }
    show_marks(&mut out, backend).await;
    show_once(
        &mut out,
        &*backend.open_once(&name("charges")).await.expect("opens"),
    )
    .await;
    show_schedules(&mut out, backend).await;

    // Every lease has expired, every message is due, and every pause of a group is over.
    clock.advance(3 * HOUR);
    let exact = Partitioned::new(Arc::clone(backend), 3).expect("a good number");
    let exact = exact.beginning_at(0);
    let orders = exact.open_stored(&name("orders")).await.expect("opens");
    let orders = orders.expect("its partitions are listed").queue;
    for info in &queues {
        if info.name.as_str().starts_with("orders") {
            continue;
        }
        let queue = backend.open_stored(&info.name).await.expect("opens");
        drain(
            &mut out,
            info.name.as_str(),
            &queue.expect("it is listed").queue,
            clock,
        )
        .await;
    }
    drain(&mut out, "orders", &orders, clock).await;
    out
}

async fn show_messages(out: &mut String, queue: &dyn Leasing) {
    let counters = queue.counters().await.expect("counts");
    line!(out, "{counters:?}");
    for place in [Place::Ready, Place::Delayed, Place::Leased] {
        for message in queue.peek(place, PAGE).await.expect("peeks").entries {
            line!(out, "{message:?}");
        }
    }
    for letter in queue.dead_letters(PAGE).await.expect("lists").entries {
        line!(out, "{letter:?}");
    }
    let ids: Vec<MessageId> = (1..=counters.accepted + 1).map(MessageId::new).collect();
    for (id, found) in ids.iter().zip(queue.find(&ids).await.expect("finds")) {
        line!(out, "{id}: {found:?}");
    }
}

async fn show_feed(out: &mut String, queue: &dyn BoundedQueue) {
    line!(out, "capacity {}", queue.capacity().await.expect("tells"));
    for message in queue.recent(10).await.expect("reads") {
        line!(out, "recent {message:?}");
    }
}

async fn show_ring(out: &mut String, ring: &dyn RotatingQueue) {
    for item in ring.list(PAGE).await.expect("lists").entries {
        line!(out, "item {item:?}");
    }
}

/// Pushes that repeat a stored key change nothing.
async fn show_marks(out: &mut String, backend: &Arc<dyn Backend>) {
    let queues = Queues::from(Arc::clone(backend));
    let mails = queues
        .stored("mails")
        .await
        .expect("opens")
        .expect("it is there");
    for push in [
        Push::new("again").with_dedup("ready", HOUR),
        Push::new("again").with_unique("leased", HOUR),
    ] {
        line!(
            out,
            "mails again: {:?}",
            mails.queue.put(&[push]).await.expect("pushes")
        );
    }
    let gifts = queues
        .stored("gifts")
        .await
        .expect("opens")
        .expect("it is there");
    let AnyQueue::Bounded(gifts) = gifts.queue else {
        panic!("gifts are bounded")
    };
    let newer = [Push::new("8.5").with_distinct("lamp")];
    let offered = gifts.push(&newer).await.expect("offers");
    line!(out, "a newer price: {offered:?}");
}

async fn show_once(out: &mut String, store: &dyn OnceStore) {
    line!(out, "\n== once {:?}", store.counts().await.expect("counts"));
    for key in ["claimed", "done", "free"] {
        let claim = store.claim(key.as_bytes(), SECOND).await.expect("claims");
        line!(out, "{key}: {claim:?}");
    }
}

async fn show_schedules(out: &mut String, backend: &Arc<dyn Backend>) {
    let schedules = Schedules::open(&Queues::from(Arc::clone(backend)), "schedules").await;
    for schedule in schedules.expect("opens").list().await.expect("lists") {
        line!(out, "schedule {schedule:?}");
    }
}

/// Hands everything out. Each message fails once, so stored attempts count.
async fn drain(out: &mut String, name: &str, queue: &AnyQueue, clock: &Clock) {
    line!(out, "\n== {name}, handed out");
    if let AnyQueue::Rotating(ring) = queue {
        for _ in 0..2 {
            let rotated = ring.rotate(most(3)).await.expect("rotates");
            for item in rotated.items {
                line!(out, "{item:?}");
            }
        }
        return;
    }
    if let AnyQueue::Grouped(grouped) = queue {
        grouped
            .change_group("ann".into(), queue_core::GroupChange::Resume)
            .await
            .expect("resumes");
    }
    let queue = queue.leasing().expect("all others lease");
    queue.resume().await.expect("resumes");
    for _ in 0..12 {
        let leased = queue.lease(most(10), SECOND).await.expect("leases");
        for delivery in leased.deliveries {
            settle(out, &*queue, &delivery).await;
        }
        clock.advance(HOUR);
    }
    let left = queue.depth().await.expect("counts");
    line!(out, "left: {left:?}");
}

async fn settle(out: &mut String, queue: &dyn Leasing, delivery: &Delivery) {
    line!(out, "{delivery:?}");
    let settlement = match delivery.attempt {
        1 => Settlement::retry_because(delivery.receipt, HOUR, "the first attempt"),
        _ => Settlement::ack(delivery.receipt),
    };
    let _ = queue
        .settle_one(settlement)
        .await
        .expect("its lease is live");
}
