//! Handles that push jobs of several types to one queue.

use std::{fmt, sync::Arc};

use super::{MessageBuilder, Queues, consumer::AsLeasing};
use crate::{
    BoundedConfig, BoundedQueue, BoundedQueueExt, Bytes, Codec, Consumer, DelayConfig, DelayQueue,
    DelayQueueExt, Due, GroupedConfig, GroupedQueue, GroupedQueueExt, Job, Json, MessageId,
    Offered, Overflow, Prioritized, PriorityConfig, PriorityQueue, PriorityQueueExt, Push, Pushed,
    QueueName, Raw, ReliableConfig, ReliableQueue, ReliableQueueExt, Result, Scheduled,
};

/// A handle to a queue of jobs of several types: each [`Job`] goes with the name of its type, by which a worker's
/// router finds its handler.
///
/// The codec writes the bodies, JSON by default. `push` and `message` are those of [`Typed`](crate::Typed), for any
/// type of job; a queue without a router has a `Typed` handle. Cloning copies pointers.
///
/// ```
/// use queue_core::{Job, Queues};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
/// impl Job for Welcome {
///     const NAME: &'static str = "welcome";
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Receipt {
///     order: u64,
/// }
/// impl Job for Receipt {
///     const NAME: &'static str = "receipt";
/// }
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let mails = queues.reliable_jobs("mails").await?;
/// mails.push(&Welcome { user: 7 }).await?;
/// let hour = std::time::Duration::from_secs(60 * 60);
/// mails.message(&Receipt { order: 42 }).dedup("receipt-42", hour).send().await?;
/// # Ok(())
/// # }
/// ```
pub struct Jobs<Q: ?Sized, C = Json> {
    pub(super) queue: Arc<Q>,
    name: Option<Arc<str>>,
    codec: C,
}

/// A reliable queue of jobs.
pub type ReliableJobs<C = Json> = Jobs<dyn ReliableQueue, C>;
/// A delay queue of jobs.
pub type DelayJobs<C = Json> = Jobs<dyn DelayQueue, C>;
/// A priority queue of jobs.
pub type PriorityJobs<C = Json> = Jobs<dyn PriorityQueue, C>;
/// A grouped queue of jobs.
pub type GroupedJobs<C = Json> = Jobs<dyn GroupedQueue, C>;
/// A bounded queue of jobs.
pub type BoundedJobs<C = Json> = Jobs<dyn BoundedQueue, C>;

impl<Q: ?Sized> Jobs<Q> {
    /// A handle that writes JSON.
    pub const fn new(queue: Arc<Q>) -> Self {
        Self {
            queue,
            name: None,
            codec: Json,
        }
    }
}

impl<Q: ?Sized, C> Jobs<Q, C> {
    /// The same queue through another codec. The router needs the same codec.
    #[must_use]
    pub fn codec<New>(self, codec: New) -> Jobs<Q, New> {
        Jobs {
            queue: self.queue,
            name: self.name,
            codec,
        }
    }

    /// Sets the name under which reports and metrics show the queue, in place of the queue's own name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The queue of bytes beneath: mixed batches, and an operator's calls.
    pub const fn queue(&self) -> &Arc<Q> {
        &self.queue
    }

    /// The message for this job, for a call on [`queue`](Self::queue).
    ///
    /// # Errors
    ///
    /// `Codec` if the job has no encoding; `Invalid` if [`Job::NAME`] is no name.
    pub fn encode<J: Job>(&self, job: &J) -> Result<Push>
    where
        C: Codec<J>,
    {
        Push::of_job(job, &self.codec)
    }

    fn compose<J: Job, Terms>(&self, job: &J, terms: Terms) -> MessageBuilder<'_, Q, Terms>
    where
        C: Codec<J>,
    {
        MessageBuilder {
            queue: &*self.queue,
            push: self.encode(job),
            key: None,
            terms,
        }
    }
}

impl<C> ReliableJobs<C> {
    /// Puts a job at the tail.
    ///
    /// # Errors
    ///
    /// The errors of [`ReliableQueue::push`], and of [`encode`](Self::encode).
    pub async fn push<J: Job>(&self, job: &J) -> Result<MessageId>
    where
        C: Codec<J>,
    {
        Ok(self.queue.push_one(self.encode(job)?).await?.id())
    }

    /// Puts any number of jobs of one type at the tail, split as [`push_all`](ReliableQueueExt::push_all) splits
    /// them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<J: Job>(&self, jobs: &[J]) -> Result<Vec<MessageId>>
    where
        C: Codec<J>,
    {
        let pushes: Vec<Push> = jobs
            .iter()
            .map(|job| self.encode(job))
            .collect::<Result<_>>()?;
        let pushed = self.queue.push_all(&pushes).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }

    /// A message with this job, as [`Typed::message`](crate::Typed::message) makes it.
    pub fn message<J: Job>(&self, job: &J) -> MessageBuilder<'_, dyn ReliableQueue>
    where
        C: Codec<J>,
    {
        self.compose(job, ())
    }
}

impl<C> DelayJobs<C> {
    /// Puts a job in, due after a `Duration`, or at a `Timestamp` or `SystemTime`.
    ///
    /// # Errors
    ///
    /// The errors of [`DelayQueue::schedule`], and of [`encode`](Self::encode).
    pub async fn push<J: Job>(&self, job: &J, due: impl Into<Due> + Send) -> Result<MessageId>
    where
        C: Codec<J>,
    {
        let due = due.into();
        Ok(self.queue.schedule_one(self.encode(job)?, due).await?.id())
    }

    /// Puts any number of jobs of one type in, each with its due time, split as
    /// [`schedule_all`](DelayQueueExt::schedule_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<J: Job>(&self, jobs: &[(J, Due)]) -> Result<Vec<MessageId>>
    where
        C: Codec<J>,
    {
        let scheduled = |(job, due): &(J, Due)| Ok(Scheduled::new(self.encode(job)?, *due));
        let scheduled: Vec<_> = jobs.iter().map(scheduled).collect::<Result<_>>()?;
        let pushed = self.queue.schedule_all(&scheduled).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }

    /// A message with this job; it can be sent once it has a due time.
    pub fn message<J: Job>(&self, job: &J) -> MessageBuilder<'_, dyn DelayQueue>
    where
        C: Codec<J>,
    {
        self.compose(job, ())
    }
}

impl<C> PriorityJobs<C> {
    /// Puts a job in; a larger priority is more urgent, 0 is ordinary.
    ///
    /// # Errors
    ///
    /// The errors of [`PriorityQueue::enqueue`], and of [`encode`](Self::encode).
    pub async fn push<J: Job>(&self, job: &J, priority: i16) -> Result<MessageId>
    where
        C: Codec<J>,
    {
        let pushed = self.queue.enqueue_one(self.encode(job)?, priority).await?;
        Ok(pushed.id())
    }

    /// Puts any number of jobs of one type in, each with its priority, split as
    /// [`enqueue_all`](PriorityQueueExt::enqueue_all) splits them.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Self::push).
    pub async fn push_all<J: Job>(&self, jobs: &[(J, i16)]) -> Result<Vec<MessageId>>
    where
        C: Codec<J>,
    {
        let prioritized =
            |(job, priority): &(J, i16)| Ok(Prioritized::new(self.encode(job)?, *priority));
        let prioritized: Vec<_> = jobs.iter().map(prioritized).collect::<Result<_>>()?;
        let pushed = self.queue.enqueue_all(&prioritized).await?;
        Ok(pushed.into_iter().map(Pushed::id).collect())
    }

    /// A message with this job; without a priority it is ordinary, 0.
    pub fn message<J: Job>(&self, job: &J) -> MessageBuilder<'_, dyn PriorityQueue, i16>
    where
        C: Codec<J>,
    {
        self.compose(job, 0)
    }
}

impl<C> GroupedJobs<C> {
    /// Puts a job at the tail of the group of this key.
    ///
    /// # Errors
    ///
    /// The errors of [`GroupedQueue::push_keyed`], and of [`encode`](Self::encode).
    pub async fn push<J: Job>(&self, job: &J, key: impl AsRef<[u8]>) -> Result<MessageId>
    where
        C: Codec<J>,
    {
        let key = Bytes::copy_from_slice(key.as_ref());
        let pushed = self.queue.push_keyed_one(self.encode(job)?, key).await?;
        Ok(pushed.id())
    }

    /// A message with this job for the group of this key.
    pub fn message<J: Job>(
        &self,
        job: &J,
        key: impl AsRef<[u8]>,
    ) -> MessageBuilder<'_, dyn GroupedQueue, Bytes>
    where
        C: Codec<J>,
    {
        self.compose(job, Bytes::copy_from_slice(key.as_ref()))
    }
}

impl<C> BoundedJobs<C> {
    /// Puts a job at the tail; where there is no room, `overflow` decides (B2, B3).
    ///
    /// # Errors
    ///
    /// The errors of [`BoundedQueue::offer`], and of [`encode`](Self::encode).
    pub async fn push<J: Job>(&self, job: &J, overflow: Overflow) -> Result<Offered>
    where
        C: Codec<J>,
    {
        self.queue.offer_one(self.encode(job)?, overflow).await
    }

    /// A message with this job; it can be sent once it has a policy for a full queue.
    pub fn message<J: Job>(&self, job: &J) -> MessageBuilder<'_, dyn BoundedQueue>
    where
        C: Codec<J>,
    {
        self.compose(job, ())
    }
}

/// Opens queues of jobs of one kind.
macro_rules! open_jobs {
    ($(#[$doc:meta])* $name:ident, $config:ident, $backend:ident, $jobs:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// `Invalid` for a bad name or configuration, `ConfigMismatch` if the queue exists with another
        /// configuration.
        pub async fn $name(&self, name: &str, config: &$config) -> Result<$jobs> {
            let name = QueueName::new(name)?;
            let queue = self.backend.$backend(&name, config).await?;
            Ok(Jobs::new(queue).named(name.as_str()))
        }
    };
}

impl Queues {
    /// Opens a reliable queue of jobs with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`reliable_jobs_with`](Self::reliable_jobs_with).
    pub async fn reliable_jobs(&self, name: &str) -> Result<ReliableJobs> {
        self.reliable_jobs_with(name, &ReliableConfig::default())
            .await
    }

    open_jobs! {
        /// Opens a reliable queue of jobs.
        reliable_jobs_with, ReliableConfig, open_reliable, ReliableJobs
    }

    /// Opens a delay queue of jobs with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`delay_jobs_with`](Self::delay_jobs_with).
    pub async fn delay_jobs(&self, name: &str) -> Result<DelayJobs> {
        self.delay_jobs_with(name, &DelayConfig::default()).await
    }

    open_jobs! {
        /// Opens a delay queue of jobs.
        delay_jobs_with, DelayConfig, open_delay, DelayJobs
    }

    /// Opens a priority queue of jobs with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`priority_jobs_with`](Self::priority_jobs_with).
    pub async fn priority_jobs(&self, name: &str) -> Result<PriorityJobs> {
        self.priority_jobs_with(name, &PriorityConfig::default())
            .await
    }

    open_jobs! {
        /// Opens a priority queue of jobs.
        priority_jobs_with, PriorityConfig, open_priority, PriorityJobs
    }

    /// Opens a grouped queue of jobs with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`grouped_jobs_with`](Self::grouped_jobs_with).
    pub async fn grouped_jobs(&self, name: &str) -> Result<GroupedJobs> {
        self.grouped_jobs_with(name, &GroupedConfig::default())
            .await
    }

    open_jobs! {
        /// Opens a grouped queue of jobs.
        grouped_jobs_with, GroupedConfig, open_grouped, GroupedJobs
    }

    /// Opens a bounded queue of jobs, of this fixed length, otherwise with the default configuration.
    ///
    /// # Errors
    ///
    /// The errors of [`bounded_jobs_with`](Self::bounded_jobs_with).
    pub async fn bounded_jobs(&self, name: &str, capacity: usize) -> Result<BoundedJobs> {
        self.bounded_jobs_with(name, &BoundedConfig::new(capacity))
            .await
    }

    open_jobs! {
        /// Opens a bounded queue of jobs.
        bounded_jobs_with, BoundedConfig, open_bounded, BoundedJobs
    }
}

/// For a worker with a router, and to receive without a worker.
impl<Q: AsLeasing + ?Sized, C> From<Jobs<Q, C>> for Consumer<crate::Bytes> {
    fn from(jobs: Jobs<Q, C>) -> Self {
        let consumer = Self::with_codec(jobs.queue.as_leasing(), Raw);
        match jobs.name {
            Some(name) => consumer.named(name),
            None => consumer,
        }
    }
}

impl<Q: ?Sized, C: Clone> Clone for Jobs<Q, C> {
    fn clone(&self) -> Self {
        Self {
            queue: Arc::clone(&self.queue),
            name: self.name.clone(),
            codec: self.codec.clone(),
        }
    }
}

impl<Q: fmt::Debug + ?Sized, C: fmt::Debug> fmt::Debug for Jobs<Q, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("queue", &self.queue)
            .field("name", &self.name)
            .field("codec", &self.codec)
            .finish()
    }
}
