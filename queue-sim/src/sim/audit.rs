//! Reads the queues of a run from outside: the messages left in them, and their counters.

use std::{collections::BTreeMap, sync::Arc};

use queue_core::{
    Backend, Counters, DeathReason, Leasing, MessageId, Page, QueueName, Result, limits,
};

use super::builder::Sim;

/// The messages left in the queues of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    Nothing,
    /// Nothing but delayed messages.
    Later,
    Something,
}

/// The queues of a run, seen from outside.
pub(super) struct Audit {
    leasing: Vec<(QueueName, Arc<dyn Leasing>)>,
}

impl Audit {
    pub(super) async fn open(sim: &Sim, backend: &dyn Backend) -> Result<Self> {
        let mut leasing: Vec<(QueueName, Arc<dyn Leasing>)> = Vec::new();
        for (name, config) in &sim.queues {
            let name = QueueName::new(name)?;
            let queue = backend.open(&name, config).await?;
            leasing.extend(queue.leasing().map(|queue| (name, queue)));
        }
        Ok(Self { leasing })
    }

    pub(super) async fn left(&self) -> Result<Left> {
        let mut left = Left::Nothing;
        for (_, queue) in &self.leasing {
            let depth = queue.depth().await?;
            if depth.ready + depth.leased > 0 {
                return Ok(Left::Something);
            }
            if depth.delayed > 0 {
                left = Left::Later;
            }
        }
        Ok(left)
    }

    pub(super) async fn dead(&self) -> Result<BTreeMap<(QueueName, MessageId), DeathReason>> {
        let mut dead = BTreeMap::new();
        for (name, queue) in &self.leasing {
            let mut page = Page::first(limits::MAX_PAGE);
            loop {
                let letters = queue.dead_letters(page).await?;
                for letter in letters.entries {
                    dead.insert((name.clone(), letter.id), letter.reason);
                }
                match letters.next {
                    Some(next) => page = Page::after(next, limits::MAX_PAGE),
                    None => break,
                }
            }
        }
        Ok(dead)
    }

    /// Each queue's counters so far.
    pub(super) async fn counters(&self) -> Result<BTreeMap<QueueName, Counters>> {
        let mut counters = BTreeMap::new();
        for (name, queue) in &self.leasing {
            counters.insert(name.clone(), queue.counters().await?);
        }
        Ok(counters)
    }
}
