//! Giving messages another due time (D4).

/// The result of rescheduling one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "it may have been too late"]
pub enum Rescheduled {
    /// It has the new due time.
    Moved,
    /// The message is leased, dead, done, or was never there; nothing changed.
    TooLate,
}
