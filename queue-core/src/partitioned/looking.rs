//! Calls about the whole queue: sums, listings partition by partition, and operators' calls.

use std::{num::NonZeroUsize, time::Duration};

use super::{ids, key, partitions::Partitions, shares, split::half_way};
use crate::{
    Bytes, Counters, Cursor, DeadLetter, Depth, Group, GroupChange, Message, MessageId, Page,
    Paged, Peeked, Place, Result, Standing,
    call::{Answered, Call},
    limits,
};

impl Partitions {
    pub(super) async fn depth(&self) -> Result<Depth> {
        let depths = self.read_all(&Call::Depth).await?;
        Ok(depths.into_iter().fold(Depth::default(), sum_of_depths))
    }

    pub(super) async fn counters(&self) -> Result<Counters> {
        let counters = self.read_all(&Call::Counters).await?;
        Ok(counters
            .into_iter()
            .fold(Counters::default(), sum_of_counters))
    }

    pub(super) async fn capacity(&self) -> Result<NonZeroUsize> {
        let capacities: Vec<NonZeroUsize> = self.read_all(&Call::Capacity).await?;
        let sum = capacities
            .into_iter()
            .reduce(|sum, one| sum.saturating_add(one.get()));
        Ok(sum.unwrap_or(NonZeroUsize::MIN))
    }

    pub(super) async fn resize(&self, capacity: NonZeroUsize) -> Result<Vec<MessageId>> {
        shares::check(capacity.get(), self.count())?;
        let mut dropped = Vec::new();
        for partition in 0..self.count() {
            let share = shares::of_capacity(capacity.get(), partition, self.count());
            let share = NonZeroUsize::new(share).unwrap_or(NonZeroUsize::MIN);
            let resized = self
                .call::<Vec<MessageId>>(partition, Call::Resize(share))
                .await;
            let ids = resized.map_err(|error| half_way(error, partition > 0))?;
            self.round_robin.may_have_room(partition);
            dropped.extend(ids.into_iter().map(|id| ids::whole(partition, id)));
        }
        Ok(dropped)
    }

    /// The newest of each partition, in turn.
    pub(super) async fn recent(&self, n: usize) -> Result<Vec<Message>> {
        limits::check_page(n)?;
        let partitions: Vec<Vec<Message>> = self.read_all(&Call::Recent(n)).await?;
        let mut partitions: Vec<_> = partitions.into_iter().map(Vec::into_iter).collect();
        let mut newest = Vec::new();
        while newest.len() < n {
            let before = newest.len();
            for (partition, messages) in partitions.iter_mut().enumerate() {
                newest.extend(
                    messages
                        .next()
                        .map(|message| whole_message(partition, message)),
                );
            }
            if newest.len() == before {
                break;
            }
        }
        let sizes = newest
            .iter()
            .map(|message| message.body.len() + message.headers.size());
        newest.truncate(limits::fitting(sizes, n));
        Ok(newest)
    }

    pub(super) async fn next_due(&self) -> Result<Option<Duration>> {
        let next: Vec<Option<Duration>> = self.read_all(&Call::NextDue).await?;
        Ok(next.into_iter().flatten().min())
    }

    pub(super) async fn resume(&self) -> Result<()> {
        let resumed: Vec<()> = self.change_all(&Call::Resume).await?;
        (0..resumed.len()).for_each(|partition| self.round_robin.came(partition));
        Ok(())
    }

    pub(super) async fn purge(&self, max: NonZeroUsize) -> Result<u64> {
        limits::check_page(max.get())?;
        let mut purged = 0;
        for partition in 0..self.count() {
            let left = (max.get() as u64).saturating_sub(purged);
            let Some(left) = usize::try_from(left).ok().and_then(NonZeroUsize::new) else {
                break;
            };
            let more = self.call::<u64>(partition, Call::Purge(left)).await;
            purged += more.map_err(|error| half_way(error, purged > 0))?;
            self.round_robin.may_have_room(partition);
        }
        Ok(purged)
    }

    pub(super) async fn dead_letters(&self, page: Page) -> Result<Paged<DeadLetter>> {
        let whole = |partition, letter: DeadLetter| DeadLetter {
            id: ids::whole(partition, letter.id),
            ..letter
        };
        self.listed(page, Call::DeadLetters, whole).await
    }

    pub(super) async fn peek(&self, place: Place, page: Page) -> Result<Paged<Peeked>> {
        let whole = |partition, mut peeked: Peeked| {
            peeked.message = whole_message(partition, peeked.message);
            whole_standing(partition, &mut peeked.standing);
            peeked
        };
        self.listed(page, |page| Call::Peek(place, page), whole)
            .await
    }

    /// The groups, partition by partition.
    pub(super) async fn groups(&self, page: Page) -> Result<Paged<Group>> {
        let whole = |partition, mut group: Group| {
            group.held_by = group.held_by.map(|id| ids::whole(partition, id));
            group
        };
        self.listed(page, Call::Groups, whole).await
    }

    /// Changes a group in its partition.
    pub(super) async fn change_group(&self, group: Bytes, change: GroupChange) -> Result<()> {
        change.check(&group)?;
        let partition = key::partition(&group, self.count());
        let changed = self.call(partition, Call::ChangeGroup(group, change)).await;
        // Also after an error: the call may have been executed.
        self.round_robin.came(partition);
        changed
    }

    /// A page of a listing that goes partition by partition. It ends within the partition that does not fit,
    /// or with the last partition.
    async fn listed<T>(
        &self,
        page: Page,
        call: impl Fn(Page) -> Call,
        whole: impl Fn(usize, T) -> T,
    ) -> Result<Paged<T>>
    where
        Paged<T>: Answered,
    {
        page.check()?;
        let (mut partition, mut after) = ids::cursor_in_partition(page.after);
        let mut entries = Vec::new();
        while partition < self.count() {
            // With a full page, one more entry shows whether the listing goes on.
            let left = page.limit - entries.len();
            let limit = left.max(1);
            let paged: Paged<T> = self.call(partition, call(Page { after, limit })).await?;
            if left == 0 && !paged.entries.is_empty() {
                return Ok(Paged {
                    entries,
                    next: Some(ids::cursor(partition, after)?),
                });
            }
            entries.extend(
                paged
                    .entries
                    .into_iter()
                    .map(|entry| whole(partition, entry)),
            );
            if let Some(next) = paged.next {
                return Ok(Paged {
                    entries,
                    next: Some(ids::cursor(partition, Some(next))?),
                });
            }
            (partition, after) = (partition + 1, None::<Cursor>);
        }
        Ok(Paged {
            entries,
            next: None,
        })
    }
}

/// Changes the receipt of a lease in a partition into a receipt of the whole queue.
pub(super) fn whole_standing(partition: usize, standing: &mut Standing) {
    if let Standing::Leased { receipt, .. } = standing {
        *receipt = ids::whole_receipt(partition, *receipt);
    }
}

fn whole_message(partition: usize, message: Message) -> Message {
    Message {
        id: ids::whole(partition, message.id),
        ..message
    }
}

const fn sum_of_depths(one: Depth, other: Depth) -> Depth {
    Depth {
        ready: one.ready + other.ready,
        delayed: one.delayed + other.delayed,
        leased: one.leased + other.leased,
        dead: one.dead + other.dead,
    }
}

pub(super) fn sum_of_counters(one: Counters, other: Counters) -> Counters {
    Counters {
        accepted: one.accepted + other.accepted,
        acked: one.acked + other.acked,
        retried: one.retried + other.retried,
        deferred: one.deferred + other.deferred,
        released: one.released + other.released,
        expired: one.expired + other.expired,
        died: one.died + other.died,
        revived: one.revived + other.revived,
        evicted: one.evicted + other.evicted,
        replaced: one.replaced + other.replaced,
        cancelled: one.cancelled + other.cancelled,
        discarded: one.discarded + other.discarded,
        trimmed: one.trimmed + other.trimmed,
        purged: one.purged + other.purged,
        outdated: one.outdated + other.outdated,
        dedup_marks: one.dedup_marks + other.dedup_marks,
        groups: one.groups + other.groups,
        depth: sum_of_depths(one.depth, other.depth),
        oldest_ready: one.oldest_ready.max(other.oldest_ready),
        // Where one partition may hand out a message, the queue may.
        next_token: one.next_token.min(other.next_token),
        // After a pause that failed half-way, an operator repeats the pause or resumes.
        paused: one.paused || other.paused,
    }
}
