//! Batches: jobs, and a job that follows once all of them have ended.

use std::{pin::Pin, sync::Arc};

use queue_core::{Bytes, Encode, Headers, Job, Json, Leasing, Push, Queues, Result, Takes, Typed};
use serde::{Deserialize, Serialize};

use super::{Children, StepName, member::Members};
use crate::{Context, Failure, Output};

/// Jobs, and a job that follows once each of them has ended: is done, dead or gone.
///
/// A batch is one message: a [`Job`] that is pushed to any queue of [`Jobs`](queue_core::Jobs) or of `Batch`. So it exists
/// as a whole or not at all. The worker of that queue handles batches by [`batches`]: it pushes the members as
/// [children](Context::spawn), waits for their ends as [`join`](Context::join) does, and pushes the callback, each once.
///
/// ```
/// use queue_core::{Jobs, Queues, Reliable};
/// use queue_worker::{Batch, Context, Router, Worker, batches};
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let rows: Reliable<u64> = queues.reliable("rows").open().await?;
/// let mails: Reliable<String> = queues.reliable("mails").open().await?;
/// let jobs = queues.reliable("jobs").open::<Jobs>().await?;
///
/// let batch = Batch::new("import").jobs(&rows, 1..=100_u64)?.then(&mails, ["the import is over".to_owned()])?;
/// jobs.push(&batch).await?;
///
/// let router = Router::new().on(batches(queues));
/// Worker::new(jobs).router(router).run().await?;
/// # Ok(())
/// # }
/// ```
///
/// All members stand in one body, of up to 1 MiB unless the queue's backend is set up for larger ones. A handler that has
/// more of them, or makes them itself, pushes them by [`spawn`](Context::spawn).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use = "a batch does nothing until it is pushed"]
pub struct Batch {
    name: String,
    members: Vec<Members>,
    then: Vec<Members>,
    on_failure: OnFailure,
}

/// The reaction of a [`Batch`] to a dead member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnFailure {
    /// It waits for the others, and then the callback follows.
    #[default]
    GoOn,
    /// It cancels the members of the same queue that are not delivered yet, waits for the others, and then the callback
    /// follows.
    CancelOthers,
    /// It waits for the others, and is buried: no callback follows. If the member is revived and then the batch, the
    /// batch goes on.
    Bury,
}

/// How the members of a batch ended. The callback finds it in its headers, by [`BatchReport::of`]; and it is the result
/// of the batch's message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchReport {
    /// The batch's name.
    pub name: String,
    /// How many members were acked with a result that is kept.
    pub done: u64,
    /// How many members are gone: acked without a result, or cancelled.
    pub gone: u64,
    /// How many members are dead.
    pub dead: u64,
}

impl BatchReport {
    /// The header of the callback with this report.
    pub const HEADER: &str = "batch";

    /// The report in a callback's headers.
    pub fn of(headers: &Headers) -> Option<Self> {
        let report = headers.get(Self::HEADER)?;
        Json::read(&Bytes::copy_from_slice(report.as_bytes())).ok()
    }
}

impl Job for Batch {
    const NAME: &'static str = "qk-batch";
}

impl Batch {
    /// A batch without members.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            members: Vec::new(),
            then: Vec::new(),
            on_failure: OnFailure::default(),
        }
    }

    /// Adds members, for a queue of any kind. Each queue gets its members in this order.
    ///
    /// # Errors
    ///
    /// `Invalid` if the handle has no name, as one of [`Queues`] has; the errors of the codec.
    pub fn jobs<V, T, Q, C>(
        mut self,
        queue: &Typed<T, Q, C>,
        jobs: impl IntoIterator<Item = V>,
    ) -> Result<Self>
    where
        T: Takes<V>,
        Q: ?Sized,
        C: Encode<V> + ?Sized,
    {
        self.members.push(Members::of(queue, jobs)?);
        Ok(self)
    }

    /// Adds members with headers, a due time, a priority or a group.
    ///
    /// # Errors
    ///
    /// `Invalid` if the handle has no name, or a push has another option.
    pub fn pushes<T, Q: ?Sized, C: ?Sized>(
        mut self,
        queue: &Typed<T, Q, C>,
        pushes: impl IntoIterator<Item = Push>,
    ) -> Result<Self> {
        let pushes = pushes.into_iter().map(Ok);
        self.members.push(Members::of_pushes(queue, pushes)?);
        Ok(self)
    }

    /// Adds callbacks: jobs that are pushed once all members have ended.
    ///
    /// # Errors
    ///
    /// The errors of [`jobs`](Self::jobs).
    pub fn then<V, T, Q, C>(
        mut self,
        queue: &Typed<T, Q, C>,
        jobs: impl IntoIterator<Item = V>,
    ) -> Result<Self>
    where
        T: Takes<V>,
        Q: ?Sized,
        C: Encode<V> + ?Sized,
    {
        self.then.push(Members::of(queue, jobs)?);
        Ok(self)
    }

    /// Sets what happens once a member is dead; by default the batch goes on.
    pub const fn on_failure(mut self, on_failure: OnFailure) -> Self {
        self.on_failure = on_failure;
        self
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.iter().map(Members::len).sum()
    }

    /// Whether there are no members: the callback follows at once.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Handles the batch, in the place of [`batches`]: for a handler that does something around it.
    ///
    /// # Errors
    ///
    /// The failure that defers while members run; a failure if a queue is not there; the errors of
    /// [`spawn`](Context::spawn) and [`join`](Context::join).
    pub async fn run(
        self,
        cx: &Context,
        queues: &Queues,
    ) -> std::result::Result<Output<BatchReport>, Failure> {
        let spawned = spawn_all(cx, queues, "members", &self.members, None).await?;
        let mut report = BatchReport {
            name: self.name,
            ..BatchReport::default()
        };
        let mut reason = None;
        for mut children in spawned {
            children.cancels_others = self.on_failure == OnFailure::CancelOthers;
            let joined = cx.join(&children).await?;
            report.done += joined.done();
            report.gone += joined.gone();
            report.dead += joined.dead();
            let failed = joined.failed().first();
            reason = reason.or_else(|| failed.map(|failed| children.dead_child(failed)));
        }
        if let Some(reason) = reason.filter(|_| self.on_failure == OnFailure::Bury) {
            return Err(Failure::bury(format!(
                "{reason}; revive it, and then this batch"
            )));
        }
        let header = Json::write(&report)?;
        let header = String::from_utf8_lossy(&header).into_owned();
        let _ = spawn_all(cx, queues, "then", &self.then, Some(&header)).await?;
        Ok(Output(report))
    }
}

type BatchFuture =
    Pin<Box<dyn Future<Output = std::result::Result<Output<BatchReport>, Failure>> + Send>>;

/// The handler of [`Batch`] jobs, for a [`Router`](crate::Router) or a worker. It opens the members' queues by these
/// `queues`.
pub fn batches(queues: Queues) -> impl Fn(Batch, Context) -> BatchFuture + Send + Sync + 'static {
    move |batch, cx| {
        let queues = queues.clone();
        Box::pin(async move { batch.run(&cx, &queues).await })
    }
}

/// Pushes jobs to their queues, each once, with the report of a batch.
async fn spawn_all(
    cx: &Context,
    queues: &Queues,
    step: &str,
    members: &[Members],
    report: Option<&str>,
) -> std::result::Result<Vec<Children>, Failure> {
    let mut spawned = Vec::with_capacity(members.len());
    for (number, members) in members.iter().enumerate() {
        let name = StepName::from((step, number));
        spawned.push(spawn(cx, queues, &name, members, report).await?);
    }
    Ok(spawned)
}

/// Pushes jobs to their queue, each once.
pub(super) async fn spawn(
    cx: &Context,
    queues: &Queues,
    name: &StepName,
    members: &Members,
    report: Option<&str>,
) -> std::result::Result<Children, Failure> {
    let queue = open(queues, &members.queue).await?;
    let pushes = members.pushes().map(|push| {
        let mut push = push?;
        if let Some(report) = report {
            push = push.with_header(BatchReport::HEADER, report);
        }
        Ok(push)
    });
    cx.spawn_pushes(name, queue, &members.queue, pushes).await
}

async fn open(queues: &Queues, name: &str) -> std::result::Result<Arc<dyn Leasing>, Failure> {
    let stored = queues.stored(name).await?;
    let leasing = stored.and_then(|stored| stored.queue.leasing());
    leasing.ok_or_else(|| {
        Failure::new(format!(
            "there is no queue {name:?} that hands out jobs: open it once, or revive this message when it is there"
        ))
    })
}
