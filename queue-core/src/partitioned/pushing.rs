//! Pushes: the partition of each message.

use futures_util::future::join_all;

use super::{
    ids, key,
    partitions::Partitions,
    split::{Answers, PartitionShare, half_way, split, together},
};
use crate::{
    AnyQueue, Bytes, Error, Keyed, Offer, Offered, Overflow, Push, Pushed, Result, call::Call,
};

/// The header that names a message's partition key.
pub(super) const PARTITION_KEY: &str = "partition-key";

/// The key by which messages share a partition: the partition key; or the distinct key, because an offer
/// replaces the message with the same key; or the dedup key, because a repeat must find its mark.
fn key_of<'a>(push: &'a Push, distinct: Option<&'a Bytes>) -> Option<&'a [u8]> {
    let partition = push.headers.get(PARTITION_KEY).map(str::as_bytes);
    let distinct = || distinct.map(|key| &key[..]);
    let dedup = || push.dedup.as_ref().map(|dedup| &dedup.key[..]);
    partition.or_else(distinct).or_else(dedup)
}

fn key_of_offer(offer: &Offer) -> Option<&[u8]> {
    key_of(&offer.push, offer.distinct.as_ref())
}

impl Partitions {
    /// Pushes a batch. Messages with a key go to the key's partition, and all others to one partition.
    pub(super) async fn push<T>(
        &self,
        batch: Vec<T>,
        push_of: impl Fn(&T) -> &Push,
        call: impl Fn(Vec<T>) -> Call,
    ) -> Result<Vec<Pushed>> {
        let count = batch.len();
        let shares = self.spread(batch, |entry| key_of(push_of(entry), None));
        self.push_shares(count, shares, call).await
    }

    /// Pushes a batch of a grouped queue: the key of a message's group is its partition key.
    pub(super) async fn push_by_group(&self, batch: Vec<Keyed>) -> Result<Vec<Pushed>> {
        let count = batch.len();
        let shares = self.spread(batch, |entry| Some(&entry.key[..]));
        self.push_shares(count, shares, Call::PushKeyed).await
    }

    async fn push_shares<T>(
        &self,
        count: usize,
        shares: Vec<PartitionShare<T>>,
        call: impl Fn(Vec<T>) -> Call,
    ) -> Result<Vec<Pushed>> {
        let mut answers = Answers::to(count);
        let partitions: Vec<_> = shares.iter().map(|share| share.partition).collect();
        let whole = |partition, pushed| match pushed {
            Pushed::Accepted(id) => Pushed::Accepted(ids::whole(partition, id)),
            Pushed::Duplicate(id) => Pushed::Duplicate(ids::whole(partition, id)),
        };
        let shared = self.share(shares, call, whole, &mut answers).await;
        partitions
            .into_iter()
            .for_each(|partition| self.round_robin.came(partition));
        shared?;
        answers.all()
    }

    /// Offers a batch, as [`push`](Self::push) does. An entry without a key that one partition refuses is
    /// offered to the next that is not known to be full, together with the batch's share for that partition:
    /// so it keeps its place (F2). The shares that are left at the end are offered at the same time.
    pub(super) async fn offer(
        &self,
        batch: Vec<Offer>,
        overflow: Overflow,
    ) -> Result<Vec<Offered>> {
        let mut answers = Answers::to(batch.len());
        let mut shares = self.spread(batch, key_of_offer);
        let mut asked = Vec::new();
        let moves = |entry: &Offer| overflow == Overflow::Reject && key_of_offer(entry).is_none();
        let first = shares
            .iter()
            .position(|share| share.entries.iter().any(moves));
        let mut next = first.map(|first| shares.swap_remove(first));
        while let Some(share) = next.take() {
            let offered = self.offer_to(&share, overflow).await;
            let offered = offered.map_err(|error| half_way(error, !asked.is_empty()))?;
            asked.push(share.partition);
            let entries = share.places.iter().copied().zip(share.entries);
            let refused = entries.zip(&offered).filter_map(|(entry, offered)| {
                (*offered == Offered::Full && moves(&entry.1)).then_some(entry)
            });
            let refused: Vec<_> = refused.collect();
            let partition = share.partition;
            let offered = offered.into_iter().map(|offered| whole(partition, offered));
            answers.put(&share.places, offered.collect())?;
            if refused.is_empty() {
                break;
            }
            next = self.round_robin.with_room(&asked).map(|partition| {
                let own = shares.iter().position(|share| share.partition == partition);
                let own = own.map(|own| shares.swap_remove(own));
                PartitionShare::with(partition, refused, own)
            });
        }
        let offers = shares.iter().map(|share| self.offer_to(share, overflow));
        let offered = together(join_all(offers).await);
        let offered = offered.map_err(|error| half_way(error, !asked.is_empty()))?;
        for (share, offered) in shares.into_iter().zip(offered) {
            let partition = share.partition;
            let offered = offered.into_iter().map(|offered| whole(partition, offered));
            answers.put(&share.places, offered.collect())?;
        }
        answers.all()
    }

    async fn offer_to(
        &self,
        share: &PartitionShare<Offer>,
        overflow: Overflow,
    ) -> Result<Vec<Offered>> {
        let partition = share.partition;
        let AnyQueue::Bounded(queue) = &self.queues[partition] else {
            return Err(Error::invalid(format!(
                "a {} queue takes no offers",
                self.kind
            )));
        };
        self.confirmations.called(partition).await;
        let offered = queue.offer(&share.entries, overflow).await?;
        self.round_robin.came(partition);
        match offered.contains(&Offered::Full) {
            true => self.round_robin.found_full(partition),
            false => self.round_robin.may_have_room(partition),
        }
        Ok(offered)
    }

    fn spread<T>(
        &self,
        batch: Vec<T>,
        key_of: impl Fn(&T) -> Option<&[u8]>,
    ) -> Vec<PartitionShare<T>> {
        let all_keyed = batch.iter().all(|entry| key_of(entry).is_some());
        let any_partition = if all_keyed {
            0
        } else {
            self.round_robin.for_push()
        };
        split(batch, |entry| {
            let partition = key_of(&entry).map(|key| key::partition(key, self.count()));
            (partition.unwrap_or(any_partition), entry)
        })
    }
}

/// The whole queue's answer to an offer.
fn whole(partition: usize, offered: Offered) -> Offered {
    let whole = |id| ids::whole(partition, id);
    match offered {
        Offered::Accepted { id, evicted } => Offered::Accepted {
            id: whole(id),
            evicted: evicted.map(whole),
        },
        Offered::Replaced { id, replaced } => Offered::Replaced {
            id: whole(id),
            replaced: whole(replaced),
        },
        Offered::Duplicate(id) => Offered::Duplicate(whole(id)),
        Offered::Full => Offered::Full,
    }
}
