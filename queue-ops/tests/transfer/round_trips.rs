//! Random messages of every kind, with all that a message can have, come through a move and through a file as they were.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use proptest::{collection::vec, option, prelude::*};
use queue_core::*;
use queue_memory::MemoryBackend;
use queue_ops::{import, move_messages};
use queue_redis::RedisBackend;
use queue_testing::property::check_property;
use real_redis::Server;

use crate::setting::{HOUR, exported, open, peeked};

const KINDS: [QueueKind; 5] = [
    QueueKind::Reliable,
    QueueKind::Delay,
    QueueKind::Priority,
    QueueKind::Grouped,
    QueueKind::Bounded,
];

/// What a consumer does with a message that it was handed out.
#[derive(Debug, Clone)]
enum Fate {
    Waits,
    IsHeld,
    IsReleased,
    IsDeferred,
    IsRetried(Option<String>),
    IsBuried(String),
}

#[derive(Debug, Clone)]
struct Planned {
    body: Vec<u8>,
    headers: Vec<(String, String)>,
    due_in: Option<u64>,
    priority: i16,
    group: Vec<u8>,
    dedup: bool,
    /// The seconds of its time to live beyond its due time, and whether it is buried then.
    lives: Option<(u64, bool)>,
    fate: Fate,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        "\\PC{0,8}",
        Just("\0\r\n\u{202e}\"'`$(x)".to_owned())
    ]
}

/// Bodies: text, JSON, MessagePack with and without the names of fields, any bytes, and a large one.
fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        text().prop_map(String::into_bytes),
        Just(br#"{"number":7,"note":"no \"quotes\""}"#.to_vec()),
        Just(b"\x82\xa6number\x07\xa4note\xa1\xc3".to_vec()),
        Just(b"\x92\x07\xa1x".to_vec()),
        vec(any::<u8>(), 0..40),
        Just(vec![0xff; 40_000]),
    ]
}

fn planned() -> impl Strategy<Value = Planned> {
    let group = prop_oneof![
        Just(b"a".to_vec()),
        Just("ü: \"7\"".as_bytes().to_vec()),
        Just(vec![0xff, 0]),
        Just(vec![b'g'; 256]),
    ];
    let fate = prop_oneof![
        3 => Just(Fate::Waits),
        1 => Just(Fate::IsHeld),
        1 => Just(Fate::IsReleased),
        1 => Just(Fate::IsDeferred),
        2 => option::of(text()).prop_map(Fate::IsRetried),
        2 => text().prop_map(Fate::IsBuried),
    ];
    (
        body(),
        vec((text(), text()), 0..3),
        option::weighted(0.3, 600_u64..3_000),
        any::<i16>(),
        group,
        any::<bool>(),
        option::weighted(0.4, (600_u64..3_000, any::<bool>())),
        fate,
    )
        .prop_map(
            |(body, headers, due_in, priority, group, dedup, lives, fate)| Planned {
                body,
                headers,
                due_in,
                priority,
                group,
                dedup,
                lives,
                fate,
            },
        )
}

fn config(kind: QueueKind) -> QueueConfig {
    match kind {
        QueueKind::Grouped => GroupedConfig::loose(1_000).into(),
        kind => QueueConfig::of(kind, 1_000),
    }
}

/// Pushes a message, whose number its body begins with.
async fn push(queue: &AnyQueue, number: usize, planned: &Planned) {
    let body = [format!("{number:03}").as_bytes(), &planned.body].concat();
    let mut push = Push::new(body).with_headers(planned.headers.iter().cloned().collect());
    let due_in = Duration::from_secs(planned.due_in.unwrap_or(0));
    if planned.dedup {
        push = push.with_dedup(format!("key {number}"), HOUR);
    }
    if let Some((beyond, is_buried)) = planned.lives {
        let limit = due_in + Duration::from_secs(beyond);
        push = push.with_time_to_live(match is_buried {
            true => TimeToLive::bury_after(limit),
            false => TimeToLive::drop_after(limit),
        });
    }
    if planned.due_in.is_some() || queue.kind() == QueueKind::Delay {
        push = push.with_due(due_in);
    }
    push = match queue.kind() {
        QueueKind::Priority => push.with_priority(planned.priority),
        QueueKind::Grouped => push.with_group(planned.group.clone()),
        _ => push,
    };
    queue.put(&[push]).await.unwrap();
}

fn number(body: &Bytes) -> usize {
    std::str::from_utf8(&body[..3]).unwrap().parse().unwrap()
}

async fn live_it_through(queue: &AnyQueue, plan: &[Planned]) {
    for (nth, planned) in plan.iter().enumerate() {
        push(queue, nth, planned).await;
    }
    let leasing = queue.leasing().unwrap();
    let most = limits::MAX_BATCH.try_into().unwrap();
    let leased = leasing.lease(most, HOUR).await.unwrap();
    let settlements = leased.deliveries.iter().filter_map(|delivery| {
        let receipt = delivery.receipt;
        match &plan[number(&delivery.body)].fate {
            Fate::IsHeld => None,
            Fate::Waits | Fate::IsReleased => Some(Settlement::release(receipt)),
            Fate::IsDeferred => Some(Settlement::defer(receipt, HOUR)),
            Fate::IsRetried(None) => Some(Settlement::retry(receipt, HOUR)),
            Fate::IsRetried(Some(why)) => Some(Settlement::retry_because(receipt, HOUR, why)),
            Fate::IsBuried(why) => Some(Settlement::bury(receipt, why)),
        }
    });
    let settlements: Vec<Settlement> = settlements.collect();
    if !settlements.is_empty() {
        leasing.settle(&settlements).await.unwrap();
    }
}

/// All that is in a queue.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    ready: Vec<Peeked>,
    delayed: Vec<Peeked>,
    leased: Vec<Peeked>,
    dead: Vec<DeadLetter>,
}

async fn content(queue: &AnyQueue) -> Content {
    let leasing = queue.leasing().unwrap();
    let dead = leasing.dead_letters(Page::first(limits::MAX_PAGE)).await;
    Content {
        ready: peeked(queue, Place::Ready).await,
        delayed: peeked(queue, Place::Delayed).await,
        leased: peeked(queue, Place::Leased).await,
        dead: dead.unwrap().entries,
    }
}

/// The parts of a message that a transfer keeps.
#[derive(Debug, PartialEq)]
struct Kept {
    body: Bytes,
    headers: Headers,
    priority: i16,
    group: Option<Bytes>,
    /// The second in which it is due or outdated, by a clock that begins with the test.
    due_in: Option<Duration>,
    lives: Option<TimeToLive>,
}

impl Kept {
    fn of(peeked: &Peeked) -> Self {
        Self {
            body: peeked.message.body.clone(),
            headers: peeked.message.headers.clone(),
            priority: peeked.priority,
            group: peeked.group.clone(),
            due_in: match peeked.standing {
                Standing::Delayed { due_in, .. } => Some(due_in),
                _ => None,
            },
            lives: peeked.time_to_live,
        }
    }

    fn of_dead(letter: &DeadLetter) -> Self {
        Self {
            body: letter.body.clone(),
            headers: letter.headers.clone(),
            priority: letter.priority,
            group: letter.group.clone(),
            due_in: None,
            lives: None,
        }
    }

    /// The same in a queue of this kind.
    fn in_kind(self, kind: QueueKind) -> Self {
        let group = self.group.unwrap_or(Push::NO_GROUP.into());
        Self {
            priority: self.priority * i16::from(kind == QueueKind::Priority),
            group: (kind == QueueKind::Grouped).then_some(group),
            ..self
        }
    }

    /// Whether this is `other`, up to `slack` later.
    fn is_like(&self, other: &Self, slack: Duration) -> bool {
        let near = |one: Option<Duration>, other: Option<Duration>| match (one, other) {
            (Some(one), Some(other)) => one.abs_diff(other) <= slack,
            (one, other) => one == other,
        };
        let ends = |lives: Option<TimeToLive>| lives.map(|lives| lives.then);
        let limit = |lives: Option<TimeToLive>| lives.map(|lives| lives.limit);
        self.body == other.body
            && self.headers == other.headers
            && (self.priority, &self.group) == (other.priority, &other.group)
            && near(self.due_in, other.due_in)
            && ends(self.lives) == ends(other.lives)
            && near(limit(self.lives), limit(other.lives))
    }
}

fn assert_kept(expected: Vec<Kept>, found: &[Peeked], slack: Duration, what: &str) {
    let mut by_number: BTreeMap<usize, Kept> = expected
        .into_iter()
        .map(|kept| (number(&kept.body), kept))
        .collect();
    for one in found {
        let kept = Kept::of(one);
        let expected = by_number.remove(&number(&kept.body));
        let expected = expected.unwrap_or_else(|| panic!("{what}: not expected: {kept:?}"));
        assert!(
            kept.is_like(&expected, slack),
            "{what}: {expected:?} became {kept:?}"
        );
        let spent = (one.attempts, one.failure.as_deref());
        assert_eq!(spent, (0, None), "{what}: begins again");
    }
    assert!(by_number.is_empty(), "{what}: lost {by_number:?}");
}

/// The numbers of these messages by group, in their order.
fn order(messages: &[Peeked]) -> BTreeMap<Option<Bytes>, Vec<usize>> {
    let mut order: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for one in messages {
        let numbers = order.entry(one.group.clone()).or_default();
        numbers.push(number(&one.message.body));
    }
    order
}

async fn comes_through(
    backend: &dyn Backend,
    from: QueueKind,
    to: QueueKind,
    plan: &[Planned],
    slack: Duration,
) {
    let old = open(backend, "old", &config(from)).await;
    live_it_through(&old, plan).await;
    let before = content(&old).await;
    let all = |messages: &[Peeked]| -> Vec<Kept> {
        let kept = messages.iter().map(Kept::of);
        kept.map(|kept| kept.in_kind(to)).collect()
    };

    // By a file, with all that there is; twice, since a transfer can be repeated.
    let read = open(backend, "read", &config(to)).await;
    let messages = exported(backend, "old").await;
    for message in &messages {
        let was = before
            .ready
            .iter()
            .chain(&before.delayed)
            .chain(&before.leased);
        let was = was.map(|one| (one.message.id, one.attempts, one.failure.clone()));
        let dead = before.dead.iter();
        let dead = dead.map(|one| (one.id, one.attempts, Some(one.why())));
        let told = (message.id, message.attempts, message.failure.clone());
        assert!(was.chain(dead).any(|was| was == told), "{message:?}");
    }
    for again in [false, true] {
        let done = import(backend, "read", "file", &messages).await.unwrap();
        let count = plan.len() as u64;
        let expected = if again { (0, count) } else { (count, 0) };
        assert_eq!((done.pushed, done.pushed_before), expected, "{done:?}");
    }
    let there = content(&read).await;
    let dead = before.dead.iter().map(Kept::of_dead);
    let mut ready: Vec<Kept> = dead.map(|kept| kept.in_kind(to)).collect();
    ready.extend(all(&before.leased));
    ready.extend(all(&before.ready));
    assert_kept(ready, &there.ready, slack, "ready, by a file");
    assert_kept(
        all(&before.delayed),
        &there.delayed,
        slack,
        "delayed, by a file",
    );

    // By a move.
    let new = open(backend, "new", &config(to)).await;
    old.leasing().unwrap().pause().await.unwrap();
    let moved = move_messages(backend, "old", "new", "move", &mut |_| ()).await;
    let moved = moved.unwrap();
    let count = (before.ready.len() + before.delayed.len()) as u64;
    assert_eq!(
        (moved.pushed, moved.pushed_before, moved.full),
        (count, 0, 0)
    );
    assert_eq!((moved.in_both, moved.stay), (0, 0));
    let there = content(&new).await;
    assert_kept(all(&before.ready), &there.ready, slack, "ready");
    assert_kept(all(&before.delayed), &there.delayed, slack, "delayed");
    if from == to {
        assert_eq!(order(&there.ready), order(&before.ready), "in their order");
    }
    let left = content(&old).await;
    assert_eq!((left.ready.len(), left.delayed.len()), (0, 0));
    assert_eq!(left.dead, before.dead);
    let receipts = |messages: &[Peeked]| -> Vec<(Bytes, u32, Option<String>)> {
        let messages = messages.iter();
        messages
            .map(|one| (one.message.body.clone(), one.attempts, one.failure.clone()))
            .collect()
    };
    assert_eq!(receipts(&left.leased), receipts(&before.leased));
    for queue in ["old", "read", "new"] {
        let name = QueueName::new(queue).unwrap();
        let removed = backend.remove(&name, Removal::EvenIfLeased).await.unwrap();
        assert!(removed);
    }
}

fn kinds() -> impl Strategy<Value = (QueueKind, QueueKind)> {
    let kind = || prop::sample::select(&KINDS[..]);
    prop_oneof![kind().prop_map(|kind| (kind, kind)), (kind(), kind())]
}

#[test]
fn in_memory_everything_comes_through_to_the_millisecond() {
    check_property(
        80,
        (kinds(), vec(planned(), 1..30)),
        |((from, to), plan)| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            let backend = MemoryBackend::new();
            runtime.block_on(comes_through(&backend, from, to, &plan, Duration::ZERO));
        },
    );
}

#[test]
fn on_redis_everything_comes_through() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = Server::start().unwrap();
    let redis = runtime.block_on(RedisBackend::connect(&server.url()));
    let backend: Arc<dyn Backend> = Arc::new(redis.unwrap());
    check_property(
        15,
        (kinds(), vec(planned(), 1..30)),
        |((from, to), plan)| {
            let slack = Duration::from_secs(60);
            runtime.block_on(comes_through(&*backend, from, to, &plan, slack));
        },
    );
}
