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

    /// Settles in the other partitions first, then settles and leases in one call: in a partition that settlements
    /// are of, unless another's turn has come. It leases nothing before all other
    /// settlements have answered, so that the error of one strands no message.
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
                let settled = self.look(partition, share.entries, &mut haul).await;
                let settled = settled.map_err(|error| half_way(error, others))?;
                answers.put(&share.places, settled)?;
            } else if let Err(error) = self.look(partition, Vec::new(), &mut haul).await {
                haul.failed(error);
            }
        }
        self.fill(&mut haul, &mut round).await;
        let leased = haul.landed().map_err(|error| half_way(error, count > 0))?;
        Ok((answers.all()?, leased))
    }

    /// Looks at one partition after another, until there is enough. At the same time would be too much: each
    /// would lease as many as are asked for.
    async fn fill(&self, haul: &mut Haul, round: &mut Round<'_>) {
        while haul.wants().is_some()
            && let Some(partition) = round.next(haul.found())
        {
            if let Err(error) = self.look(partition, Vec::new(), haul).await {
                haul.failed(error);
            }
        }
    }

    /// Settles and leases in one partition.
    async fn look(
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
            let turn =
                Call::SettleAndLease(settlements, wanted, haul.lease_time, haul.holder.clone());
            self.call(partition, turn).await
        };
        let took_all = |(_, leased): &(_, Leased)| leased.deliveries.len() < wanted.get();
        // A partition that fails is looked at last.
        self.round_robin
            .looked(partition, answered.as_ref().map_or(true, took_all));
        let (settled, leased) = answered?;
        haul.take(partition, leased, begun);
        Ok(settled)
    }
}

/// What a lease has got from the partitions so far.
#[derive(Debug)]
struct Haul {
    max: NonZeroUsize,
    lease_time: Duration,
    holder: Option<Holder>,
    deliveries: Vec<Delivery>,
    bytes: usize,
    /// When something changes by itself in one of the partitions.
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

    /// How many more it takes; `None` if it is enough.
    fn wants(&self) -> Option<NonZeroUsize> {
        let more = NonZeroUsize::new(self.max.get().saturating_sub(self.deliveries.len()));
        more.filter(|_| self.bytes < limits::MAX_BATCH_BYTES)
    }

    fn take(&mut self, partition: usize, mut leased: Leased, begun: Instant) {
        for delivery in &mut leased.deliveries {
            delivery.receipt = ids::whole_receipt(partition, delivery.receipt);
            self.bytes += delivery.body.len() + delivery.headers.size();
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

    /// What was found. If nothing was and a partition did not answer, nobody knows whether there is
    /// anything.
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
