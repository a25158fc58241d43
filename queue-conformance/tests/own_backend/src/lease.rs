//! Leasing messages, and ending their leases.

use std::time::Duration;

use queue_core::*;

use super::state::{Line, State};

impl State {
    /// Leases ready messages, in order, for `lease_time` milliseconds.
    pub(crate) fn lease(
        &mut self,
        max: usize,
        lease_time: u64,
        holder: Option<&Holder>,
        now: Timestamp,
    ) -> Leased {
        if self.counters.paused {
            return Leased::nothing(None);
        }
        if self.outdated(now).next().is_some() {
            // There were more outdated messages than `begin` ends: the caller polls again at once (L17).
            return Leased::nothing(Some(Duration::ZERO));
        }
        let sizes = self.ready.values().map(|id| self.messages[id].size());
        let count = limits::fitting(sizes, max);
        if count == 0 {
            let next = self.next_change();
            return Leased::nothing(next.map(|time| time.since(now)));
        }
        Leased::of(
            (0..count)
                .map(|_| self.grant(lease_time, holder, now))
                .collect(),
        )
    }

    fn grant(&mut self, lease_time: u64, holder: Option<&Holder>, now: Timestamp) -> Delivery {
        let (_, id) = self.ready.pop_first().expect("was counted");
        self.last_token = (self.last_token + 1).max(now.as_millis() * Token::PER_MILLI);
        let (token, deadline) = (Token::new(self.last_token), now.plus_millis(lease_time));
        self.leased.insert((deadline, id));
        let max_attempts = self.config.max_attempts;
        let stored = self.stored(id);
        stored.attempts += 1;
        stored.lease = Some((token, deadline));
        stored.holder = holder.cloned();
        stored.progress = None;
        let (receipt, time_left) = (Receipt::new(id, token), deadline.since(now));
        let body = stored.body.clone();
        let mut delivery = Delivery::new(receipt, stored.attempts, time_left, body);
        delivery.headers = stored.headers.clone();
        delivery.failure = stored.failure.clone();
        delivery.age = Some(token.leased_at().since(stored.pushed));
        delivery.last_attempt = stored.attempts >= max_attempts;
        delivery.state = Some(stored.state.clone())
            .filter(|state| !state.is_empty())
            .map(Box::new);
        delivery
    }
}

impl State {
    /// The deadline, if this receipt is the message's live lease (L4).
    fn live(&self, receipt: Receipt, now: Timestamp) -> Option<Timestamp> {
        let (token, deadline) = self.messages.get(&receipt.id)?.lease?;
        (token == receipt.token && now < deadline).then_some(deadline)
    }

    pub(crate) fn settle(&mut self, settlement: &Settlement, now: Timestamp) -> Settled {
        let id = settlement.receipt.id;
        let Some(deadline) = self.live(settlement.receipt, now) else {
            return Settled::LeaseLost;
        };
        self.leased.remove(&(deadline, id));
        let max_attempts = self.config.max_attempts;
        let stored = self.stored(id);
        stored.lease = None;
        if let Some(state) = &settlement.state {
            stored.state = Bytes::clone(state);
        }
        if let retry @ Disposition::Retry { .. } = &settlement.disposition {
            stored.failure = retry.failure().map(str::to_owned);
        }
        match &settlement.disposition {
            Disposition::Ack => {
                self.remove(id);
                self.counters.acked += 1;
            }
            Disposition::AckWith(kept) => {
                self.remove(id);
                self.counters.acked += 1;
                self.keep_result(id, kept, now);
            }
            Disposition::Retry { .. } if stored.attempts >= max_attempts => {
                self.die(id, DeathReason::Retried, now);
                return Settled::Dead;
            }
            Disposition::Retry { delay, .. } => {
                self.delayed
                    .insert((now.plus_millis(millis_ceil(*delay)), id));
                self.counters.retried += 1;
            }
            Disposition::Defer { delay } => {
                stored.attempts -= 1;
                self.delayed
                    .insert((now.plus_millis(millis_ceil(*delay)), id));
                self.counters.deferred += 1;
            }
            Disposition::Release => {
                stored.attempts -= 1;
                self.ready.insert(Line::Returned(id), id);
                self.counters.released += 1;
            }
            Disposition::Bury { reason } => {
                let reason = limits::cut_reason(reason).to_owned();
                self.die(id, DeathReason::Buried(reason), now);
                return Settled::Dead;
            }
        }
        Settled::Done
    }

    /// Stores a result, and drops those that are over or too many: the ones that end first (S2).
    fn keep_result(&mut self, id: MessageId, kept: &KeptResult, now: Timestamp) {
        let end = now.plus_millis(millis_ceil(kept.time));
        self.results.insert(id, (end, kept.result.clone()));
        self.results.retain(|_, (end, _)| now < *end);
        let ends = self.results.iter().map(|(id, (end, _))| (*end, *id));
        let mut ends: Vec<_> = ends.collect();
        ends.sort();
        let excess = ends.len().saturating_sub(kept.at_most.get() as usize);
        for (_, id) in ends.into_iter().take(excess.min(limits::MAX_BATCH)) {
            self.results.remove(&id);
        }
    }

    pub(crate) fn extend(
        &mut self,
        extension: &Extension,
        lease_time: u64,
        now: Timestamp,
    ) -> Extended {
        let receipt = extension.receipt;
        let Some(old) = self.live(receipt, now) else {
            return Extended::LeaseLost;
        };
        let new = now.plus_millis(lease_time);
        self.leased.remove(&(old, receipt.id));
        self.leased.insert((new, receipt.id));
        let stored = self.stored(receipt.id);
        stored.lease = Some((receipt.token, new));
        if extension.progress.is_some() {
            stored.progress.clone_from(&extension.progress);
        }
        if let Some(state) = &extension.state {
            stored.state = state.clone();
        }
        Extended::Extended
    }
}
