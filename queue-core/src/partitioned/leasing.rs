//! Leases, which go round the partitions.

use std::{iter, num::NonZeroUsize, time::Duration};

use tokio::time::Instant;

use super::{
    ids,
    partitions::Partitions,
    round_robin::Round,
    settling,
    split::{Answers, half_way, split},
};
use crate::{
    Delivery, Error, Holder, Leased, Outcome, Result, Settled, Settlement, call::Call, limits,
    millis_ceil,
};

impl Partitions {
    pub(super) async fn lease(&self, max: NonZeroUsize, lease_time: Duration) -> Result<Leased> {
        limits::check_max(max.get())?;
        limits::lease_millis(lease_time)?;
        let mut haul = Haul::new(max, lease_time, None);
        self.fill(&mut haul, &mut self.round_robin.round(iter::empty()))
            .await;
        haul.landed()
    }

    /// Settles in the other partitions first, then settles and leases in one call to one partition. That
    /// partition is one with settlements, unless the round begins with another. Nothing is leased before all
    /// other settlements have succeeded, so that a failed settlement strands no message.
    pub(super) async fn settle_and_lease(
        &self,
        settlements: Vec<Settlement>,
        max: NonZeroUsize,
        lease_time: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        Settlement::check_all(&settlements)?;
        limits::check_max(max.get())?;
        limits::lease_millis(lease_time)?;
        let count = settlements.len();
        let mut shares = split(settlements, settling::in_partition);
        let at_hand = shares.iter().map(|share| share.partition);
        let at_hand = at_hand.filter(|partition| *partition < self.count());
        let mut round = self.round_robin.round(at_hand);
        let mut haul = Haul::new(max, lease_time, holder);
        let mut answers = Answers::to(count);
        if let Some(partition) = round.next(false) {
            let here = shares.iter().position(|share| share.partition == partition);
            let here = here.map(|place| shares.swap_remove(place));
            let others = !shares.is_empty();
            self.settle_shares(shares, &mut answers).await?;
            if let Some(share) = here {
                self.will_settle(&share);
                let settled = self.poll(partition, share.entries, &mut haul).await;
                let settled = settled.map_err(|error| half_way(error, others))?;
                answers.put(&share.places, settled)?;
            } else if let Err(error) = self.poll(partition, Vec::new(), &mut haul).await {
                haul.failed(error);
            }
        }
        self.fill(&mut haul, &mut round).await;
        let leased = haul.landed().map_err(|error| half_way(error, count > 0))?;
        Ok((answers.all()?, leased))
    }

    /// Leases from one partition after another, until there are enough messages. Calls at the same time would
    /// lease too many, because each partition would lease as many as are asked for.
    async fn fill(&self, haul: &mut Haul, round: &mut Round<'_>) {
        while haul.wants().is_some()
            && let Some(partition) = round.next(haul.found())
        {
            if let Err(error) = self.poll(partition, Vec::new(), haul).await {
                haul.failed(error);
            }
        }
    }

    /// Settles and leases in one partition.
    async fn poll(
        &self,
        partition: usize,
        settlements: Vec<Settlement>,
        haul: &mut Haul,
    ) -> Result<Vec<Settled>> {
        let (begun, wanted) = (Instant::now(), haul.wants().unwrap_or(haul.max));
        self.round_robin.asks(partition);
        let alone = settlements.is_empty() && haul.holder.is_none();
        let answered = if alone {
            let leased = self
                .call::<Leased>(partition, Call::Lease(wanted, haul.lease_time))
                .await;
            leased.map(|leased| (Vec::new(), leased))
        } else {
            let call =
                Call::SettleAndLease(settlements, wanted, haul.lease_time, haul.holder.clone());
            self.call(partition, call).await
        };
        let took_all = |(_, leased): &(_, Leased)| leased.deliveries.len() < wanted.get();
        // A partition that fails comes last in later rounds.
        self.round_robin
            .polled(partition, answered.as_ref().map_or(true, took_all));
        let (settled, leased) = answered?;
        haul.take(partition, leased, begun);
        Ok(settled)
    }
}

/// The messages that a lease has got from the partitions so far.
#[derive(Debug)]
struct Haul {
    max: NonZeroUsize,
    lease_time: Duration,
    holder: Option<Holder>,
    deliveries: Vec<Delivery>,
    bytes: usize,
    /// The time at which something changes without a call in one of the partitions.
    next: Option<Instant>,
    failure: Option<Error>,
}

impl Haul {
    const fn new(max: NonZeroUsize, lease_time: Duration, holder: Option<Holder>) -> Self {
        Self {
            max,
            lease_time,
            holder,
            deliveries: Vec::new(),
            bytes: 0,
            next: None,
            failure: None,
        }
    }

    const fn found(&self) -> bool {
        !self.deliveries.is_empty()
    }

    /// How many more messages to lease; `None` if there are enough.
    fn wants(&self) -> Option<NonZeroUsize> {
        let more = NonZeroUsize::new(self.max.get().saturating_sub(self.deliveries.len()));
        more.filter(|_| self.bytes < limits::MAX_BATCH_BYTES)
    }

    fn take(&mut self, partition: usize, mut leased: Leased, begun: Instant) {
        for delivery in &mut leased.deliveries {
            delivery.receipt = ids::whole_receipt(partition, delivery.receipt);
            self.bytes += delivery.size();
        }
        if self.deliveries.is_empty() {
            self.deliveries = leased.deliveries;
        } else {
            self.deliveries.append(&mut leased.deliveries);
        }
        let next = leased.next.and_then(|next| begun.checked_add(next));
        self.next = [self.next, next].into_iter().flatten().min();
    }

    fn failed(&mut self, error: Error) {
        let unknown = self
            .failure
            .as_ref()
            .is_some_and(|first| first.outcome() == Outcome::Unknown);
        let unknown = unknown || error.outcome() == Outcome::Unknown;
        self.failure = Some(half_way(self.failure.take().unwrap_or(error), unknown));
    }

    /// The messages that were found. If there are none and a partition failed, returns its error, because
    /// that partition may have messages.
    fn landed(self) -> Result<Leased> {
        if self.found() {
            return Ok(Leased::of(self.deliveries));
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let until = |next: Instant| {
            let until = next.saturating_duration_since(Instant::now());
            Duration::from_millis(millis_ceil(until))
        };
        Ok(Leased::nothing(self.next.map(until)))
    }
}
