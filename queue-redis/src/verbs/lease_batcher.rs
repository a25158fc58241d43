//! The leases of several callers in one call.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future;
use queue_core::{Disposition, Error, Holder, Leased, Result, Settled, Settlement, limits};
use redis_link::batching::{BatchLimit, Batcher, SMALL, SendBatch, is_for_one_caller};
use tokio::time::Instant;

use super::{
    BATCH,
    settle_and_lease::{LeaseCall, SettleAndLease, SettledAndLeased},
};

/// Sends the `settle_and_lease` requests of one queue, each in its own call or several in one.
///
/// Only acks and leases are combined, and only if every lease gets as many messages as it asks for. So the replies are
/// the same as if the callers had called one after another. Acks do not change which messages are ready, and no reply
/// contains the time until the next change. If a combined call fails by an error that may be of one request alone, each
/// request is sent in a call of its own.
#[derive(Debug)]
pub(super) struct LeaseBatcher {
    batcher: Batcher<SettleAndLease>,
    has_solo_call: AtomicBool,
}

impl LeaseBatcher {
    pub(super) fn new(verb: SettleAndLease) -> Self {
        let patience = verb.handle().client().response_timeout();
        let spawn = Arc::clone(&verb.handle().context().spawn);
        Self {
            batcher: Batcher::new(verb, patience, spawn),
            has_solo_call: AtomicBool::new(false),
        }
    }

    /// The verb, for a request that is sent in a call of its own.
    pub(super) fn verb(&self) -> &SettleAndLease {
        self.batcher.sender()
    }

    /// Sends a request, perhaps combined with others.
    pub(super) async fn submit(&self, request: LeaseCall<'_>) -> Result<SettledAndLeased> {
        let solo = match self.batcher.is_busy() {
            true => None,
            false => SoloGuard::first(&self.has_solo_call),
        };
        let batched = match solo {
            Some(_) => None,
            None => BatchedCall::of(request),
        };
        match batched {
            Some(batched) => {
                let answer = self.batcher.submit(vec![batched]).await?.pop();
                answer.ok_or_else(Error::unanswered)?
            }
            // Boxed, so that the futures of the other callers are small.
            None => Box::pin(self.verb().send_direct(request)).await,
        }
    }
}

/// Marks a direct call in progress. A request that comes while there is none is sent directly, so a lone consumer does
/// not pay for batching.
struct SoloGuard<'a>(&'a AtomicBool);

impl<'a> SoloGuard<'a> {
    fn first(has_one: &'a AtomicBool) -> Option<Self> {
        (!has_one.swap(true, Ordering::Relaxed)).then(|| Self(has_one))
    }
}

impl Drop for SoloGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A request that may be batched with others: it only acks, and then leases.
#[derive(Debug, Clone)]
pub(crate) struct BatchedCall {
    acks: Vec<Settlement>,
    max: usize,
    lease_time: Duration,
    holder: Option<Holder>,
}

impl BatchedCall {
    /// This request, if it may be batched and gains from it.
    fn of(request: LeaseCall<'_>) -> Option<Self> {
        let acks = |each: &Settlement| each.disposition == Disposition::Ack;
        let is_small = request.settlements.len() <= SMALL && request.max <= SMALL;
        (is_small && request.settlements.iter().all(acks)).then(|| Self {
            acks: request.settlements.to_vec(),
            max: request.max,
            lease_time: request.lease_time,
            holder: request.holder.cloned(),
        })
    }

    fn as_call(&self) -> LeaseCall<'_> {
        LeaseCall {
            settlements: &self.acks,
            max: self.max,
            lease_time: self.lease_time,
            holder: self.holder.as_ref(),
        }
    }

    /// Whether both requests fit one call: same lease time, same holder.
    fn agrees_with(&self, other: &Self) -> bool {
        self.max == 0
            || other.max == 0
            || self.lease_time == other.lease_time && self.holder == other.holder
    }
}

#[async_trait]
impl SendBatch for SettleAndLease {
    type Request = BatchedCall;
    /// One request may fail while others succeed.
    type Reply = Result<SettledAndLeased>;

    const MOST: BatchLimit = BATCH;

    async fn send_batch(&self, requests: &[BatchedCall]) -> Result<Vec<Result<SettledAndLeased>>> {
        let mut calls: Vec<CombinedCall<'_>> = Vec::new();
        for request in requests {
            match calls.last_mut().filter(|call| call.fits(request)) {
                Some(call) => call.add(request),
                None => calls.push(CombinedCall::of(request)),
            }
        }
        let answers = future::join_all(calls.iter().map(|call| self.send_combined(call))).await;
        Ok(answers.into_iter().flatten().collect())
    }

    fn size(request: &BatchedCall) -> usize {
        size_of_val(&request.acks[..])
    }

    async fn give_back(&self, answers: Vec<Result<SettledAndLeased>>) {
        let leased = answers.into_iter().flatten();
        let deliveries = leased.flat_map(|(_, leased)| leased.deliveries);
        self.release(deliveries.collect()).await;
    }

    async fn ready(&self) -> Result<()> {
        self.handle().ready().await
    }

    fn held_up(&self) -> Option<Instant> {
        self.handle().client().held_up()
    }

    fn unsent(&self) -> Error {
        self.handle().unsent()
    }
}

/// Requests that are sent in one call.
#[derive(Debug, Default)]
struct CombinedCall<'a> {
    requests: Vec<&'a BatchedCall>,
    acks: Vec<Settlement>,
    max: usize,
    /// The first request that leases; the other leasing requests agree with it.
    leasing: Option<&'a BatchedCall>,
}

impl<'a> CombinedCall<'a> {
    fn of(request: &'a BatchedCall) -> Self {
        let mut call = Self::default();
        call.add(request);
        call
    }

    fn fits(&self, request: &BatchedCall) -> bool {
        self.leasing
            .is_none_or(|leasing| leasing.agrees_with(request))
            && self.acks.len() + request.acks.len() <= limits::MAX_BATCH
            && self.max + request.max <= limits::MAX_BATCH
    }

    fn add(&mut self, request: &'a BatchedCall) {
        self.requests.push(request);
        self.acks.extend_from_slice(&request.acks);
        self.max += request.max;
        if request.max > 0 {
            self.leasing.get_or_insert(request);
        }
    }
}

/// Gives each request the number of messages that it asked for, in the order of arrival.
fn deal(
    requests: &[&BatchedCall],
    settled: Vec<Settled>,
    leased: Leased,
) -> Vec<Result<SettledAndLeased>> {
    let mut settled = settled.into_iter();
    let mut deliveries = leased.deliveries.into_iter();
    let deal = |request: &&BatchedCall| {
        let settled = settled.by_ref().take(request.acks.len()).collect();
        let leased = Leased::of(deliveries.by_ref().take(request.max).collect());
        Ok((settled, leased))
    };
    requests.iter().map(deal).collect()
}

impl SettleAndLease {
    async fn send_combined(&self, call: &CombinedCall<'_>) -> Vec<Result<SettledAndLeased>> {
        let CombinedCall {
            requests,
            acks,
            max,
            leasing,
        } = call;
        if let [request] = requests[..] {
            return vec![self.send_direct(request.as_call()).await];
        }
        let request = LeaseCall {
            settlements: acks,
            max: *max,
            lease_time: leasing.map_or(Duration::ZERO, |request| request.lease_time),
            holder: leasing.and_then(|request| request.holder.as_ref()),
        };
        match self.send(request, *max > 0).await {
            Ok(Some((settled, leased))) => deal(requests, settled, leased),
            Err(error) if !is_for_one_caller(&error) => {
                requests.iter().map(|_| Err(error.clone())).collect()
            }
            Ok(None) | Err(_) => {
                let requests = requests.iter().copied();
                let direct = requests.map(|request| self.send_direct(request.as_call()));
                future::join_all(direct).await
            }
        }
    }
}
