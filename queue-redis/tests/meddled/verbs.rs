//! Calls of several steps, and a queue that has what they need.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};
use queue_core::*;

const HOUR: Duration = Duration::from_secs(3600);

/// A queue with the messages that a call needs.
pub(crate) struct Ground {
    backend: Arc<dyn Backend>,
    name: QueueName,
    queue: AnyQueue,
    receipts: Vec<Receipt>,
    dead: Vec<MessageId>,
    ready: Vec<MessageId>,
}

pub(crate) type Acting = for<'a> fn(&'a Ground) -> BoxFuture<'a, Result<()>>;

/// A call of several steps.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) kind: QueueKind,
    pub(crate) act: Acting,
    /// Whether the call has several steps only on a partitioned queue.
    pub(crate) is_of_partitions: bool,
}

fn count(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("not zero")
}

fn name() -> QueueName {
    QueueName::new("jobs").expect("a name")
}

fn config(kind: QueueKind) -> QueueConfig {
    QueueConfig::of(kind, 1_000)
}

/// 300 messages, each with its own partition key.
fn many() -> Vec<Push> {
    let keyed = |number: usize| Push::new("x").with_header("partition-key", number.to_string());
    (0..300).map(keyed).collect()
}

impl Ground {
    fn leasing(&self) -> Arc<dyn Leasing> {
        self.queue.leasing().expect("it leases")
    }

    /// 300 ready messages, 40 leased ones, and 300 dead letters.
    pub(crate) async fn filled(backend: Arc<dyn Backend>, kind: QueueKind) -> Self {
        let queue = backend.open(&name(), &config(kind)).await.expect("opens");
        let mut ground = Self {
            backend,
            name: name(),
            queue,
            receipts: Vec::new(),
            dead: Vec::new(),
            ready: Vec::new(),
        };
        if kind == QueueKind::Rotating {
            return ground;
        }
        let leasing = ground.leasing();
        ground.queue.put_all(&many()).await.expect("puts");
        for _ in 0..300 / 50 {
            let leased = lease(&*leasing, 50).await;
            let bury = |one: &Receipt| Settlement::bury(*one, "dead");
            let buried: Vec<_> = leased.iter().map(bury).collect();
            leasing.settle(&buried).await.expect("buries");
            ground.dead.extend(leased.iter().map(|one| one.id));
        }
        ground.queue.put_all(&many()[..40]).await.expect("puts");
        ground.receipts = lease(&*leasing, 40).await;
        let put = ground.queue.put_all(&many()).await.expect("puts");
        let ready = put.iter().map(|one| match one {
            Pushed::Accepted(id) => *id,
            other => panic!("there is room, and yet {other:?}"),
        });
        ground.ready = ready.collect();
        ground
    }

    fn bounded(&self) -> &dyn BoundedQueue {
        match &self.queue {
            AnyQueue::Bounded(queue) => &**queue,
            other => panic!("{other:?} is not bounded"),
        }
    }

    /// Pushes any number of messages, each with this change.
    async fn push_all(&self, change: impl Fn(Push) -> Push) -> Result<Vec<Pushed>> {
        let pushes: Vec<Push> = many().into_iter().map(change).collect();
        self.leasing().push_all(&pushes).await
    }

    async fn open_another(&self) -> Result<()> {
        let another = QueueName::new("another").expect("a name");
        let opened = self.backend.open(&another, &config(QueueKind::Delay)).await;
        opened.map(drop)
    }

    async fn open_or_resize(&self) -> Result<()> {
        let config = BoundedConfig::new(64);
        let opened = self.backend.open_or_resize(&self.name, &config).await;
        opened.map(drop)
    }

    fn acks(&self) -> Vec<Settlement> {
        self.receipts.iter().copied().map(Settlement::ack).collect()
    }

    /// Keeps fewer dead letters, and a bounded queue fewer messages.
    async fn reconfigure(&self, kind: QueueKind) -> Result<bool> {
        let mut config = QueueConfig::of(kind, 100);
        let leasing = config.leasing_mut().expect("it leases");
        leasing.dead_letter_cap = 10;
        self.backend.reconfigure(&self.name, &config).await
    }
}

async fn lease(leasing: &dyn Leasing, messages: usize) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    while receipts.len() < messages {
        let leased = leasing.lease(count(messages - receipts.len()), HOUR).await;
        let leased = leased.expect("leases").deliveries;
        receipts.extend(leased.into_iter().map(|one| one.receipt));
    }
    receipts
}

macro_rules! verbs {
    ($($name:literal of $kind:ident $($in_partitions:ident)?: |$ground:ident| $act:expr;)+) => {
        &[$(Verb {
            name: $name,
            kind: QueueKind::$kind,
            act: |$ground| async move { $act.await.map(drop) }.boxed(),
            is_of_partitions: !stringify!($($in_partitions)?).is_empty(),
        }),+]
    };
}

pub(crate) const VERBS: &[Verb] = verbs! {
    "put_all" of Priority: |on| on.queue.put_all(&many());
    "put_all of a ring" of Rotating: |on| on.queue.put_all(&many());
    "push_all" of Reliable: |on| on.push_all(|push| push);
    "push_all of a delay queue" of Delay: |on| on.push_all(|push| push.with_due(HOUR));
    "push_all of a priority queue" of Priority: |on| on.push_all(|push| push.with_priority(7));
    "push_all of a bounded queue" of Bounded: |on| on.push_all(|push| push.with_overflow(Overflow::DropOldest));
    "purge" of Reliable: |on| on.leasing().purge(count(300));
    "purge_all" of Delay: |on| on.leasing().purge_all();
    "resize" of Bounded: |on| on.bounded().resize(count(64));
    "open" of Priority: |on| on.open_another();
    "open_or_resize" of Bounded: |on| on.open_or_resize();
    "reconfigure" of Reliable: |on| on.reconfigure(QueueKind::Reliable);
    "reconfigure of bounded" of Bounded: |on| on.reconfigure(QueueKind::Bounded);
    "remove" of Delay: |on| on.backend.remove(&on.name, Removal::EvenIfLeased);
    "settle" of Reliable in_partitions: |on| on.leasing().settle(&on.acks());
    "settle_and_lease" of Reliable in_partitions: |on| on.leasing().settle_and_lease(&on.acks(), count(10), HOUR, None);
    "extend" of Delay in_partitions: |on| on.leasing().extend(&Extension::all(&on.receipts), 2 * HOUR);
    "cancel" of Priority in_partitions: |on| on.leasing().cancel(&on.ready[..100]);
    "revive" of Reliable in_partitions: |on| on.leasing().revive(&on.dead[..100], Revival::WithState);
    "discard" of Bounded in_partitions: |on| on.leasing().discard(&on.dead[..100]);
    "pause" of Delay in_partitions: |on| on.leasing().pause();
    "resume" of Delay in_partitions: |on| on.leasing().resume();
};
