//! Faults: which there are, how likely each is in a run, and where they strike.

mod injector;
mod mix;
mod network;

#[cfg(all(unix, feature = "file"))]
pub(super) use self::injector::NotExecuted;
pub(crate) use self::network::NetworkFaults;
pub use self::{injector::FaultInjector, mix::FaultMix};
use crate::named::named;

named! {
    /// A fault that can strike.
    pub enum Fault {
        /// A request is lost before the backend executes it.
        RequestLost = "request lost",
        /// The backend executes a request, and its reply is lost.
        ReplyLost = "reply lost",
        /// A request or a reply is late, but arrives in time.
        Delayed = "delayed",
        /// The backend executes a request after its caller gave up.
        Late = "late",
        /// The backend executes a request twice.
        Repeated = "repeated",
        /// The client refuses a request before it sends anything.
        Refused = "refused",
        /// A wait ends for no reason.
        Spurious = "spurious hint",
        /// A connection breaks, before or after the backend executes the requests on it.
        Cut = "cut",
        /// A connection breaks in the middle of a reply.
        CutInFrame = "cut in mid-frame",
        /// A process cannot reach the backend for a while; then everything arrives.
        Partition = "partition",
        /// A caller drops a call's future.
        Cancelled = "cancelled",
        /// A process dies, and starts again without its memory.
        Crashed = "crashed",
        /// A process stalls, and goes on as if nothing had happened.
        Stalled = "stalled",
        /// The server forgets its scripts.
        ScriptsFlushed = "scripts flushed",
        /// The server dies, and starts again.
        Restarted = "restarted",
        /// The server's clock steps back.
        ClockBack = "clock stepped back",
        /// The server loses the last acknowledged steps: a failover, or a power loss.
        RolledBack = "rolled back",
    }
}

impl Fault {
    /// Whether the fault strikes a process itself, and not its requests and replies.
    pub const fn is_of_processes(self) -> bool {
        matches!(self, Self::Cancelled | Self::Crashed | Self::Stalled)
    }
}
