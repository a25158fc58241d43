//! Running an effect under a key.

use std::{
    convert::Infallible,
    fmt::Debug,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    time::Duration,
};

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
/// # Guarantees
///
/// The store records at most one *finished* effect for a key while it keeps the mark. As long as
/// each effect ends before its claim does, at most one runs at a time (O1, O2). An effect may still
/// *happen* twice, when its claimant
///
/// - dies, is dropped or loses the store after the effect and before it is recorded: nobody can
///   know that it happened, and the next claim runs it again;
/// - outlives its claim (a long pause, a slow service): the next claimant begins while it is still
///   at work.
///
/// A sink protects against both if it stores the key (or its claim's [token](Claimed::token)) together with
/// the effect, in one transaction, and refuses the key the second time. In such a sink an effect happens
/// exactly once (O5). A sink that only refuses tokens smaller than the greatest it has seen does less: a late
/// claimant cannot overwrite a newer one, but both effects may happen.
///
/// # How long
///
/// A claim lasts a minute, a mark a day, unless [`with_claim`](Self::with_claim) and
/// [`with_keep`](Self::with_keep) say otherwise. Let the claim be longer than the effect takes, and keep the
/// mark longer than the same work can come again. A queue delivers a message for the last time within
/// max_attempts × (longest lease + longest retry delay) plus slack (L7). A producer repeats a push within its
/// dedup window.
///
/// Cloning copies a pointer; both durations are the handle's own.
#[derive(Debug, Clone)]
pub struct Once {
    store: Arc<dyn OnceStore>,
    claim: Duration,
    keep: Duration,
    heartbeats: bool,
}

impl Once {
    /// Runs effects under the keys of this store.
    pub fn new(store: Arc<dyn OnceStore>) -> Self {
        Self {
            store,
            claim: Duration::from_secs(60),
            keep: Duration::from_secs(24 * 60 * 60),
            heartbeats: false,
        }
    }

    /// Sets how long a claim lasts, and so how long an effect may take: 1 ms to 24 h, one minute by
    /// default.
    #[must_use]
    pub const fn with_claim(mut self, claim_time: Duration) -> Self {
        self.claim = claim_time;
        self
    }

    /// Extends the claim while its effect runs, each time that a third of it is over. So the claim can be short, and
    /// others begin soon after a crash, however long the effect takes. Give the effect a timeout, because one that hangs
    /// holds its key for ever.
    ///
    /// If a heartbeat finds the claim lost, or no heartbeat gets through, the effect goes on, and
    /// [`run`](Self::run) returns what [`Unrecorded`](OnceRun::Unrecorded) says. An effect that blocks its thread keeps
    /// heartbeats from being sent. They need a tokio runtime.
    #[must_use]
    pub const fn with_heartbeats(mut self) -> Self {
        self.heartbeats = true;
        self
    }

    /// Sets how long the store knows a key to be done: 1 ms to 7 days, one day by default.
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
    /// If the effect fails, this releases the claim, so that the next effect runs at once. If the release
    /// fails too, the claim ends at its time. Nothing is repeated automatically.
    ///
    /// Dropping the future stops the effect where it is. A drop cannot wait for the store, so the claim is
    /// not released: others find the key busy until the claim ends. The same holds for a panic and for a
    /// crash.
    ///
    /// # Errors
    ///
    /// `Invalid` for a key, a claim or a keeping time beyond the limits, and the store's errors on
    /// claiming: the effect did not run. After that, the effect's own error.
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
        // Checked before the effect, because after it would be too late.
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
        let effect = effect(claim.clone());
        let ended = match self.heartbeats {
            true => claim.while_it_lives(effect).await,
            false => effect.await,
        };
        match ended {
            Ok(value) => Ok(match claim.finish().await {
                Ok(()) => OnceRun::Ran(value),
                Err(error) => OnceRun::Unrecorded {
                    value,
                    claim,
                    error,
                },
            }),
            Err(error) => {
                // If the release fails the claim ends at its time, and the effect's error says more.
                let _ = self.store.release(&claim.key, claim.token).await;
                Err(error)
            }
        }
    }
}

/// A claimed key, as its effect sees it.
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

    /// Makes the claim last its whole time again, counted from now. Long effects call this.
    ///
    /// # Errors
    ///
    /// `ClaimLost` if the claim has ended: somebody else may be at work, so stop if you can. The errors of
    /// [`OnceStore::extend`].
    pub async fn extend(&self) -> Result<()> {
        let claim_time = self.once.claim;
        self.once
            .store
            .extend(&self.key, self.token, claim_time)
            .await
    }

    /// Runs the effect, and extends the claim meanwhile.
    async fn while_it_lives<T>(&self, effect: impl Future<Output = T> + Send) -> T {
        let (mut effect, mut beats) = (pin!(effect), pin!(self.beat()));
        poll_fn(|cx| {
            let ended = effect.as_mut().poll(cx);
            if ended.is_pending() {
                // They never end.
                let _ = beats.as_mut().poll(cx);
            }
            ended
        })
        .await
    }

    /// Extends the claim until it is lost, and then does nothing.
    async fn beat(&self) -> Infallible {
        let mut pause = self.once.claim / 3;
        loop {
            tokio::time::sleep(pause).await;
            pause = match self.extend().await {
                Ok(()) => self.once.claim / 3,
                // Several tries have to fit in before the claim ends.
                Err(error) if error.is_transient() => self.once.claim / 12,
                Err(_) => std::future::pending().await,
            };
        }
    }

    /// Records that the key is done. [`Once::run`] does so automatically after the effect. Call this, as
    /// often as you like, for an effect that it left [`Unrecorded`](OnceRun::Unrecorded).
    ///
    /// # Errors
    ///
    /// The errors of [`OnceStore::finish`].
    pub async fn finish(&self) -> Result<()> {
        let keep = self.once.keep;
        self.once.store.finish(&self.key, self.token, keep).await
    }
}

/// The result of running an effect.
///
/// All but `Busy` mean that the effect has happened: ack the message that asks for it.
#[derive(Debug)]
#[must_use = "the effect may not have run"]
pub enum OnceRun<T> {
    /// The effect ran now, and the store recorded it.
    Ran(T),
    /// The effect ran now, and the store may not have recorded it: it may run again.
    Unrecorded {
        /// The effect's value.
        value: T,
        /// Its claim: while it lives, or if only the reply was lost, the caller can repeat
        /// [`finish`](Claimed::finish).
        claim: Claimed,
        /// The error of recording. `ClaimLost` says that the effect outlived its claim.
        error: Error,
    },
    /// The effect ran before, and did not run now.
    AlreadyDone,
    /// Somebody else holds the claim, and the effect did not run now. Come again when that claim
    /// has ended.
    Busy {
        /// The time until then, unless its holder extends the claim.
        left: Duration,
    },
}
