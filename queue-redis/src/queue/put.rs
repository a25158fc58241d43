//! Putting messages in: small batches that come at the same time go as one call.

use std::{
    fmt::{self, Debug},
    sync::Arc,
};

use async_trait::async_trait;
use queue_core::{Error, Result};

use super::Handle;
use crate::coalescer::{Coalescer, Verb};

/// A way of putting messages into a kind of queue.
#[async_trait]
pub(crate) trait Put: Send + Sync + 'static {
    /// A message as it is put in.
    type Entry: Clone + Send + Sync + 'static;
    /// What became of it.
    type Answer: Clone + Send + Sync + 'static;

    /// Sends one batch, and answers each entry in order.
    async fn put(&self, handle: &Handle, entries: &[Self::Entry]) -> Result<Vec<Self::Answer>>;

    /// The bytes of an entry that count towards a batch's limit.
    fn size(entry: &Self::Entry) -> usize;
}

/// All ways of putting messages into one queue.
pub(crate) trait Putters: Debug + Send + Sync + 'static {
    fn new(handle: &Arc<Handle>) -> Self;
}

/// Puts messages into one queue in one way.
pub(crate) struct Putter<P: Put>(Coalescer<Here<P>>);

/// A way of putting, and where.
struct Here<P> {
    put: P,
    handle: Arc<Handle>,
}

impl<P: Put> Putter<P> {
    pub(super) fn of(put: P, handle: &Arc<Handle>) -> Self {
        let spawn = Arc::clone(handle.spawn());
        let patience = handle.client().response_timeout();
        let handle = Arc::clone(handle);
        Self(Coalescer::new(Here { put, handle }, patience, spawn))
    }

    /// Puts in a batch that was checked before.
    pub(super) async fn put(&self, entries: &[P::Entry]) -> Result<Vec<P::Answer>> {
        self.0.send(entries).await
    }
}

impl<P: Put + Default> Putters for Putter<P> {
    fn new(handle: &Arc<Handle>) -> Self {
        Self::of(P::default(), handle)
    }
}

#[async_trait]
impl<P: Put> Verb for Here<P> {
    type Entry = P::Entry;
    type Answer = P::Answer;

    async fn send(&self, entries: &[P::Entry]) -> Result<Vec<P::Answer>> {
        self.put.put(&self.handle, entries).await
    }

    fn size(entry: &P::Entry) -> usize {
        P::size(entry)
    }

    async fn ready(&self) -> Result<()> {
        let ready = self.handle.client().ready().await;
        ready.map_err(|error| self.handle.name(error))
    }

    fn unsent(&self) -> Error {
        self.handle.name(self.handle.client().unsent())
    }
}

impl<P: Put> Debug for Putter<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Putter").finish_non_exhaustive()
    }
}
