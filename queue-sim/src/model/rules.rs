//! Rules that are looked at without a model: whoever reads the answers can tell.

use std::collections::BTreeMap;

use bytes::Bytes;
use queue_core::{
    Counters, Delivery, Depth, Extended, MessageId, Receipt, Settled, Timestamp, Token,
};

/// What a careful client knows of a leasing queue from the answers that it got.
#[derive(Debug, Default)]
pub(super) struct Rules {
    known: BTreeMap<MessageId, Known>,
    accepted: u64,
    /// B1: the most that the queue may hold.
    bound: Option<u64>,
}

#[derive(Debug)]
struct Known {
    body: Bytes,
    acked: bool,
    last_token: Option<Token>,
    /// The lease that was not settled, perhaps expired.
    lease: Option<(Token, u64)>,
}

/// A rule that was broken, or nothing.
pub(super) type Verdict = Result<(), String>;

fn require(holds: bool, broken: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(broken()) }
}

impl Known {
    /// The token of its live lease.
    fn live(&self, now: Timestamp) -> Option<Token> {
        let (token, deadline) = self.lease?;
        (now.as_millis() < deadline).then_some(token)
    }
}

impl Rules {
    pub(super) fn accepted(&mut self, id: MessageId, body: Bytes) -> Verdict {
        self.accepted += 1;
        require(id.get() == self.accepted, || {
            format!("ids: accepted message {} is called {id}", self.accepted)
        })?;
        let known = Known {
            body,
            acked: false,
            last_token: None,
            lease: None,
        };
        self.known.insert(id, known);
        Ok(())
    }

    pub(super) fn delivered(&mut self, delivery: &Delivery, ttl: u64, now: Timestamp) -> Verdict {
        let Receipt { id, token } = delivery.receipt;
        let Some(known) = self.known.get_mut(&id) else {
            return Err(format!(
                "L5: message {id} is delivered, and nobody pushed it"
            ));
        };
        require(known.live(now).is_none(), || {
            format!("L1: message {id} is delivered under two live leases")
        })?;
        require(!known.acked, || {
            format!("L3: message {id} is delivered after its ack")
        })?;
        require(known.last_token < Some(token), || {
            format!(
                "tokens: message {id} is delivered with {token} after {:?}",
                known.last_token
            )
        })?;
        require(token.get() / 1_000 >= now.as_millis(), || {
            format!("R1: message {id} is delivered with the token {token} at {now}")
        })?;
        require(known.body == delivery.body, || {
            format!("L5: message {id} is delivered with another body than was pushed")
        })?;
        known.last_token = Some(token);
        known.lease = Some((token, now.as_millis() + ttl));
        Ok(())
    }

    pub(super) fn settled(
        &mut self,
        receipt: Receipt,
        ack: bool,
        settled: Settled,
        now: Timestamp,
    ) -> Verdict {
        let holds = settled != Settled::LeaseLost;
        let Some(known) = self.fenced(receipt, holds, now)? else {
            return Ok(());
        };
        known.acked |= ack;
        known.lease = None;
        Ok(())
    }

    pub(super) fn extended(
        &mut self,
        receipt: Receipt,
        extended: Extended,
        ttl: u64,
        now: Timestamp,
    ) -> Verdict {
        let holds = extended == Extended::Extended;
        if let Some(known) = self.fenced(receipt, holds, now)? {
            known.lease = Some((receipt.token, now.as_millis() + ttl));
        }
        Ok(())
    }

    /// The message, if the receipt was taken for its live lease, as it must have been or not (L4).
    fn fenced(
        &mut self,
        receipt: Receipt,
        taken: bool,
        now: Timestamp,
    ) -> Result<Option<&mut Known>, String> {
        let known = self.known.get_mut(&receipt.id);
        let live = known.as_ref().and_then(|known| known.live(now));
        require(taken == (live == Some(receipt.token)), || {
            let answer = if taken { "taken" } else { "refused" };
            format!("L4: {receipt:?} is {answer} at {now}, the live lease is {live:?}")
        })?;
        Ok(known.filter(|_| taken))
    }

    /// A bounded queue has this capacity from now on.
    pub(super) fn sized(&mut self, capacity: usize) {
        let unsettled = self.known.values().filter(|known| known.lease.is_some());
        self.bound = Some((unsettled.count() as u64).max(capacity as u64));
    }

    pub(super) fn look(&self, depth: Depth, counters: &Counters, now: Timestamp) -> Verdict {
        let Counters {
            accepted,
            depth: counted,
            ..
        } = *counters;
        let held = counted.ready + counted.delayed + counted.leased + counted.dead;
        let left = counters.acked + counters.evicted + counters.replaced + counters.cancelled;
        let left = left + counters.discarded + counters.trimmed + counters.purged;
        require(accepted == held + left, || {
            format!("L5: {accepted} accepted, {held} held and {left} gone")
        })?;
        require(accepted == self.accepted, || {
            format!("L5: {accepted} counted as accepted, {} were", self.accepted)
        })?;
        let live = self
            .known
            .values()
            .filter(|known| known.live(now).is_some());
        let live = live.count() as u64;
        require(depth.leased == live && counted.leased == live, || {
            format!(
                "L1: {live} leases are live, {} and {} answered",
                depth.leased, counted.leased
            )
        })?;
        let occupied = depth.ready + depth.delayed + depth.leased;
        require(self.bound.is_none_or(|bound| occupied <= bound), || {
            format!("B1: {occupied} messages, at most {:?} fit", self.bound)
        })
    }
}

/// What a careful client knows of a ring.
#[derive(Debug, Default)]
pub(super) struct RingRules {
    members: Vec<MessageId>,
}

impl RingRules {
    pub(super) fn inserted(&mut self, id: MessageId) {
        self.members.push(id);
    }

    pub(super) fn removed(&mut self, ids: &[MessageId]) {
        self.members.retain(|id| !ids.contains(id));
    }

    pub(super) fn visited(&self, ids: &[MessageId]) -> Verdict {
        for (at, id) in ids.iter().enumerate() {
            require(self.members.contains(id), || {
                format!("T2: {id} is visited, and is no member")
            })?;
            require(!ids[..at].contains(id), || {
                format!("T1: {id} is visited twice in one call")
            })?;
        }
        Ok(())
    }

    pub(super) fn listed(&self, ids: &[MessageId]) -> Verdict {
        self.visited(ids)?;
        require(ids.len() == self.members.len(), || {
            format!(
                "T1: {} items listed, {} are members",
                ids.len(),
                self.members.len()
            )
        })
    }
}
