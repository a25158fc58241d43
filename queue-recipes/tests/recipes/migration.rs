//! The move from each recipe to the default queue, while other programs keep producing: a worker serves
//! both queues, the producers are switched one by one, and the old queue is drained.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex},
};

use queue_core::*;
use queue_recipes::*;
use queue_worker::{Context, Route, Workers};
use tokio::{sync::Notify, task::spawn_blocking};

use crate::{
    foreign::{DISTINCT, Foreign, NEWEST_FIRST, NEWEST_LAST, TOPIC_PUSH},
    ground::{Ground, START, counts, name},
    recipes::{self, Made},
    until::until,
    wire_bounded::recent,
};

const MESSAGES: u32 = 160;

/// Another program pushes this to the old queue.
fn produce(foreign: &mut Foreign, strategy: &str, n: u32) {
    let (body, now) = (n.to_string(), START.to_string());
    match strategy {
        "zset-string" => {
            let key = format!("queue_data_{n:08x}-9dad-41d1-80b4-00c04fd430c8");
            let pushed = (START / 1_000 - 3).to_string();
            let _: String = foreign.run(&["SET", &key, &body]);
            let _: u64 = foreign.run(&["ZADD", "q", &pushed, &key]);
        }
        "wait-active" => {
            let message = format!(r#"{{"body":"{n}"}}"#);
            let keys = ["delay:meta:topic:wait", "delay:wait:q"];
            let _: u64 = foreign.eval(TOPIC_PUSH, &keys, &[keys[1], &now, &message]);
        }
        name if name.starts_with("zset-json") => {
            let _: u64 = foreign.run(&["ZADD", "delay_queue:q", &now, &body]);
        }
        "stream" => {
            let _: String = foreign.run(&["XADD", "q", "*", "body", &body]);
        }
        "priority-lists" => {
            let _: u64 = foreign.run(&["LPUSH", "{q}:normal", &body]);
        }
        _ => {
            let _: u64 = foreign.run(&["LPUSH", "q", &body]);
        }
    }
}

/// Pushes these as another program, and runs its distributor.
async fn others_produce(ground: &Arc<Ground>, strategy: &'static str, numbers: Range<u32>) {
    let ground = Arc::clone(ground);
    let produce = move || {
        let mut foreign = ground.foreign();
        for n in numbers {
            produce(&mut foreign, strategy, n);
            ground.distribute();
        }
    };
    spawn_blocking(produce).await.expect("no panic");
}

async fn ours_produces(queue: &AnyQueue, numbers: Range<u32>) {
    for n in numbers {
        queue
            .put(&[Push::new(n.to_string())])
            .await
            .expect("it pushes");
    }
}

async fn moves(ground: Ground, made: Made) {
    let strategy = made.guarantees.name;
    let old = made.open().await;
    let config = QueueConfig::of(made.guarantees.kind, 3);
    let new = ground
        .redis
        .open(&name("fresh"), &config)
        .await
        .expect("it opens");
    let ground = Arc::new(ground);

    let handled: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let stop = Arc::new(Notify::new());
    let handler = || {
        let handled = Arc::clone(&handled);
        move |n: u32, _: Context| {
            *handled.lock().expect("no panic").entry(n).or_default() += 1;
            async {}
        }
    };
    let route = |queue: &AnyQueue| {
        let queue = queue.leasing().expect("it leases");
        Route::new(Consumer::<u32>::of(queue, Json))
    };
    let workers = Workers::in_order()
        .concurrency(4)
        .poll(crate::ground::SOON)
        .add(route(&old), handler())
        .add(route(&new), handler());
    let shutdown = Arc::clone(&stop);
    let running = tokio::spawn(workers.run_until(async move { shutdown.notified().await }));

    // Two producers, both in other programs.
    tokio::join!(
        others_produce(&ground, strategy, 0..40),
        others_produce(&ground, strategy, 80..120),
    );
    // The first is switched, then the second.
    tokio::join!(
        ours_produces(&new, 40..80),
        others_produce(&ground, strategy, 120..140),
    );
    ours_produces(&new, 140..160).await;

    // No producer is left: the messages of the old queue are worked off.
    let all = || handled.lock().expect("no panic").len() == MESSAGES as usize;
    until(&format!("{strategy}: all are handled"), all).await;
    stop.notify_one();
    let report = running.await.expect("no panic").expect("good settings");
    assert!(report.drained, "{strategy}: {report:?}");
    let handled = handled.lock().expect("no panic").clone();
    assert!(
        handled.values().all(|times| *times == 1),
        "{strategy}: {handled:?}"
    );
    assert_eq!(report.counts.acked, u64::from(MESSAGES), "{strategy}");
    assert_eq!(counts(&old).await, [0; 4], "{strategy}");
    assert_eq!(counts(&new).await, [0; 4], "{strategy}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_serves_both_until_the_old_queue_is_empty() {
    for (ground, made) in recipes::leasing().await {
        moves(ground, made).await;
    }
}

/// Nothing is taken from a bounded list. A reader shows the new queue, and fills up from the old one
/// until the new one is full; from then on nobody reads the old one.
#[tokio::test]
async fn a_reader_of_the_newest_reads_both_until_the_new_queue_is_full() {
    let ground = Ground::start().await;
    for made in recipes::all(&ground.redis) {
        let strategy = made.guarantees.name;
        if made.guarantees.kind != QueueKind::Bounded {
            continue;
        }
        let old = made.open().await;
        let config = BoundedConfig::new(3).into();
        let new = ground
            .redis
            .open(&name("fresh"), &config)
            .await
            .expect("it opens");
        let mut foreign = ground.foreign();
        for n in 0..5 {
            newest(&mut foreign, strategy, n);
        }
        let view = async || {
            let mut shown = recent(&new, 3).await;
            shown.extend(recent(&old, 3).await);
            shown.truncate(3);
            shown
        };
        assert_eq!(view().await, ["4", "3", "2"], "{strategy}");
        // The producer is switched.
        for (n, shown) in [
            ("5", ["5", "4", "3"]),
            ("6", ["6", "5", "4"]),
            ("7", ["7", "6", "5"]),
        ] {
            crate::ground::push(&new, &[n]).await;
            assert_eq!(view().await, shown, "{strategy}");
        }
        assert_eq!(
            recent(&new, 3).await,
            view().await,
            "{strategy}: the old one is not read"
        );
        ground.foreign().run::<String>(&["FLUSHALL"]);
    }
}

fn newest(foreign: &mut Foreign, strategy: &str, n: u64) {
    let (body, time) = (n.to_string(), (START + n).to_string());
    let by_time = ["3", &*time, &*body];
    let (script, arguments) = match strategy {
        name if name.starts_with("distinct") => (DISTINCT, &by_time[..]),
        "fixed-length newest first" => (NEWEST_FIRST, &["3", &*body][..]),
        _ => (NEWEST_LAST, &["3", &*body][..]),
    };
    let () = foreign.eval(script, &["q"], arguments);
}

/// A ring is moved item by item, into the new ring first. If the mover dies, a visitor of both rings may
/// see an item twice, but misses none.
#[tokio::test]
async fn a_ring_is_moved_item_by_item_while_others_insert() {
    let ground = Arc::new(Ground::start().await);
    let AnyQueue::Rotating(old) = ground.open(Rotation::default(), "q").await else {
        panic!("another kind");
    };
    let config = RotatingConfig::default();
    let new = ground
        .redis
        .open_rotating(&name("fresh"), &config)
        .await
        .expect("it opens");
    let inserting = others_produce(&ground, "rotation", 0..40);
    let moving = async {
        let mut moved = 0;
        while moved < 40 {
            let visit = old
                .rotate(std::num::NonZeroUsize::MIN)
                .await
                .expect("it rotates");
            for item in visit.items {
                let copy = Insert::new(item.body.clone()).with_key(item.body);
                new.insert(&[copy]).await.expect("it inserts");
                moved += old.remove(&[item.id]).await.expect("it removes");
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(inserting, moving);
    assert_eq!(old.len().await.expect("a length"), 0);
    let items = new.list(Page::first(99)).await.expect("it lists").entries;
    let mut bodies: Vec<u32> = items
        .iter()
        .map(|item| {
            std::str::from_utf8(&item.body)
                .expect("text")
                .parse()
                .expect("a number")
        })
        .collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..40).collect::<Vec<_>>());
}
