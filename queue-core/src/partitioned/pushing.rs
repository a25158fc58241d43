//! Pushes: the partition of each message.

use futures_util::future::join_all;

use super::{
    ids, key,
    partitions::Partitions,
    split::{Answers, PartitionShare, half_way, split, together},
};
use crate::{Overflow, Push, Pushed, QueueKind, Result, call::Call};

impl Partitions {
    /// Pushes a batch. Messages with a key go to the key's partition, and all others to one partition.
    ///
    /// An entry without a key that one partition refuses as full goes to the next partition that is not known to be full.
    /// The batch's share for that partition goes with it, so the entry keeps its place (F2). The shares that are left at
    /// the end are pushed at the same time.
    pub(super) async fn push(&self, batch: Vec<Push>) -> Result<Vec<Pushed>> {
        let mut answers = Answers::to(batch.len());
        let mut shares = self.spread(batch);
        let mut asked = Vec::new();
        let moves = |entry: &Push| self.moves(entry);
        let first = shares
            .iter()
            .position(|share| share.entries.iter().any(moves));
        let mut next = first.map(|first| shares.swap_remove(first));
        while let Some(share) = next.take() {
            let pushed = self.push_to(share.partition, share.entries.clone()).await;
            let pushed = pushed.map_err(|error| half_way(error, !asked.is_empty()))?;
            asked.push(share.partition);
            let entries = share.places.iter().copied().zip(share.entries);
            let refused = entries.zip(&pushed).filter_map(|(entry, pushed)| {
                (*pushed == Pushed::Full && moves(&entry.1)).then_some(entry)
            });
            let refused: Vec<_> = refused.collect();
            answers.put(&share.places, pushed)?;
            if refused.is_empty() {
                break;
            }
            next = self.round_robin.with_room(&asked).map(|partition| {
                let own = shares.iter().position(|share| share.partition == partition);
                let own = own.map(|own| shares.swap_remove(own));
                PartitionShare::with(partition, refused, own)
            });
        }
        let pushes = shares.into_iter().map(|share| async move {
            let pushed = self.push_to(share.partition, share.entries).await?;
            Ok((share.places, pushed))
        });
        let pushed = together(join_all(pushes).await);
        for (places, pushed) in pushed.map_err(|error| half_way(error, !asked.is_empty()))? {
            answers.put(&places, pushed)?;
        }
        answers.all()
    }

    /// Pushes a share; returns the ids of the whole queue.
    async fn push_to(&self, partition: usize, entries: Vec<Push>) -> Result<Vec<Pushed>> {
        let pushed: Result<Vec<Pushed>> = self.call(partition, Call::Push(entries)).await;
        // Also after an error: the call may have been executed.
        self.round_robin.came(partition);
        let pushed = pushed?;
        if self.kind == QueueKind::Bounded {
            match pushed.contains(&Pushed::Full) {
                true => self.round_robin.found_full(partition),
                false => self.round_robin.may_have_room(partition),
            }
        }
        let whole = |pushed: Pushed| pushed.map(|id| ids::whole(partition, id));
        Ok(pushed.into_iter().map(whole).collect())
    }

    /// Whether another partition may take an entry that one partition refuses as full.
    fn moves(&self, entry: &Push) -> bool {
        self.kind == QueueKind::Bounded
            && entry.overflow == Overflow::Reject
            && self.key_of(entry).is_none()
    }

    /// The key by which messages share a partition. On a grouped queue it is the key of the group. Elsewhere it is the
    /// partition key; or else the distinct key, because a push replaces the message with the same key; or else the dedup
    /// key, because a repeat must find its mark.
    fn key_of<'a>(&self, push: &'a Push) -> Option<&'a [u8]> {
        if self.kind == QueueKind::Grouped {
            return Some(push.group_key());
        }
        let partition = push.headers.get(Push::PARTITION_KEY).map(str::as_bytes);
        let distinct = || push.distinct.as_ref().map(|distinct| &distinct.key[..]);
        let dedup = || push.dedup.as_ref().map(|dedup| &dedup.key[..]);
        partition.or_else(distinct).or_else(dedup)
    }

    fn spread(&self, batch: Vec<Push>) -> Vec<PartitionShare<Push>> {
        let all_keyed = batch.iter().all(|entry| self.key_of(entry).is_some());
        let any_partition = if all_keyed {
            0
        } else {
            self.round_robin.for_push()
        };
        split(batch, |entry| {
            let partition = self
                .key_of(&entry)
                .map(|key| key::partition(key, self.count()));
            (partition.unwrap_or(any_partition), entry)
        })
    }
}
