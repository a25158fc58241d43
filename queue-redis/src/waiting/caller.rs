//! A waiting caller: what wakes it, the lease that it accepts, and the message that is handed over to it.

use std::{fmt::Debug, sync::Arc, time::Duration};

use bytes::Bytes;
use queue_core::Holder;
use redis_link::ScriptCall;
use tokio::{sync::oneshot, time::Instant};

/// The cause of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wake {
    /// A change, which the caller forwards if it does not use it.
    Notified,
    /// The registry may have missed changes.
    Poll,
    /// A message that is leased to the caller, and goes back if the caller does not use it.
    HandedOver(Bytes),
}

/// A caller that waits.
#[derive(Debug)]
pub(super) struct WaitingCaller {
    pub(super) wake: oneshot::Sender<Wake>,
    /// The terms under which the caller accepts a message, if it does.
    pub(super) terms: Option<Arc<str>>,
    pub(super) since: Instant,
}

/// Makes the calls that release messages which were handed over to callers that are gone.
///
/// The registry keeps this for as long as the server may hand over a message, also when the queue's last handle is
/// gone. So this holds no connection.
pub(crate) trait ReleaseUnwanted: Debug + Send + Sync {
    /// The call that releases the message, at the time `now` as scripts read it. `None` if the message cannot be read.
    /// Then its lease expires, and the next client that leases it buries it.
    fn release(&self, handed: Bytes, now: &str) -> Option<ScriptCall>;
}

/// A message that was handed over to a caller that is gone.
#[derive(Debug, Clone)]
pub(super) struct Unwanted {
    pub(super) queue: Arc<dyn ReleaseUnwanted>,
    pub(super) lease: Bytes,
}

impl PartialEq for Unwanted {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.queue, &other.queue) && self.lease == other.lease
    }
}

impl Eq for Unwanted {}

/// The lease terms under which a waiting caller accepts a handed-over message.
#[derive(Debug)]
pub(crate) struct HandoffTerms {
    /// The terms as `lua/lib/wake_up.lua` reads them.
    pub(super) text: Arc<str>,
    /// The caller's queue, to which the message goes back if the caller is gone.
    pub(super) queue: Arc<dyn ReleaseUnwanted>,
}

impl HandoffTerms {
    /// A lease for `lease_time` ms. If the caller is gone when the message comes, the message goes back to `queue`.
    pub(crate) fn new(
        lease_time: u64,
        holder: Option<&Holder>,
        queue: Arc<dyn ReleaseUnwanted>,
    ) -> Self {
        let holder = holder.map_or("", Holder::as_str);
        let text = format!("{lease_time} {holder}").into();
        Self { text, queue }
    }
}

/// A message that was leased to this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandedOver {
    /// The registration by which the message was leased, and the registration's age at that time. The age is in whole
    /// milliseconds of the server's clock, rounded up by at most one.
    pub(super) serial: u64,
    pub(super) age: Duration,
    pub(super) lease: Bytes,
}
