//! Dead letters: messages that no consumer could handle, kept for an operator to look at (L13).

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Headers, MessageId, Timestamp};

/// A message in the dead letters; of a typed queue it is a
/// [`TypedDeadLetter`](crate::TypedDeadLetter).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DeadLetter<B = Bytes> {
    /// The message's id, by which it is revived or discarded.
    pub id: MessageId,
    /// The bytes that were pushed. Of a damaged message: the bytes that were found, and the reason says so.
    /// From a typed queue: the value, or the error of decoding it.
    pub body: B,
    /// The headers that were pushed.
    pub headers: Headers,
    /// Why it died.
    pub reason: DeathReason,
    /// The reason of the last retry (L14); `None` if that gave none, or there was no retry.
    pub failure: Option<String>,
    /// How many attempts it had.
    pub attempts: u32,
    /// Its priority on a priority queue; 0 on queues of other kinds.
    pub priority: i16,
    /// The key of its group on a grouped queue. A damaged message (see `body`) has none.
    pub group: Option<Bytes>,
    /// The state that a holder stored with the message (L21), which a revived message keeps.
    pub state: Option<Bytes>,
    /// When it was pushed, by the backend's clock. A revival does not change it.
    pub pushed_at: Timestamp,
    /// When it died, by the backend's clock.
    pub died_at: Timestamp,
}

impl<B> DeadLetter<B> {
    /// A dead letter without headers, which never gave a reason for a retry.
    pub const fn new(
        id: MessageId,
        body: B,
        reason: DeathReason,
        attempts: u32,
        pushed_at: Timestamp,
        died_at: Timestamp,
    ) -> Self {
        Self {
            id,
            body,
            headers: Headers::new(),
            reason,
            failure: None,
            attempts,
            priority: 0,
            group: None,
            state: None,
            pushed_at,
            died_at,
        }
    }

    /// Why it died, for people: `died after 5 attempts: retried on its last attempt: connection
    /// refused`.
    pub fn why(&self) -> String {
        let Self {
            attempts,
            reason,
            failure,
            ..
        } = self;
        let times = if *attempts == 1 {
            "attempt"
        } else {
            "attempts"
        };
        let mut why = format!("died after {attempts} {times}: {reason}");
        if let Some(failure) = failure {
            why.push_str(": ");
            why.push_str(failure);
        }
        why
    }
}

impl DeadLetter {
    /// Bytes of body, headers and state.
    pub fn size(&self) -> usize {
        let state = self.state.as_ref().map_or(0, Bytes::len);
        self.body.len() + self.headers.size() + state
    }
}

/// Why a message died.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeathReason {
    /// A consumer buried it, for this reason.
    Buried(String),
    /// It was retried on its last attempt.
    Retried,
    /// Its lease expired on its last attempt.
    Expired,
    /// Its time to live was over, and its push had asked for a burial (L17).
    Outdated,
}

impl fmt::Display for DeathReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buried(reason) => write!(f, "buried: {reason}"),
            Self::Retried => f.write_str("retried on its last attempt"),
            Self::Expired => f.write_str("its lease expired on its last attempt"),
            Self::Outdated => f.write_str("its time to live was over"),
        }
    }
}

/// What a revived message keeps of its last life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Revival {
    /// The state that its holders stored (L21): a durable job goes on behind its last step.
    WithState,
    /// Nothing: the state is taken away, and the job begins anew.
    Fresh,
}

/// The result of reviving one dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use = "the dead letter may still be there"]
pub enum Revived {
    /// It is back at the tail of its queue, with its id and priority, and no attempt spent.
    Revived,
    /// No dead letter has this id: it was trimmed, discarded or revived before, or never there.
    NotFound,
    /// The bounded queue is full; the dead letter stays.
    Full,
}
