//! Pushing children.

use std::{sync::Arc, time::Duration};

use queue_core::{
    AsLeasing, ChildrenRecord, Encode, Error, Headers, Leasing, LeasingExt, MessageId, Push,
    Pushed, StepRecord, Takes, Typed, limits,
};

use super::{
    Children, StepName,
    journal::{another, pause_after, too_large},
};
use crate::{Context, Failure};

/// How long the dedup key of a child lives: as long as the contract allows.
const WINDOW: Duration = limits::MAX_DEDUP_WINDOW;

/// The time before the end of the window in which nothing is pushed under its keys any more.
const SLACK: Duration = Duration::from_secs(60 * 60);

/// How long a job waits for room in a full queue of its children.
const FULL: Duration = Duration::from_secs(1);

impl Context {
    /// Pushes children of this job to a queue, each once, however often the job is attempted (W3). A later attempt gets
    /// the same children, and pushes none.
    ///
    /// The children run whatever happens to this job; [`join`](Self::join) waits for their ends. Each child has the header
    /// [`Headers::PARENT`], and the job's trace context unless it has one of its own. The job may push any number of
    /// children; some 5,000 runs of ids that other producers interrupt fit into its state.
    ///
    /// Two calls store what is pushed, beside the pushes: batches of 128 jobs under dedup keys. So a push whose reply was
    /// lost, or an attempt that died in between, is repeated without a second child. The keys live for 7 days; a job that
    /// comes back later, and does not know whether it pushed, is buried.
    ///
    /// **Atomicity.** A batch is pushed as a whole, and the batches one after another. **Order.** The order of the jobs.
    /// **Dropped future.** Children may have been pushed; the next attempt pushes the rest.
    ///
    /// # Errors
    ///
    /// A failure if the name is none or was used in this run; the errors of the codec and of the push. A full bounded queue
    /// defers the job for a second.
    pub async fn spawn<V, T, Q, C>(
        &self,
        name: impl Into<StepName> + Send,
        queue: &Typed<T, Q, C>,
        jobs: impl IntoIterator<Item = V, IntoIter: Send> + Send,
    ) -> Result<Children, Failure>
    where
        V: Send,
        T: Takes<V>,
        Q: AsLeasing + ?Sized,
        C: Encode<V> + ?Sized,
    {
        let name = name.into();
        let queue_name = queue.name().map_or("", |name| name);
        let pushes = jobs.into_iter().map(|job| queue.encode(&job));
        let leasing = Arc::clone(queue.queue()).as_leasing();
        self.spawn_pushes(&name, leasing, queue_name, pushes).await
    }

    /// Pushes children that are encoded.
    pub(super) async fn spawn_pushes(
        &self,
        name: &StepName,
        queue: Arc<dyn Leasing>,
        queue_name: &str,
        pushes: impl Iterator<Item = Result<Push, Error>> + Send,
    ) -> Result<Children, Failure> {
        let name = name.check()?;
        let mut record = match self.begin(name)? {
            Some(StepRecord::Children(record)) => record,
            Some(record) => return Err(another(name, "a spawn", &record)),
            None => self.intend(name, queue_name).await?,
        };
        if record.ids.is_none() {
            self.check_window(name)?;
            record.ids = Some(Vec::new());
            self.push_all(&*queue, name, &mut record, pushes).await?;
            let known = StepRecord::Children(record.clone());
            let remembered = self.remember(name, known);
            remembered.map_err(|error| too_large(name, &error))?;
            self.store_steps().await?;
        }
        Ok(Children {
            name: name.to_owned(),
            queue,
            queue_name: record.queue.clone(),
            ids: record.all().collect(),
            cancels_others: false,
        })
    }

    /// Stores under which keys the children are about to be pushed.
    async fn intend(&self, name: &str, queue: &str) -> Result<ChildrenRecord, Failure> {
        let record = ChildrenRecord::new(queue, self.token().get());
        let remembered = self.remember(name, StepRecord::Children(record.clone()));
        remembered.map_err(|error| too_large(name, &error))?;
        self.store_steps().await?;
        Ok(record)
    }

    /// Refuses to push under keys whose marks may have ended.
    fn check_window(&self, name: &str) -> Result<(), Failure> {
        let begun = self.lease().with_state(|state| {
            let steps = state.steps().ok();
            steps
                .and_then(|steps| steps.get(name))
                .map_or(0, |step| step.after_ms)
        });
        let since = self.age_now().saturating_sub(Duration::from_millis(begun));
        if since + SLACK < WINDOW {
            return Ok(());
        }
        Err(Failure::bury(format!(
            "the children of {name:?} may have been pushed {} days ago, and their dedup keys have ended: look which are \
             there before you revive this job afresh",
            since.as_secs() / (24 * 60 * 60)
        )))
    }

    async fn push_all(
        &self,
        queue: &dyn Leasing,
        name: &str,
        record: &mut ChildrenRecord,
        mut pushes: impl Iterator<Item = Result<Push, Error>> + Send,
    ) -> Result<(), Failure> {
        let mut batch: Vec<Push> = Vec::with_capacity(limits::MAX_BATCH);
        let mut size = 0;
        let mut index = 0_u64;
        loop {
            let next = pushes.next().transpose()?;
            let is_last = next.is_none();
            if let Some(push) = next {
                let push = self.child(name, record.key, index, push)?;
                index += 1;
                size += push.size();
                batch.push(push);
            }
            // One push may be larger than what is left of a call: `push_all` splits the batch then.
            if batch.len() == limits::MAX_BATCH || size > limits::MAX_BATCH_BYTES || is_last {
                for id in self.push_batch(queue, name, &batch).await? {
                    record.add(id);
                }
                batch.clear();
                size = 0;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The push of a child: with its key, its parent, and the trace of its parent.
    fn child(&self, name: &str, key: u64, index: u64, push: Push) -> Result<Push, Failure> {
        if push.dedup.is_some() {
            return Err(Failure::new(format!(
                "a child of {name:?} has a dedup key of its own: the job gives each child one, so leave it out"
            )));
        }
        let parent = format!("{}/{}", self.queue(), self.id());
        let dedup = format!("{parent}/{key}/{name}/{index}");
        let mut headers = push.headers.clone().with(Headers::PARENT, parent);
        if headers.trace_parent().is_none()
            && let Some(trace) = self.headers().trace_parent()
        {
            headers = headers.with_trace_parent(trace);
        }
        let push = push.with_headers(headers);
        let has_key = true;
        planted!(ChildWithoutKey => has_key = false);
        Ok(match has_key {
            true => push.with_dedup(dedup, WINDOW),
            false => push,
        })
    }

    /// Pushes a batch. While the backend fails for the moment, tries again until the lease is over.
    async fn push_batch(
        &self,
        queue: &dyn Leasing,
        name: &str,
        batch: &[Push],
    ) -> Result<Vec<MessageId>, Failure> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let pushed = loop {
            match queue.push_all(batch).await {
                Ok(pushed) => break pushed,
                Err(error) if error.is_transient() => {
                    if self.lease().is_lost() {
                        return Err(Error::lease_lost(self.receipt()).into());
                    }
                    pause_after(&error).await;
                }
                Err(error) => return Err(error.into()),
            }
        };
        let ids = pushed.into_iter().map(Pushed::id);
        ids.collect::<Option<Vec<MessageId>>>().ok_or_else(|| {
            Failure::defer(
                format!("the queue of the children of {name:?} is full"),
                FULL,
            )
        })
    }
}
