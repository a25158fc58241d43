//! Queues that are divided into parts, so that one queue uses a whole cluster.

mod backend;
mod guarantees;
mod ids;
mod key;
mod leasing;
mod listing;
mod looking;
mod names;
mod parts;
mod pushing;
mod record;
mod rota;
mod service;
mod settling;
mod shares;
mod slot;
mod split;
mod waiting;

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use crate::{Backend, Error, Result};

/// A backend whose queues are divided into parts, so that one queue uses a whole cluster: each part is
/// a queue of another backend, on a node of its own.
#[derive(Debug, Clone)]
pub struct Partitioned {
    backend: Arc<dyn Backend>,
    parts: usize,
    /// The part at which each handle's round begins.
    first: usize,
}

impl Partitioned {
    /// The header that names a message's partition key.
    pub const KEY: &str = pushing::PARTITION_KEY;

    /// The most parts that a queue may have.
    pub const MAX_PARTS: usize = names::MAX_PARTS;

    /// Divides each queue of this backend into so many parts.
    ///
    /// # Errors
    ///
    /// `Invalid` for no part, or for more than 64.
    pub fn new(backend: Arc<dyn Backend>, parts: usize) -> Result<Self> {
        if !(1..=Self::MAX_PARTS).contains(&parts) {
            return Err(Error::invalid(format!(
                "{parts} parts: 1 to {} are allowed",
                Self::MAX_PARTS
            )));
        }
        // Each process begins elsewhere: those that push a single message are many.
        let any = RandomState::new().hash_one(parts);
        let first = usize::try_from(any % parts as u64).unwrap_or_default();
        Ok(Self {
            backend,
            parts,
            first,
        })
    }

    /// Begins each handle's round at this part, counted from 0 and taken modulo their number, in place
    /// of a random one: so that a test or a simulation is the same whenever it runs.
    #[must_use]
    pub const fn beginning_at(mut self, part: usize) -> Self {
        self.first = part % self.parts;
        self
    }
}
