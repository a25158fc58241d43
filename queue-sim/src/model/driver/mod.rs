//! A queue and its model, side by side.

mod bounded;
mod clock;
mod delay;
mod divergence;
mod goals;
mod leasing;
mod operator;
mod priority;
mod reliable;
mod rotating;

use std::{collections::BTreeSet, fmt::Debug, sync::Arc};

use async_trait::async_trait;
use queue_core::{Cursor, QueueName, Result};

pub use self::{
    bounded::BoundedDriver,
    delay::DelayDriver,
    divergence::{Diverged, Divergence},
    priority::PriorityDriver,
    reliable::ReliableDriver,
    rotating::RotatingDriver,
};
use self::{clock::Clock, goals::Goals};
use super::{op::Seen, rules::Rules};
use queue_conformance::Harness;

/// Applies operations to a queue and to its model, and compares.
#[async_trait]
pub trait Drive: Sized + Debug + Send {
    /// The kind's configuration.
    type Config: Debug + Send + Sync;
    /// The kind's operations.
    type Op: Debug + Send + Sync;

    /// What cases must reach, all together: a comparison in which one of these never happened is
    /// worth little.
    fn goals() -> BTreeSet<&'static str>;

    /// Which of them happened so far.
    fn reached(&self) -> &BTreeSet<&'static str>;

    /// Opens a fresh queue of this harness's backend, and another to read its clock from.
    ///
    /// # Errors
    ///
    /// Those of the backend.
    async fn open(harness: Arc<dyn Harness>, config: &Self::Config) -> Result<Self>;

    /// Applies one operation to both and compares the answers; then depth and counters, unless
    /// the operation is one that reclaims nothing.
    ///
    /// # Errors
    ///
    /// The first difference, or the rule that an answer breaks. The driver is of no use then.
    async fn apply(&mut self, op: &Self::Op) -> Result<(), Diverged>;

    /// Applies operations one after another.
    ///
    /// # Errors
    ///
    /// The first difference, and at which operation.
    async fn run(&mut self, ops: &[Self::Op]) -> Result<(), Divergence> {
        for (step, op) in ops.iter().enumerate() {
            let applied = self.apply(op).await;
            applied.map_err(|diverged| Divergence::new(step, op, diverged))?;
        }
        Ok(())
    }
}

/// A leasing queue and its model.
///
/// The backend's clock must only move by [`Harness::advance`], and the queue must be nobody
/// else's.
#[derive(Debug)]
pub struct Driver<M, Q: ?Sized> {
    queue: Arc<Q>,
    model: M,
    clock: Clock,
    seen: Seen,
    rules: Rules,
    /// Where the last page of dead letters ended: the model's cursor, and the queue's.
    page_end: Option<(Cursor, Cursor)>,
    goals: Goals,
}

impl<M, Q: ?Sized> Driver<M, Q> {
    fn new(queue: Arc<Q>, model: M, clock: Clock) -> Self {
        Self {
            queue,
            model,
            clock,
            seen: Seen::default(),
            rules: Rules::default(),
            page_end: None,
            goals: Goals::default(),
        }
    }
}

fn name() -> Result<QueueName> {
    QueueName::new("model")
}
