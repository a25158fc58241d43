//! Waiting for children.

use std::{sync::Arc, time::Duration};

use queue_core::{ChildrenRecord, Error, JobResult, MessageId, StepRecord, limits};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{Children, Joined, journal::another};
use crate::{
    Context, Failure,
    families::{Look, Waiting, look, results},
};

/// The longest time until a waiting job looks at its children again.
const LONGEST: Duration = Duration::from_secs(60);

impl Context {
    /// Waits for the ends of all children, without a lease and a slot, and without an attempt (W4, W5).
    ///
    /// While a child is ready, delayed or leased, this returns a failure that defers the message: end the handler by it,
    /// as `?` does. The handler runs again from its start when all children have ended, at most a minute later. A child
    /// has ended when [`find`](queue_core::Leasing::find) says that it is done, dead or gone; nothing else counts. A
    /// dead child that is revived while its parent waits for others counts again.
    ///
    /// # Errors
    ///
    /// The failure that defers; the errors of [`find`](queue_core::Leasing::find).
    pub async fn join(&self, children: &Children) -> Result<Joined, Failure> {
        self.join_or(children, false).await
    }

    /// Waits for the ends of all children as [`join`](Self::join) does, and fails the attempt once a child is dead, with
    /// the reason of its death. If the child is revived and ends well, a later attempt passes.
    ///
    /// # Errors
    ///
    /// The errors of `join`, and the failure of the first dead child.
    pub async fn join_all(&self, children: &Children) -> Result<Joined, Failure> {
        self.join_or(children, true).await
    }

    /// The results of children that have ended, in the order of the jobs. A result is there if the worker of the children
    /// keeps results, for its time (S2).
    ///
    /// # Errors
    ///
    /// The errors of [`find`](queue_core::Leasing::find); `Codec` if a result is no `R`.
    pub async fn results<R: DeserializeOwned + Send>(
        &self,
        children: &Children,
    ) -> Result<Vec<JobResult<R>>, Error> {
        results(&*children.queue, &children.ids).await
    }

    async fn join_or(&self, children: &Children, fails: bool) -> Result<Joined, Failure> {
        let mut record = match self.known(&children.name)? {
            Some(StepRecord::Children(record)) => record,
            Some(record) => return Err(another(&children.name, "a spawn", &record)),
            None => {
                let name = &children.name;
                return Err(Failure::new(format!(
                    "{name:?} spawned nothing in this job"
                )));
            }
        };
        let at_death = fails || children.cancels_others;
        let mut seen = look(&*children.queue, &mut record, at_death).await?;
        if seen.dead > 0 && children.cancels_others && seen.waits_for.is_some() {
            cancel_open(children, &record).await?;
            seen = look(&*children.queue, &mut record, true).await?;
        }
        if let Some(first) = seen.failed.first().filter(|_| fails) {
            let name = &children.name;
            // The results of those that are done may be over when the next attempt looks.
            let _ = self.remember_quietly(name, record);
            return Err(Failure::new(children.dead_child(first)));
        }
        let trusts = false;
        planted!(JoinTrustsTheHint => trusts = record.waits > 0);
        if seen.waits_for.is_some() && !trusts {
            let at_death = at_death && record.dead == 0;
            return Err(self.wait_for(children, record, at_death));
        }
        Ok(joined(&record, seen))
    }

    /// Puts the job back, and has it come back soon after the last end.
    fn wait_for(&self, children: &Children, mut record: ChildrenRecord, at_death: bool) -> Failure {
        let time = Duration::from_secs(1 << record.waits.min(6)).min(LONGEST);
        record.waits = record.waits.saturating_add(1);
        let (count, ended) = (record.count(), record.ended_count() + record.dead);
        // If what is known does not fit into the state, the next look begins where this one did.
        let _ = self.remember_quietly(&children.name, record.clone());
        if let Some(queue) = &self.scope().queue {
            self.scope().parents.watch(Waiting {
                parent: (Arc::clone(queue), self.id()),
                children: Arc::clone(&children.queue),
                record,
                wakes_at_death: at_death,
                until: Instant::now() + time,
            });
        }
        let name = &children.name;
        Failure::defer(
            format!("{name:?} waits for {} of {count} children", count - ended),
            time,
        )
    }

    /// Sets what is known of children, and keeps the time at which they were pushed.
    fn remember_quietly(&self, name: &str, record: ChildrenRecord) -> Result<(), Error> {
        self.lease().with_state(|state| {
            let known = state.steps()?.get(name);
            let after_ms = known.map_or(0, |step| step.after_ms);
            state.change(|steps| steps.set(name, after_ms, StepRecord::Children(record)))
        })
    }
}

/// Cancels the children that are not known to have ended; those that are leased or dead stay.
async fn cancel_open(children: &Children, record: &ChildrenRecord) -> Result<(), Error> {
    let open: Vec<MessageId> = record.open().map(|(_, id)| id).collect();
    for chunk in open.chunks(limits::MAX_BATCH) {
        let _ = children.queue.cancel(chunk).await?;
    }
    Ok(())
}

fn joined(record: &ChildrenRecord, seen: Look) -> Joined {
    Joined {
        done: record.done,
        gone: record.ended_count() - record.done,
        dead: seen.dead,
        failed: seen.failed,
    }
}
