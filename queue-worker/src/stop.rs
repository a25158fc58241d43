//! The end of a handling, as its handler is told of it.

/// Why a handler is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stop {
    /// The lease is lost: the message is somebody else's, or will be. Whatever the handler
    /// answers, nothing is settled.
    LeaseLost,
    /// The worker shuts down and the time to finish is over. What is not done is released, its
    /// attempt refunded.
    Shutdown,
}
