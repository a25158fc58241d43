//! Pushes: the part of each message.

use futures_util::future::join_all;

use super::{
    ids, key,
    parts::Parts,
    split::{Answers, Share, half_way, split, together},
};
use crate::{
    AnyQueue, Bytes, Error, Offer, Offered, Overflow, Prioritized, Push, Pushed, Result, Scheduled,
    call::Call,
};

/// The header that names a message's partition key.
pub(super) const PARTITION_KEY: &str = "partition-key";

/// A message of any kind, as far as its key goes.
pub(super) trait Keyed {
    fn push(&self) -> &Push;

    fn distinct(&self) -> Option<&Bytes> {
        None
    }

    /// What must meet in one part: the partition key; or the distinct key, since it replaces what has
    /// the same one; or the dedup key, since a repeat must meet its mark.
    fn key(&self) -> Option<&[u8]> {
        let push = self.push();
        let partition = push.headers.get(PARTITION_KEY).map(str::as_bytes);
        let distinct = || self.distinct().map(|key| &key[..]);
        let dedup = || push.dedup.as_ref().map(|dedup| &dedup.key[..]);
        partition.or_else(distinct).or_else(dedup)
    }
}

impl Keyed for Push {
    fn push(&self) -> &Push {
        self
    }
}

impl Keyed for Scheduled {
    fn push(&self) -> &Push {
        &self.push
    }
}

impl Keyed for Prioritized {
    fn push(&self) -> &Push {
        &self.push
    }
}

impl Keyed for Offer {
    fn push(&self) -> &Push {
        &self.push
    }

    fn distinct(&self) -> Option<&Bytes> {
        self.distinct.as_ref()
    }
}

impl Parts {
    /// Puts a batch in: what has a key goes to the key's part, and all the rest to one part.
    pub(super) async fn push<T: Keyed>(
        &self,
        batch: Vec<T>,
        call: impl Fn(Vec<T>) -> Call,
    ) -> Result<Vec<Pushed>> {
        let mut answers = Answers::to(batch.len());
        let shares = self.spread(batch);
        let parts: Vec<_> = shares.iter().map(|share| share.part).collect();
        let whole = |part, pushed| match pushed {
            Pushed::Accepted(id) => Pushed::Accepted(ids::whole(part, id)),
            Pushed::Duplicate(id) => Pushed::Duplicate(ids::whole(part, id)),
        };
        let shared = self.share(shares, call, whole, &mut answers).await;
        parts.into_iter().for_each(|part| self.rota.came(part));
        shared?;
        answers.all()
    }

    /// Offers a batch, as [`push`](Self::push) does. What has no key and is refused by one part is
    /// offered to the next that is not known to be full.
    pub(super) async fn offer(
        &self,
        batch: Vec<Offer>,
        overflow: Overflow,
    ) -> Result<Vec<Offered>> {
        let mut answers = Answers::to(batch.len());
        let mut shares = self.spread(batch);
        for round in 0..self.count() {
            let offers = shares.iter().map(|share| self.offer_to(share, overflow));
            let offered = together(join_all(offers).await);
            let offered = offered.map_err(|error| half_way(error, round > 0))?;
            let mut refused = Vec::new();
            for (share, offered) in std::mem::take(&mut shares).into_iter().zip(offered) {
                let part = share.part;
                let (entries, places) = share.apart();
                if overflow == Overflow::Reject {
                    let entries = entries.into_iter().zip(&offered).enumerate();
                    let full = entries.filter(|(_, (entry, offered))| {
                        **offered == Offered::Full && entry.key().is_none()
                    });
                    refused.extend(full.map(|(nth, (entry, _))| (places.place(nth), entry)));
                }
                let offered = offered.into_iter().map(|offered| whole(part, offered));
                answers.put(&places, offered.collect())?;
            }
            let Some(part) = self.rota.with_room() else {
                break;
            };
            shares.extend(Share::at(part, refused));
            if shares.is_empty() {
                break;
            }
        }
        answers.all()
    }

    async fn offer_to(&self, share: &Share<Offer>, overflow: Overflow) -> Result<Vec<Offered>> {
        let part = share.part;
        let AnyQueue::Bounded(queue) = &self.queues[part] else {
            return Err(Error::invalid(format!(
                "a {} queue takes no offers",
                self.kind
            )));
        };
        let offered = queue.offer(&share.entries, overflow).await?;
        self.rota.came(part);
        match offered.contains(&Offered::Full) {
            true => self.rota.found_full(part),
            false => self.rota.may_have_room(part),
        }
        Ok(offered)
    }

    fn spread<T: Keyed>(&self, batch: Vec<T>) -> Vec<Share<T>> {
        let all_keyed = batch.iter().all(|entry| entry.key().is_some());
        let any_part = if all_keyed { 0 } else { self.rota.for_push() };
        split(batch, |entry| {
            let part = entry.key().map(|key| key::part(key, self.count()));
            (part.unwrap_or(any_part), entry)
        })
    }
}

/// The whole queue's answer to an offer.
fn whole(part: usize, offered: Offered) -> Offered {
    let whole = |id| ids::whole(part, id);
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
