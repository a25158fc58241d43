//! A store of once keys: its state behind one lock, and its clock. No call waits.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{
    Claim, Error, ErrorKind, OnceCounts, OnceStore, QueueName, Result, Timestamp, Token, limits,
};

use crate::{
    clock::MemoryClock,
    state::{ClaimLost, OnceKeys},
};

/// One store, shared by all its handles.
#[derive(Debug)]
pub(crate) struct OnceHandle {
    name: QueueName,
    clock: MemoryClock,
    // A std lock: a call holds it for its work, and never across an await.
    keys: Mutex<OnceKeys>,
}

impl OnceHandle {
    pub(crate) fn new(name: QueueName, clock: MemoryClock) -> Self {
        Self {
            name,
            clock,
            keys: Mutex::default(),
        }
    }

    fn call<R>(&self, work: impl FnOnce(&mut OnceKeys, Timestamp) -> R) -> Result<R> {
        // The clock is read before the lock, so that no other call waits for it; the state keeps time from
        // going back.
        let now = self.clock.now();
        step!();
        let mut keys = self.keys.lock().map_err(|_: PoisonError<_>| {
            let message = "an earlier call panicked half-way, so its keys cannot be trusted";
            Error::new(ErrorKind::Internal, message).with_once(&self.name)
        })?;
        Ok(work(&mut keys, now))
    }

    #[cfg(feature = "journal")]
    pub(crate) fn entries(&self) -> Result<usize> {
        self.call(|keys, _| keys.entries())
    }

    /// The state as bytes.
    #[cfg(feature = "journal")]
    pub(crate) fn save(&self) -> Result<Vec<u8>> {
        use crate::coded::Coded;

        self.call(|keys, _| {
            let mut bytes = Vec::new();
            keys.put(&mut bytes);
            bytes
        })
    }

    /// A store with this state.
    #[cfg(feature = "journal")]
    pub(crate) fn restored(name: QueueName, clock: MemoryClock, bytes: &[u8]) -> Option<Self> {
        use crate::coded::Coded;

        let mut rest = bytes;
        let keys = OnceKeys::get(&mut rest).filter(|_| rest.is_empty())?;
        Some(Self {
            name,
            clock,
            keys: Mutex::new(keys),
        })
    }

    /// A call by a claim's holder.
    fn held(
        &self,
        work: impl FnOnce(&mut OnceKeys, Timestamp) -> Result<(), ClaimLost>,
    ) -> Result<()> {
        self.call(work)?
            .map_err(|ClaimLost| Error::claim_lost().with_once(&self.name))
    }

    /// Checks a key and a duration, and names the store in an error.
    fn checked<T>(&self, key: &[u8], rest: Result<T>) -> Result<T> {
        let checked = limits::check_key(key).and(rest);
        checked.map_err(|error| error.with_once(&self.name))
    }
}

#[async_trait]
impl OnceStore for OnceHandle {
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        self.call(|keys, now| keys.claim(now, key, claim_time))
    }

    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        self.held(|keys, now| keys.extend(now, key, token, claim_time))
    }

    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        let keep = self.checked(key, limits::keep_millis(keep))?;
        self.held(|keys, now| keys.finish(now, key, token, keep))
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        self.checked(key, Ok(()))?;
        self.held(|keys, now| keys.release(now, key, token))
    }

    async fn counts(&self) -> Result<OnceCounts> {
        self.call(OnceKeys::counts)
    }
}
