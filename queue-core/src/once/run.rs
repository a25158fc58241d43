//! Running an effect under a key.

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Claim, OnceStore};
use crate::{Error, Result, Token, limits};

/// Runs effects, each once under its key.
///
/// ```
/// use queue_core::{Once, OnceRun, Result};
///
/// /// Charges an order, however often its message is delivered.
/// async fn charge(charges: &Once, order: u64) -> Result<bool> {
///     let ran = charges.run(format!("order-{order}"), |claim| async move {
///         // … ask the payment service, with `claim.token()` or the order's number for it to check
///         let _ = claim.token();
///         Ok(())
///     });
///     Ok(match ran.await? {
///         OnceRun::Ran(()) | OnceRun::Unrecorded { .. } | OnceRun::AlreadyDone => true,
///         OnceRun::Busy { left: _ } => false, // somebody else is at it: defer the message by `left`
///     })
/// }
/// ```
///
/// # What it is worth
///
/// At most one *finished* effect is recorded for a key while its mark is kept, and as long as an
/// effect ends before its claim does, at most one runs at a time (O1, O2). An effect may still
/// *happen* twice, when its claimant
///
/// - dies, is dropped or loses the store after the effect and before it is recorded: nobody can
///   know that it happened, and the next claim runs it again;
/// - outlives its claim (a long pause, a slow service): the next claimant begins while it is still
///   at work.
///
/// Against both helps a sink that remembers the key (or the [token](Claimed::token) that it came
/// with) together with the effect, in one transaction, and refuses the key the second time: there,
/// an effect happens exactly once (O5). A sink that only refuses tokens smaller than the greatest
/// it has seen does less: who is late cannot overwrite who came after, but both may have had
/// their effect.
///
/// # How long
///
/// A claim lasts a minute, a mark a day, unless [`with_claim`](Self::with_claim) and
/// [`with_keep`](Self::with_keep) say otherwise. Let the claim be longer than the effect takes,
/// and keep the mark longer than the same work can come again: a queue delivers a message for the
/// last time within max_attempts × (longest lease + longest retry delay) plus slack (L7), a
/// producer that repeats itself within its dedup window.
///
/// Cloning copies a pointer; both durations are the handle's own.
#[derive(Debug, Clone)]
pub struct Once {
    store: Arc<dyn OnceStore>,
    claim: Duration,
    keep: Duration,
}

impl Once {
    /// Runs effects under the keys of this store.
    pub fn new(store: Arc<dyn OnceStore>) -> Self {
        Self {
            store,
            claim: Duration::from_secs(60),
            keep: Duration::from_secs(24 * 60 * 60),
        }
    }

    /// How long an effect may take: 1 ms to 24 h, one minute unless set.
    #[must_use]
    pub const fn with_claim(mut self, ttl: Duration) -> Self {
        self.claim = ttl;
        self
    }

    /// How long a key is known to be done: 1 ms to 7 days, one day unless set.
    #[must_use]
    pub const fn with_keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// The store: its verbs one by one, and its counts.
    pub const fn store(&self) -> &Arc<dyn OnceStore> {
        &self.store
    }

    /// Claims the key, runs the effect, and records that it is done.
    ///
    /// An effect that fails releases its claim, so that the next one runs at once; should the
    /// release fail too, the claim ends by itself. Nothing is repeated behind your back.
    ///
    /// Dropping the future stops the effect where it stands. A drop cannot wait for the store, so
    /// the claim is not released: until it ends by itself, others find the key busy. The same
    /// holds for a panic and for a crash.
    ///
    /// # Errors
    ///
    /// `Invalid` for a key, a claim or a keeping time beyond the limits, and the store's when
    /// claiming: the effect did not run. After that, the effect's own.
    pub async fn run<T, E, F, Fut>(
        &self,
        key: impl Into<Bytes> + Send,
        effect: F,
    ) -> Result<OnceRun<T>, E>
    where
        T: Send,
        E: From<Error> + Send,
        F: FnOnce(Claimed) -> Fut + Send,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        let key = key.into();
        // Found out after the effect it would be too late.
        limits::keep_millis(self.keep)?;
        let token = match self.store.claim(&key, self.claim).await? {
            Claim::Claimed(token) => token,
            Claim::Busy { left } => return Ok(OnceRun::Busy { left }),
            Claim::Done => return Ok(OnceRun::AlreadyDone),
        };
        let claim = Claimed {
            once: self.clone(),
            key,
            token,
        };
        match effect(claim.clone()).await {
            Ok(value) => Ok(match claim.finish().await {
                Ok(()) => OnceRun::Ran(value),
                Err(error) => OnceRun::Unrecorded {
                    value,
                    claim,
                    error,
                },
            }),
            Err(error) => {
                // If it fails the claim ends by itself, and the effect's error says more.
                let _ = self.store.release(&claim.key, claim.token).await;
                Err(error)
            }
        }
    }
}

/// A key that was claimed: what an effect knows of itself.
#[derive(Debug, Clone)]
pub struct Claimed {
    once: Once,
    key: Bytes,
    token: Token,
}

impl Claimed {
    /// The key.
    pub const fn key(&self) -> &Bytes {
        &self.key
    }

    /// The claim's fencing token, for a sink to check: strictly greater at each claim.
    pub const fn token(&self) -> Token {
        self.token
    }

    /// Makes the claim last the whole time again, counted from now, for an effect that takes
    /// long.
    ///
    /// # Errors
    ///
    /// `ClaimLost` if it has ended: somebody else may be at it, so stop if you can. Those of
    /// [`OnceStore::extend`].
    pub async fn extend(&self) -> Result<()> {
        let ttl = self.once.claim;
        self.once.store.extend(&self.key, self.token, ttl).await
    }

    /// Records that the key is done. [`Once::run`] does it by itself after the effect; here for an
    /// effect that was left [`Unrecorded`](OnceRun::Unrecorded), as often as wanted.
    ///
    /// # Errors
    ///
    /// Those of [`OnceStore::finish`].
    pub async fn finish(&self) -> Result<()> {
        let keep = self.once.keep;
        self.once.store.finish(&self.key, self.token, keep).await
    }
}

/// What became of an effect.
///
/// All but `Busy` mean that it has happened, so that a message which asks for it can be acked.
#[derive(Debug)]
#[must_use = "the effect may not have run"]
pub enum OnceRun<T> {
    /// It ran now, and is recorded.
    Ran(T),
    /// It ran now, and is not recorded for certain: it may run again.
    Unrecorded {
        /// What it answered.
        value: T,
        /// Its claim: as long as that lives, or if only the reply was lost,
        /// [`finish`](Claimed::finish) can be repeated.
        claim: Claimed,
        /// Why it is not. `ClaimLost` says that it outlived its claim.
        error: Error,
    },
    /// It ran before, and did not run now.
    AlreadyDone,
    /// Somebody else is at it, and it did not run now. Come again when the claim has ended.
    Busy {
        /// The time until then, unless the claim is extended.
        left: Duration,
    },
}
