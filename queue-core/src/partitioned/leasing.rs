//! Leases, which go round the parts.

use std::{iter, num::NonZeroUsize, time::Duration};

use tokio::time::Instant;

use super::{
    ids,
    parts::Parts,
    rota::Round,
    settling,
    split::{Answers, half_way, split},
};
use crate::{
    Delivery, Error, Holder, Leased, Outcome, Result, Settled, Settlement, call::Call, limits,
    millis_ceil,
};

impl Parts {
    pub(super) async fn lease(&self, max: NonZeroUsize, ttl: Duration) -> Result<Leased> {
        limits::check_max(max.get())?;
        limits::lease_millis(ttl)?;
        let mut haul = Haul::new(max, ttl, None);
        self.fill(&mut haul, &mut self.rota.round(iter::empty()))
            .await;
        haul.landed()
    }

    /// Settles in the other parts first, then settles and leases in one call: in a part that settlements
    /// are of, unless another's turn has come. It leases nothing before all other
    /// settlements have answered, so that the error of one strands no message.
    pub(super) async fn turn(
        &self,
        settlements: Vec<Settlement>,
        max: NonZeroUsize,
        ttl: Duration,
        holder: Option<Holder>,
    ) -> Result<(Vec<Settled>, Leased)> {
        Settlement::check_all(&settlements)?;
        limits::check_max(max.get())?;
        limits::lease_millis(ttl)?;
        let count = settlements.len();
        let mut shares = split(settlements, settling::in_part);
        let at_hand = shares.iter().map(|share| share.part);
        let at_hand = at_hand.filter(|part| *part < self.count());
        let mut round = self.rota.round(at_hand);
        let mut haul = Haul::new(max, ttl, holder);
        let mut answers = Answers::to(count);
        if let Some(part) = round.next(false) {
            let here = shares.iter().position(|share| share.part == part);
            let here = here.map(|place| shares.swap_remove(place));
            let others = !shares.is_empty();
            self.settle_shares(shares, &mut answers).await?;
            if let Some(share) = here {
                self.will_settle(&share);
                let settled = self.look(part, share.entries, &mut haul).await;
                let settled = settled.map_err(|error| half_way(error, others))?;
                answers.put(&share.places, settled)?;
            } else if let Err(error) = self.look(part, Vec::new(), &mut haul).await {
                haul.failed(error);
            }
        }
        self.fill(&mut haul, &mut round).await;
        let leased = haul.landed().map_err(|error| half_way(error, count > 0))?;
        Ok((answers.all()?, leased))
    }

    /// Looks at one part after another, until there is enough. At the same time would be too much: each
    /// would lease as many as are asked for.
    async fn fill(&self, haul: &mut Haul, round: &mut Round<'_>) {
        while haul.wants().is_some()
            && let Some(part) = round.next(haul.found())
        {
            if let Err(error) = self.look(part, Vec::new(), haul).await {
                haul.failed(error);
            }
        }
    }

    /// Settles and leases in one part.
    async fn look(
        &self,
        part: usize,
        settlements: Vec<Settlement>,
        haul: &mut Haul,
    ) -> Result<Vec<Settled>> {
        let (begun, wanted) = (Instant::now(), haul.wants().unwrap_or(haul.max));
        self.rota.asks(part);
        let alone = settlements.is_empty() && haul.holder.is_none();
        let answered = if alone {
            let leased = self
                .call::<Leased>(part, Call::Lease(wanted, haul.ttl))
                .await;
            leased.map(|leased| (Vec::new(), leased))
        } else {
            let turn = Call::Turn(settlements, wanted, haul.ttl, haul.holder.clone());
            self.call(part, turn).await
        };
        let took_all = |(_, leased): &(_, Leased)| leased.deliveries.len() < wanted.get();
        // A part that fails is looked at last.
        self.rota
            .looked(part, answered.as_ref().map_or(true, took_all));
        let (settled, leased) = answered?;
        haul.take(part, leased, begun);
        Ok(settled)
    }
}

/// What a lease has got from the parts so far.
#[derive(Debug)]
struct Haul {
    max: NonZeroUsize,
    ttl: Duration,
    holder: Option<Holder>,
    deliveries: Vec<Delivery>,
    bytes: usize,
    /// When something changes by itself in one of the parts.
    next: Option<Instant>,
    failure: Option<Error>,
}

impl Haul {
    const fn new(max: NonZeroUsize, ttl: Duration, holder: Option<Holder>) -> Self {
        Self {
            max,
            ttl,
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

    fn take(&mut self, part: usize, mut leased: Leased, begun: Instant) {
        for delivery in &mut leased.deliveries {
            delivery.receipt = ids::whole_receipt(part, delivery.receipt);
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

    /// What was found. If nothing was and a part did not answer, nobody knows whether there is
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
