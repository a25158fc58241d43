//! Cancelling messages (L15).

/// The result of cancelling one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cancelled {
    /// The message is gone; no consumer will receive it.
    Cancelled,
    /// The message is leased, dead, done or gone otherwise; nothing changed.
    TooLate,
    /// No message of this queue ever had the id: it is another queue's, or was made up.
    NeverWas,
}
