//! The worker's order to a handler to stop.

/// Why the worker tells a handler to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The lease is lost. Either it is over, and another worker has the message or will have it; or somebody
    /// settled it, as an operator does to stop the job. The worker ignores the handler's result, and settles
    /// nothing.
    LeaseLost,
    /// The worker shuts down and the drain is over. It releases unfinished messages, which refunds
    /// the attempt.
    Shutdown,
}
