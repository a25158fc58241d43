//! An operator of queues in use: it removes, opens, reconfigures, pauses and lists them.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use queue_core::*;

use super::rounds::{Chance, all_flow};
use crate::{
    ground::at_last,
    traffic::{Traffic, config},
};

/// Longer than a round: the operator's leases are live when the queue is removed.
const HELD: Duration = Duration::from_secs(3600);
/// How long a queue is paused, and the most between two acts.
const MOMENT: Duration = Duration::from_millis(20);

/// A queue that an operator manages.
#[derive(Clone)]
pub(super) struct Managed {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) flow: Arc<Traffic>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Remove,
    Reconfigure,
    Open,
    Pause,
}

/// One after another in a random order.
pub(super) const ACTS: [Act; 6] = [
    Act::Remove,
    Act::Remove,
    Act::Remove,
    Act::Reconfigure,
    Act::Open,
    Act::Pause,
];

impl Managed {
    pub(super) async fn act(&self, act: Act, chance: &mut Chance) {
        println!("{act:?} {}", self.name());
        let held = match act {
            Act::Remove => self.remove().await,
            Act::Reconfigure => self.reconfigure(chance).await,
            Act::Open => self.open().await,
            Act::Pause => self.pause().await,
        };
        all_flow(std::slice::from_ref(&self.flow), "flow after that").await;
        self.is_listed().await;
        self.settles_nothing(&held).await;
        tokio::time::sleep(MOMENT.mul_f64(chance.below(100) as f64 / 100.0)).await;
    }

    /// Removes the queue with all leased messages. Returns the receipts of the operator's leases.
    async fn remove(&self) -> Vec<Receipt> {
        let ledger = self.flow.ledger();
        let most = NonZeroUsize::new(4).expect("it is 4");
        let held = self.flow.observer().lease(most, HELD).await;
        let held = held.unwrap_or_default();
        ledger.removal_begins();
        at_last(|| self.backend.remove(self.name(), Removal::EvenIfLeased)).await;
        ledger.removal_is_over();
        held.deliveries.iter().map(|one| one.receipt).collect()
    }

    /// No receipt of a removed queue settles (R1). The call comes last, because it creates the queue again
    /// like any other call.
    async fn settles_nothing(&self, held: &[Receipt]) {
        let acks: Vec<Settlement> = held.iter().copied().map(Settlement::ack).collect();
        if acks.is_empty() {
            return;
        }
        let observer = self.flow.observer();
        let settled = at_last(|| observer.settle(&acks)).await;
        assert!(
            settled.iter().all(|one| *one == Settled::LeaseLost),
            "R1: {held:?} of the removed {} settled: {settled:?}",
            self.name()
        );
    }

    pub(super) fn name(&self) -> &QueueName {
        &self.flow.queue().name
    }

    fn kind(&self) -> QueueKind {
        self.flow.queue().kind()
    }

    fn config(&self, chance: &mut Chance) -> QueueConfig {
        let mut config = config(self.kind());
        if let Some(leasing) = config.leasing_mut() {
            leasing.max_attempts -= chance.below(3) as u32;
            leasing.dead_letter_cap += chance.below(3) as u64;
        }
        config
    }

    async fn reconfigure(&self, chance: &mut Chance) -> Vec<Receipt> {
        let config = self.config(chance);
        at_last(|| self.backend.reconfigure(self.name(), &config)).await;
        Vec::new()
    }

    /// Opens it as it is first opened, and as it is stored.
    async fn open(&self) -> Vec<Receipt> {
        let config = config(self.kind());
        at_last(|| async {
            match self.backend.open(self.name(), &config).await {
                // It was reconfigured.
                Err(error) if error.kind() == ErrorKind::ConfigMismatch => Ok(()),
                opened => opened.map(drop),
            }
        })
        .await;
        at_last(|| self.backend.open_stored(self.name())).await;
        Vec::new()
    }

    async fn pause(&self) -> Vec<Receipt> {
        let leasing = self.flow.observer();
        at_last(|| leasing.pause()).await;
        tokio::time::sleep(MOMENT).await;
        at_last(|| leasing.resume()).await;
        Vec::new()
    }

    /// A queue that has just taken messages is in the list.
    async fn is_listed(&self) {
        let most = NonZeroUsize::new(limits::MAX_PAGE).expect("it is positive");
        let listed = at_last(|| self.backend.queues(None, most)).await;
        let is_it = |info: &QueueInfo| info.name == *self.name() && info.kind == self.kind();
        assert!(
            listed.iter().any(is_it),
            "{} exists and is not listed: {listed:?}",
            self.name()
        );
    }
}
