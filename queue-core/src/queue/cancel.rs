//! Cancelling messages (L15).

use serde::Serialize;

/// The result of cancelling one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use = "it may have been too late"]
pub enum Cancelled {
    /// The message is gone; no consumer will receive it.
    Cancelled,
    /// The message is leased, dead, done or gone otherwise; nothing changed.
    TooLate,
    /// No message of this queue ever had the id: it is another queue's, or was made up.
    NeverWas,
}
