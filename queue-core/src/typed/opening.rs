//! Opening a queue of values: its kind and its name, then its settings, then the open.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use super::{Queues, Typed, consumer::AsLeasing};
use crate::{
    AnyQueue, BoundedConfig, BoundedQueue, DelayConfig, DelayQueue, GroupOrder, GroupedConfig,
    GroupedQueue, LeaseRate, LeasingConfig, OnDeath, PriorityConfig, PriorityQueue, QueueConfig,
    QueueName, ReliableConfig, ReliableQueue, Result, RotatingConfig, RotatingQueue,
    backend::another_kind,
};

/// A queue that is not open yet, made by the method of [`Queues`] for its kind.
///
/// ```
/// use queue_core::Queues;
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let mails = queues.reliable("mails").max_attempts(3).open::<String>().await?;
/// mails.push("to: ann").await?;
/// # Ok(())
/// # }
/// ```
///
/// The first open stores the settings. [`open`](Self::open) refuses other settings than the stored ones;
/// [`open_or_reconfigure`](Self::open_or_reconfigure) changes the stored ones. Settings that are left out have their
/// defaults. Each open takes the type of the values; [`Jobs`](super::Jobs) stands for jobs of several types.
#[derive(Debug, Clone)]
#[must_use = "nothing is opened before `open`"]
pub struct Opening<'a, Q: ?Sized> {
    queues: &'a Queues,
    name: &'a str,
    config: QueueConfig,
    kind: PhantomData<fn() -> Box<Q>>,
}

/// A kind of queue: `dyn ReliableQueue`, `dyn DelayQueue` and their siblings.
pub trait Kind: 'static {
    /// The configuration of the kind.
    type Config: Into<QueueConfig>;

    /// The queue, if it is of this kind.
    #[doc(hidden)]
    fn of(queue: AnyQueue) -> std::result::Result<Arc<Self>, AnyQueue>;
}

macro_rules! kinds {
    ($($kind:ident: $queue:ident, $config:ident;)*) => {$(
        impl Kind for dyn $queue {
            type Config = $config;

            fn of(queue: AnyQueue) -> std::result::Result<Arc<Self>, AnyQueue> {
                match queue {
                    AnyQueue::$kind(queue) => Ok(queue),
                    other => Err(other),
                }
            }
        }
    )*};
}

kinds! {
    Reliable: ReliableQueue, ReliableConfig;
    Delay: DelayQueue, DelayConfig;
    Priority: PriorityQueue, PriorityConfig;
    Grouped: GroupedQueue, GroupedConfig;
    Bounded: BoundedQueue, BoundedConfig;
    Rotating: RotatingQueue, RotatingConfig;
}

impl Queues {
    /// A reliable queue: first in, first out.
    pub fn reliable<'a>(&'a self, name: &'a str) -> Opening<'a, dyn ReliableQueue> {
        Opening::of(self, name, ReliableConfig::default())
    }

    /// A delay queue: each message at its due time.
    pub fn delay<'a>(&'a self, name: &'a str) -> Opening<'a, dyn DelayQueue> {
        Opening::of(self, name, DelayConfig::default())
    }

    /// A priority queue: the most urgent message first.
    pub fn priority<'a>(&'a self, name: &'a str) -> Opening<'a, dyn PriorityQueue> {
        Opening::of(self, name, PriorityConfig::default())
    }

    /// A grouped queue: each group in strict order, and all groups in turn.
    pub fn grouped<'a>(&'a self, name: &'a str) -> Opening<'a, dyn GroupedQueue> {
        Opening::of(self, name, GroupedConfig::default())
    }

    /// A bounded queue of this fixed length: 1 to 2^32 − 1 messages.
    pub fn bounded<'a>(&'a self, name: &'a str, capacity: usize) -> Opening<'a, dyn BoundedQueue> {
        Opening::of(self, name, BoundedConfig::new(capacity))
    }

    /// A rotating queue: a ring, each item in turn.
    pub fn rotating<'a>(&'a self, name: &'a str) -> Opening<'a, dyn RotatingQueue> {
        Opening::of(self, name, RotatingConfig::default())
    }
}

impl<'a, Q: Kind + ?Sized> Opening<'a, Q> {
    fn of(queues: &'a Queues, name: &'a str, config: impl Into<QueueConfig>) -> Self {
        Self {
            queues,
            name,
            config: config.into(),
            kind: PhantomData,
        }
    }

    /// Takes all settings from a configuration, in place of those set before.
    pub fn config(mut self, config: Q::Config) -> Self {
        self.config = config.into();
        self
    }

    /// Sets how many bytes of body and headers a message may have, up to
    /// [`MAX_BATCH_BYTES`](crate::limits::MAX_BATCH_BYTES); 1 MiB by default. A limit of this handle, not stored.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.config = self.config.with_max_body(bytes);
        self
    }

    /// Opens the queue, and creates it if there is none. Its bodies are JSON, unless [`Typed::codec`] changes that.
    ///
    /// A configuration that is refused is listed for operators, who see it by `qk why`: a
    /// [`RefusalRecord`](crate::RefusalRecord). A successful open makes no call for that, unless this process was refused
    /// before.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name or setting; `ConfigMismatch` if the queue exists with other settings or as another kind;
    /// and errors of the backend.
    pub async fn open<T>(self) -> Result<Typed<T, Q>> {
        let name = QueueName::new(self.name)?;
        let opened = self.queues.backend.open(&name, &self.config).await;
        self.typed(&name, opened).await
    }

    /// Opens the queue, and gives it these settings if it has others;
    /// [`Backend::open_or_reconfigure`](crate::Backend::open_or_reconfigure) says more.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name or setting; `ConfigMismatch` if the queue is of another kind; and errors of the backend.
    pub async fn open_or_reconfigure<T>(self) -> Result<Typed<T, Q>> {
        let name = QueueName::new(self.name)?;
        let backend = &self.queues.backend;
        let opened = backend.open_or_reconfigure(&name, &self.config).await;
        self.typed(&name, opened).await
    }

    async fn typed<T>(&self, name: &QueueName, opened: Result<AnyQueue>) -> Result<Typed<T, Q>> {
        let Queues { backend, refusals } = self.queues;
        refusals.note(&**backend, name, &self.config, &opened).await;
        match Q::of(opened?) {
            Ok(queue) => Ok(Typed::new(queue).named(name.as_str())),
            Err(other) => Err(another_kind(name, self.config.kind(), &other)),
        }
    }
}

impl<Q: AsLeasing + ?Sized> Opening<'_, Q> {
    /// Sets how often a message is delivered before it goes to the dead letters (L6); 5 by default.
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.set(|leasing| leasing.max_attempts = attempts)
    }

    /// Sets how many dead letters are kept (L13); 10,000 by default.
    pub fn dead_letter_cap(self, cap: u64) -> Self {
        self.set(|leasing| leasing.dead_letter_cap = cap)
    }

    /// Sets how many messages all consumers together may have under leases (Q1).
    ///
    /// This is a limit of the queue, whatever number of processes consumes it. A worker's `concurrency` and `at_most`
    /// are limits of that worker.
    pub fn at_once(self, most: u32) -> Self {
        self.set(|leasing| leasing.at_once = Some(most))
    }

    /// Sets how many messages the queue hands out in a time, over all consumers (Q2). Redeliveries count.
    ///
    /// A worker's `rate` is a limit of that worker.
    pub fn rate(self, most: u32, per: Duration) -> Self {
        self.set(|leasing| leasing.rate = Some(LeaseRate::new(most, per)))
    }

    fn set(mut self, set: impl FnOnce(&mut LeasingConfig)) -> Self {
        if let Some(leasing) = self.config.leasing_mut() {
            set(leasing);
        }
        self
    }
}

impl Opening<'_, dyn PriorityQueue> {
    /// Makes one step of priority worth this much waiting, 1 ms to 24 h, so that strict priority
    /// cannot starve less urgent messages (P4).
    pub fn ageing(mut self, per_step: Duration) -> Self {
        if let QueueConfig::Priority(config) = &mut self.config {
            config.ageing = Some(per_step);
        }
        self
    }
}

impl Opening<'_, dyn GroupedQueue> {
    /// Sets loose order, with at most `per_group` messages of a group under leases (G1, G2).
    pub fn loose(mut self, per_group: u32) -> Self {
        if let QueueConfig::Grouped(config) = &mut self.config {
            (config.order, config.per_group) = (GroupOrder::Loose, per_group);
        }
        self
    }

    /// Sets the effect of a message's death on its group (G2).
    pub fn on_death(mut self, on_death: OnDeath) -> Self {
        if let QueueConfig::Grouped(config) = &mut self.config {
            config.on_death = on_death;
        }
        self
    }

    /// Sets how many messages of each group the queue hands out in a time, over all consumers (Q3). Redeliveries count.
    pub fn group_rate(mut self, most: u32, per: Duration) -> Self {
        if let QueueConfig::Grouped(config) = &mut self.config {
            config.group_rate = Some(LeaseRate::new(most, per));
        }
        self
    }
}

impl Opening<'_, dyn BoundedQueue> {
    /// Opens the queue and gives it this capacity; where the queue shrinks, it drops the oldest messages. Other settings
    /// are compared, as by [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub async fn open_or_resize<T>(self) -> Result<Typed<T, dyn BoundedQueue>> {
        let name = QueueName::new(self.name)?;
        let backend = &self.queues.backend;
        let opened = match &self.config {
            QueueConfig::Bounded(config) => {
                let opened = backend.open_or_resize(&name, config).await;
                opened.map(AnyQueue::from)
            }
            config => backend.open(&name, config).await,
        };
        self.typed(&name, opened).await
    }
}

impl Opening<'_, dyn RotatingQueue> {
    /// Sets the pace: an item is due again this long after its last visit (T4).
    pub fn pace(mut self, pace: Duration) -> Self {
        if let QueueConfig::Rotating(config) = &mut self.config {
            config.pace = Some(pace);
        }
        self
    }
}
