use std::ops::DerefMut;

use queue_core::{Leasing, MessageId, Page, Revived, limits::MAX_BATCH};

use super::{Diverged, Driver, divergence::agree, leasing::at_least_one};
use crate::model::LeasingModel;

/// An operator's calls.
impl<M, Q> Driver<M, Q>
where
    M: DerefMut<Target = LeasingModel> + Send + Sync,
    Q: Leasing + ?Sized,
{
    /// Compares depth and counters.
    pub(super) async fn look(&mut self) -> Result<(), Diverged> {
        let now = self.clock.now();
        let many = self.model.overdue(now) > MAX_BATCH;
        self.goals
            .reach_if(many, "more than 128 leases expired at once");
        let depth = self.queue.depth().await;
        let depth = agree("depth", Ok(self.model.depth(now)), depth)?;
        let mut counters = self.model.counters(now);
        let answered = self.queue.counters().await;
        if let Ok(answered) = &answered {
            // When expired marks are cleared away is the backend's affair.
            let marks = counters.dedup_marks..=self.model.marks_ever();
            if marks.contains(&answered.dedup_marks) {
                counters.dedup_marks = answered.dedup_marks;
            }
        }
        let counters = agree("counters", Ok(counters), answered)?;
        if let (Ok(depth), Ok(counters)) = (depth, counters) {
            self.rules.look(depth, &counters, now)?;
            self.goals.count(&counters);
        }
        Ok(())
    }

    pub(super) async fn pause(&mut self, paused: bool) -> Result<(), Diverged> {
        if paused {
            self.model.pause();
            agree("pause", Ok(()), self.queue.pause().await)?.ok();
        } else {
            self.model.resume();
            agree("resume", Ok(()), self.queue.resume().await)?.ok();
        }
        Ok(())
    }

    pub(super) async fn dead_letters(&mut self, limit: usize, go_on: bool) -> Result<(), Diverged> {
        let end = self.page_end.take().filter(|_| go_on);
        let after = end.map(|(ours, _)| ours);
        let mut model = self
            .model
            .dead_letters(self.clock.now(), Page { after, limit });
        let after = end.map(|(_, theirs)| theirs);
        let queue = self.queue.dead_letters(Page { after, limit }).await;
        // A cursor is the backend's own: only whether there is one is compared.
        if let (Ok(model), Ok(queue)) = (&mut model, &queue)
            && let (Some(ours), Some(theirs)) = (model.next, queue.next)
        {
            self.page_end = Some((ours, theirs));
            model.next = queue.next;
        }
        agree("dead_letters", model, queue)?.ok();
        Ok(())
    }

    pub(super) async fn revive(&mut self, ids: &[MessageId]) -> Result<(), Diverged> {
        let revived = self.queue.revive(ids).await;
        let model = self.model.revive(self.clock.now(), ids);
        let revived = agree("revive", model, revived)?;
        let full = revived.is_ok_and(|all| all.contains(&Revived::Full));
        self.goals.reach_if(full, "a revival found no room");
        Ok(())
    }

    pub(super) async fn discard(&mut self, ids: &[MessageId]) -> Result<(), Diverged> {
        let discarded = self.queue.discard(ids).await;
        let model = self.model.discard(self.clock.now(), ids);
        agree("discard", model, discarded)?.ok();
        Ok(())
    }

    pub(super) async fn purge(&mut self, max: usize) -> Result<(), Diverged> {
        let max = at_least_one(max);
        let purged = self.queue.purge(max).await;
        agree("purge", self.model.purge(self.clock.now(), max), purged)?.ok();
        Ok(())
    }
}
