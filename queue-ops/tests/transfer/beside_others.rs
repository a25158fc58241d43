//! Transfers beside producers, consumers and other operators.

use std::{
    collections::BTreeSet,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Layered,
    call::{Answer, Call, Layer, Service},
    *,
};
use queue_memory::MemoryBackend;
use queue_ops::{export, import, move_messages};

use crate::setting::{HOUR, as_in_a_file, backends, drained, exported, open};

/// Changes of the queue `old` before some of a transfer's calls.
#[derive(Debug, Clone, Copy)]
enum Meddling {
    /// A producer pushes more urgent messages before each peek.
    PushesAhead,
    /// A producer pushes more messages before each peek than that shows.
    PushesBehind,
    /// Of a message that was leased when it was looked for elsewhere, and so on: no pass finds it.
    Hides,
    /// A consumer acks a message before each peek.
    Acks,
    /// Someone resumes the queue before the first cancel, and a consumer takes a message.
    Leases,
    /// A consumer puts each dead letter back before it is listed, for the first passes.
    Revives,
    /// An hour passes between the ready messages and the delayed ones.
    Dawdles,
    /// Before dead letters are listed, a message is pushed and dies.
    Dies,
}

#[derive(Debug)]
struct Meddler {
    meddling: Meddling,
    calls: AtomicU64,
}

impl Meddler {
    fn before(meddling: Meddling, backend: &Arc<dyn Backend>) -> Layered<Self> {
        let calls = AtomicU64::new(0);
        Layered::new(Self { meddling, calls }, Arc::clone(backend))
    }
}

#[async_trait]
impl Layer for Meddler {
    async fn call(&self, name: &QueueName, queue: &Arc<dyn Service>, call: Call) -> Result<Answer> {
        if name.as_str() != "old" {
            return queue.call(call).await;
        }
        let lease = |max| Call::Lease(NonZeroUsize::new(max).unwrap(), HOUR);
        let nth = self.calls.fetch_add(1, Ordering::Relaxed);
        match (self.meddling, &call) {
            (Meddling::PushesAhead | Meddling::PushesBehind, Call::Peek(..)) => {
                assert!(nth < 1_000, "it does not end");
                let (pushes, priority) = match self.meddling {
                    Meddling::PushesAhead => (1, i16::MAX),
                    _ => (9, i16::MIN),
                };
                for _ in 0..pushes {
                    let news = vec![Push::from("new").with_priority(priority); limits::MAX_BATCH];
                    queue.call(Call::Push(news)).await?;
                }
            }
            (Meddling::Acks, Call::Peek(..)) => {
                if let Answer::Leased(leased) = queue.call(lease(1)).await? {
                    let acks = leased.deliveries.iter();
                    let acks: Vec<_> = acks.map(|one| Settlement::ack(one.receipt)).collect();
                    if !acks.is_empty() {
                        queue.call(Call::Settle(acks)).await?;
                    }
                }
            }
            (Meddling::Hides, Call::Peek(place, _)) => {
                // It is ready while the leased messages are shown, and leased while the others are.
                let leased = Call::Peek(Place::Leased, Page::first(10));
                let held = match queue.call(leased).await? {
                    Answer::Peeked(page) => page.entries,
                    _ => Vec::new(),
                };
                match (place, held.first().map(|one| &one.standing)) {
                    (Place::Leased, Some(Standing::Leased { receipt, .. })) => {
                        let release = vec![Settlement::release(*receipt)];
                        queue.call(Call::Settle(release)).await?;
                    }
                    (Place::Ready | Place::Delayed, None) => {
                        queue.call(lease(1)).await?;
                    }
                    _ => {}
                }
            }
            (Meddling::Leases, Call::Cancel(_)) if nth < 5 => {
                queue.call(Call::Resume).await?;
                queue.call(lease(1)).await?;
                queue.call(Call::Pause).await?;
            }
            (Meddling::Revives, Call::DeadLetters(_)) if nth < 8 => {
                queue
                    .call(Call::Revive(vec![MessageId::new(1)], Revival::WithState))
                    .await?;
            }
            (Meddling::Dawdles, Call::Peek(Place::Delayed, _)) if nth > 4 => {
                tokio::time::advance(HOUR).await;
            }
            (Meddling::Dies, Call::DeadLetters(_)) => {
                tokio::time::advance(Duration::from_millis(1)).await;
                let news = vec![Push::from("new").with_priority(i16::MAX)];
                queue.call(Call::Push(news)).await?;
                if let Answer::Leased(leased) = queue.call(lease(1)).await? {
                    let bury = Settlement::bury(leased.deliveries[0].receipt, "no customer");
                    queue.call(Call::Settle(vec![bury])).await?;
                }
            }
            _ => {}
        }
        queue.call(call).await
    }
}

/// A priority queue, whose ready messages newer ones may go before.
async fn with_messages(backend: &dyn Backend, count: usize) -> AnyQueue {
    let config = QueueConfig::of(QueueKind::Priority, 1_000);
    let old = open(backend, "old", &config).await;
    open(backend, "new", &config).await;
    let AnyQueue::Priority(queue) = &old else {
        panic!("a priority queue")
    };
    let bodies = (0..count).map(|number| format!("{number:04}"));
    let pushes: Vec<Push> = bodies
        .map(|body| Push::from(body.into_bytes()).with_priority(0))
        .collect();
    queue.push_all(&pushes).await.unwrap();
    old
}

fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| format!("{number:04}")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_move_and_an_export_end_beside_producers_and_take_what_was_there() {
    for meddling in [Meddling::PushesAhead, Meddling::PushesBehind] {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let old = with_messages(&*backend, 1_300).await;
        let leasing = old.leasing().unwrap();
        leasing.pause().await.unwrap();
        let meddled = Meddler::before(meddling, &backend);
        let bodies = exported(&meddled, "old").await.into_iter();
        let bodies: Vec<Bytes> = bodies.map(|one| one.body.bytes().unwrap()).collect();
        assert_eq!(bodies, numbers(0..1_300), "{meddling:?}");
        leasing.purge(1_000.try_into().unwrap()).await.unwrap();
        let there = leasing.depth().await.unwrap().ready;
        let before = leasing.counters().await.unwrap().accepted;

        let meddled = Meddler::before(meddling, &backend);
        let moved = move_messages(&meddled, "old", "new", "t", &mut |_| ()).await;
        let moved = moved.unwrap();
        assert_eq!(
            (moved.pushed, moved.pushed_before),
            (there, 0),
            "{meddling:?}"
        );
        let counters = leasing.counters().await.unwrap();
        assert_eq!(
            counters.depth.ready,
            counters.accepted - before,
            "the new ones"
        );
        let new = backend.open_stored(&QueueName::new("new").unwrap()).await;
        let new = new.unwrap().unwrap().queue;
        assert_eq!(drained(&new).await.len() as u64, there);
    }
}

#[tokio::test(start_paused = true)]
async fn an_export_counts_what_it_did_not_find() {
    for (meddling, acked) in [(Meddling::Acks, 3), (Meddling::Hides, 0)] {
        let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let old = with_messages(&*backend, 5).await;
        let meddled = Meddler::before(meddling, &backend);
        let mut ids = Vec::new();
        let mut write = |message: queue_ops::ExportedMessage| {
            ids.push(as_in_a_file(&message).id);
            Ok(())
        };
        let done = export(&meddled, "old", &mut write).await.unwrap();
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(different.len(), ids.len(), "{meddling:?}: each once");
        assert_eq!(done.exported, ids.len() as u64);
        assert_eq!(done.exported + done.missing, 5, "{meddling:?}: {done:?}");
        assert!(done.missing > 0, "{meddling:?}: {done:?}");
        let counters = old.leasing().unwrap().counters().await.unwrap();
        assert!(counters.acked >= acked);
    }
}

#[tokio::test(start_paused = true)]
async fn an_export_finds_what_is_revived_meanwhile() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let old = with_messages(&*backend, 3).await;
    let leasing = old.leasing().unwrap();
    let first = leasing
        .receive_one(HOUR, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    let bury = Settlement::bury(first.receipt, "no customer");
    leasing.settle(&[bury]).await.unwrap();
    let meddled = Meddler::before(Meddling::Revives, &backend);
    assert_eq!(exported(&meddled, "old").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_export_leaves_out_what_is_pushed_and_dies_meanwhile() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let old = with_messages(&*backend, 3).await;
    let meddled = Meddler::before(Meddling::Dies, &backend);
    let found = exported(&meddled, "old").await.into_iter();
    let bodies: Vec<Bytes> = found.map(|one| one.body.bytes().unwrap()).collect();
    assert_eq!(bodies, numbers(0..3));
    let depth = old.leasing().unwrap().depth().await.unwrap();
    assert_eq!((depth.ready, depth.dead), (3, 1));
}

/// The delayed message is due once the ready ones are moved, and is not delayed any more when those are.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_due_meanwhile_is_moved_too() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let old = with_messages(&*backend, 3).await;
    let AnyQueue::Priority(queue) = &old else {
        panic!("a priority queue")
    };
    let later = Push::new("later").with_due(HOUR / 2);
    let later = later.with_priority(0);
    queue.push_all(&[later]).await.unwrap();
    let leasing = old.leasing().unwrap();
    leasing.pause().await.unwrap();
    let meddled = Meddler::before(Meddling::Dawdles, &backend);
    let moved = move_messages(&meddled, "old", "new", "t", &mut |_| ()).await;
    assert_eq!(moved.unwrap().pushed, 4);
    assert_eq!(leasing.depth().await.unwrap().occupied(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_leased_between_the_two_steps_of_its_move_is_told() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let old = with_messages(&*backend, 5).await;
    let leasing = old.leasing().unwrap();
    leasing.pause().await.unwrap();
    let meddled = Meddler::before(Meddling::Leases, &backend);
    let moved = move_messages(&meddled, "old", "new", "t", &mut |_| ()).await;
    let moved = moved.unwrap();
    assert_eq!((moved.pushed, moved.in_both), (5, 1), "{moved:?}");
    let depth = leasing.depth().await.unwrap();
    assert_eq!((depth.ready, depth.leased), (0, 1));
}

#[tokio::test]
async fn a_move_that_stops_goes_on_where_it_was() {
    for (backend, _server) in backends().await {
        let queues = Queues::from(Arc::clone(&backend));
        let old = queues.reliable("old").open::<u64>().await.unwrap();
        old.push_all(&(0..400).collect::<Vec<_>>()).await.unwrap();
        let leased = old.receive_batch(3, HOUR, Duration::ZERO).await.unwrap();
        let new = queues.bounded("new", 250).open::<u64>().await.unwrap();
        let mut shown = Vec::new();
        let mut show = |done| shown.push(done);
        let mut go = async || move_messages(&*backend, "old", "new", "t", &mut show).await;
        let refused = go().await.unwrap_err();
        assert!(refused.to_string().contains("not paused"), "{refused}");
        old.queue().pause().await.unwrap();
        let first = go().await.unwrap();
        assert_eq!((first.pushed, first.in_both), (250, 0), "{first:?}");
        assert!(first.full > 0);
        let depth = async |queue: &dyn Leasing| queue.depth().await.unwrap();
        assert_eq!(depth(&**old.queue()).await.ready, 147);
        let larger = NonZeroUsize::new(1_000).unwrap();
        new.queue().resize(larger).await.unwrap();
        let second = go().await.unwrap();
        assert_eq!((second.pushed, second.full), (147, 0), "{second:?}");
        assert_eq!(depth(&**old.queue()).await.ready, 0);
        assert_eq!(depth(&**old.queue()).await.leased, leased.len() as u64);
        assert_eq!(shown, [128, 250, 128, 147], "the progress of both");
        let mut left: Vec<u64> = Vec::new();
        while let Some(delivery) = new.receive(HOUR, Duration::ZERO).await.unwrap() {
            left.push(*delivery.body().unwrap());
        }
        assert_eq!(left, (3..400).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn more_than_a_page_is_carried_and_each_message_once() {
    for (backend, _server) in backends().await {
        let old = with_messages(&*backend, 2_500).await;
        let messages = exported(&*backend, "old").await;
        assert_eq!(messages.len(), 2_500);
        for (half, before) in [(1_250, 0), (2_500, 1_250), (2_500, 2_500)] {
            let done = import(&*backend, "new", "t", &messages[..half])
                .await
                .unwrap();
            let pushed = (half - before) as u64;
            assert_eq!((done.pushed, done.pushed_before), (pushed, before as u64));
        }
        let other = import(&*backend, "new", "other", &messages[..1]).await;
        assert_eq!(other.unwrap().pushed, 1, "another transfer");
        old.leasing().unwrap().pause().await.unwrap();
        let moved = move_messages(&*backend, "old", "new", "m", &mut |_| ()).await;
        assert_eq!(moved.unwrap().pushed, 2_500);
        let new = backend.open_stored(&QueueName::new("new").unwrap()).await;
        let new = new.unwrap().unwrap().queue;
        let twice = [numbers(0..2_500), numbers(0..1), numbers(0..2_500)].concat();
        assert_eq!(drained(&new).await, twice);
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_can_be_repeated_for_seven_days() {
    let backend = MemoryBackend::new();
    with_messages(&backend, 3).await;
    let messages = exported(&backend, "old").await;
    for (wait, pushed, before) in [(0, 3, 0), (7 * 86_400 - 1, 0, 3)] {
        tokio::time::advance(Duration::from_secs(wait)).await;
        let done = import(&backend, "new", "t", &messages).await.unwrap();
        assert_eq!((done.pushed, done.pushed_before), (pushed, before));
    }
}

#[tokio::test(start_paused = true)]
async fn messages_due_or_outdated_before_an_import_are_so_after_it() {
    let backend = MemoryBackend::new();
    let config = QueueConfig::of(QueueKind::Reliable, 1_000);
    let old = open(&backend, "old", &config).await;
    let half = HOUR / 2;
    let [dropped, buried] = [TimeToLive::drop_after(half), TimeToLive::bury_after(half)];
    let live = [
        Push::new("due").with_due(half),
        Push::new("dropped").with_time_to_live(dropped),
        Push::new("buried").with_time_to_live(buried),
        Push::new("lives").with_time_to_live(TimeToLive::drop_after(3 * HOUR)),
    ];
    old.put_all(&live).await.unwrap();
    let messages = exported(&backend, "old").await;
    tokio::time::advance(HOUR).await;
    let new = open(&backend, "new", &config).await;
    let done = import(&backend, "new", "t", &messages).await.unwrap();
    assert_eq!(done.pushed, 4);
    let leasing = new.leasing().unwrap();
    assert_eq!(drained(&new).await, ["due", "lives"], "at once");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(drained(&new).await, [""; 0]);
    let counters = leasing.counters().await.unwrap();
    assert_eq!((counters.outdated, counters.depth.dead), (1, 1));
    let dead = leasing.dead_letters(Page::first(9)).await.unwrap();
    assert_eq!(dead.entries[0].reason, DeathReason::Outdated);
    assert_eq!(dead.entries[0].body, "buried");
}
