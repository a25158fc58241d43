//! The store of once keys, as a backend implements it.

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Result, Token};

/// Keys, each of which is free, claimed until some time, or done until some time.
///
/// A queue remembers work to do; a store remembers work done. A handler claims the key of an
/// effect, does the effect, and finishes the key, so that a second delivery of the same work finds
/// it done. [`Once`](crate::Once) puts the three together. A [`Backend`](crate::Backend) opens a
/// store by name; a store is not a queue, and may share a queue's name.
///
/// Each verb is one atomic step by the backend's clock, in whole milliseconds. Keys are bytes, 1 to 256 of
/// them, and belong to their store. The outcome of a call that was dropped, timed out or cut off is unknown,
/// as everywhere (L8). A claim whose reply was lost stays until its end. The caller may repeat any other
/// verb, as each says.
///
/// # Errors
///
/// Every verb returns `Invalid` for a key or a duration beyond the limits, before it does anything.
#[async_trait]
pub trait OnceStore: Debug + Send + Sync + 'static {
    /// Claims a key for `claim_time`, if it is neither claimed nor done (O1, O2). `claim_time` is 1 ms to 24 h.
    ///
    /// It also clears away ended claims and marks, 128 of each (O4). Release a claim that you no longer want;
    /// otherwise it lasts until its end.
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim>;

    /// Makes the claim with this token end at now + claim_time, also when that is sooner.
    ///
    /// # Errors
    ///
    /// `ClaimLost`, changing nothing, if it is not the key's live claim (O3).
    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()>;

    /// Ends the claim with this token and marks the key as done until now + keep (O2). `keep` is
    /// 1 ms to 7 days.
    ///
    /// The caller may repeat this call, say if its reply was lost. While the mark is there, the claim that
    /// made the mark gets the first answer again, and nothing changes (O3).
    ///
    /// # Errors
    ///
    /// `ClaimLost`, changing nothing, if it is not the key's live claim (O3).
    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()>;

    /// Ends the claim with this token; the key is free at once.
    ///
    /// # Errors
    ///
    /// `ClaimLost`, changing nothing, if it is not the key's live claim (O3). Or the same release took effect
    /// before and its reply was lost.
    async fn release(&self, key: &[u8], token: Token) -> Result<()>;

    /// How many keys are claimed and how many are done at this instant (O4).
    async fn counts(&self) -> Result<OnceCounts>;
}

/// The answer to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "the key may be claimed by somebody else, or done"]
pub enum Claim {
    /// The key is the caller's. The caller finishes with this token, and a sink can check it. The token is
    /// strictly greater at each claim of the store. It is never below [`Token::PER_MILLI`] times the claim's
    /// time in ms, so that a token from a lost history matches nothing (R1).
    Claimed(Token),
    /// Somebody else has the key.
    Busy {
        /// The time until that claim ends, unless its holder finishes, releases or extends it
        /// before.
        left: Duration,
    },
    /// The key is done.
    Done,
}

/// The keys that a store holds. A claim or mark that has ended does not count, cleared away yet or
/// not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OnceCounts {
    /// Keys with a live claim.
    pub claimed: u64,
    /// Keys that are done.
    pub done: u64,
}

impl OnceCounts {
    /// The number of claimed and of done keys.
    pub const fn new(claimed: u64, done: u64) -> Self {
        Self { claimed, done }
    }
}
