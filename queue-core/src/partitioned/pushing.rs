//! Pushes: the part of each message.

use futures_util::future::join_all;

use super::{
    ids, key,
    parts::Parts,
    split::{Answers, Share, half_way, split, together},
};
use crate::{AnyQueue, Bytes, Error, Offer, Offered, Overflow, Push, Pushed, Result, call::Call};

/// The header that names a message's partition key.
pub(super) const PARTITION_KEY: &str = "partition-key";

/// What must meet in one part: the partition key; or the distinct key, since it replaces what has
/// the same one; or the dedup key, since a repeat must meet its mark.
fn key_of<'a>(push: &'a Push, distinct: Option<&'a Bytes>) -> Option<&'a [u8]> {
    let partition = push.headers.get(PARTITION_KEY).map(str::as_bytes);
    let distinct = || distinct.map(|key| &key[..]);
    let dedup = || push.dedup.as_ref().map(|dedup| &dedup.key[..]);
    partition.or_else(distinct).or_else(dedup)
}

fn key_of_offer(offer: &Offer) -> Option<&[u8]> {
    key_of(&offer.push, offer.distinct.as_ref())
}

impl Parts {
    /// Puts a batch in: what has a key goes to the key's part, and all the rest to one part.
    pub(super) async fn push<T>(
        &self,
        batch: Vec<T>,
        push_of: impl Fn(&T) -> &Push,
        call: impl Fn(Vec<T>) -> Call,
    ) -> Result<Vec<Pushed>> {
        let mut answers = Answers::to(batch.len());
        let shares = self.spread(batch, |entry| key_of(push_of(entry), None));
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

    /// Offers a batch, as [`push`](Self::push) does. What has no key and is refused by one part is offered to the
    /// next that is not known to be full, together with what the batch has for that part: so it keeps its place
    /// (F2). What such entries cannot come to is offered at the end, all at the same time.
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
            asked.push(share.part);
            let entries = share.places.iter().copied().zip(share.entries);
            let refused = entries.zip(&offered).filter_map(|(entry, offered)| {
                (*offered == Offered::Full && moves(&entry.1)).then_some(entry)
            });
            let refused: Vec<_> = refused.collect();
            let part = share.part;
            let offered = offered.into_iter().map(|offered| whole(part, offered));
            answers.put(&share.places, offered.collect())?;
            if refused.is_empty() {
                break;
            }
            next = self.rota.with_room(&asked).map(|part| {
                let own = shares.iter().position(|share| share.part == part);
                let own = own.map(|own| shares.swap_remove(own));
                Share::with(part, refused, own)
            });
        }
        let offers = shares.iter().map(|share| self.offer_to(share, overflow));
        let offered = together(join_all(offers).await);
        let offered = offered.map_err(|error| half_way(error, !asked.is_empty()))?;
        for (share, offered) in shares.into_iter().zip(offered) {
            let part = share.part;
            let offered = offered.into_iter().map(|offered| whole(part, offered));
            answers.put(&share.places, offered.collect())?;
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
        self.confirmations.called(part).await;
        let offered = queue.offer(&share.entries, overflow).await?;
        self.rota.came(part);
        match offered.contains(&Offered::Full) {
            true => self.rota.found_full(part),
            false => self.rota.may_have_room(part),
        }
        Ok(offered)
    }

    fn spread<T>(&self, batch: Vec<T>, key_of: impl Fn(&T) -> Option<&[u8]>) -> Vec<Share<T>> {
        let all_keyed = batch.iter().all(|entry| key_of(entry).is_some());
        let any_part = if all_keyed { 0 } else { self.rota.for_push() };
        split(batch, |entry| {
            let part = key_of(&entry).map(|key| key::part(key, self.count()));
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
