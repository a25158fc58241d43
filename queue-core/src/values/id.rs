//! Message ids, and the receipts that prove the right to settle.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Serialize};

/// Names a message within one history of its queue (R1).
///
/// A per-queue counter that starts at 1 and counts accepted messages: small, ordered by arrival,
/// and the same on every backend for the same history.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MessageId(u64);

impl MessageId {
    /// The id with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The id's number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MessageId {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(Self)
    }
}

/// The fencing token: strictly greater at each delivery of a message, and never below
/// [`Token::PER_MILLI`] times the lease's time in milliseconds, so that a token from a lost history
/// matches nothing (R1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Token(u64);

impl Token {
    /// Tokens for each millisecond: a queue that leases a million messages a second does not get ahead of its
    /// clock. A queue that was ahead and then lost its last steps could hand out the lost tokens again.
    pub const PER_MILLI: u64 = 1_000;

    /// The token with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The token's number: hand it to a sink that fences by a growing number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The proof by which a holder settles a delivery or extends its lease (L4).
///
/// It borrows nothing and can be stored, sent to another process and used there.
///
/// ```
/// use queue_core::{MessageId, Receipt, Token};
///
/// let receipt = Receipt::new(MessageId::new(7), Token::new(1_700_000_000_000_000));
/// let copy = receipt;
/// assert_eq!(copy, receipt);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Receipt {
    /// The message.
    pub id: MessageId,
    /// The delivery of it.
    pub token: Token,
}

impl Receipt {
    /// The receipt for this delivery of this message.
    pub const fn new(id: MessageId, token: Token) -> Self {
        Self { id, token }
    }
}
