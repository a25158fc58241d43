//! Finding: what became of a message, by its id (L18).

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::{DeathReason, Standing, Timestamp, values::in_json};

/// What became of a message (L18).
///
/// As JSON: `"gone"`, `{"done": 7}`, `{"present": {"attempts": 1, "age_ms": 20, "failure": null, "standing":
/// "ready"}}`. A result is shown as the JSON or text that it is, other bytes as `{"hex": "00ff"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[must_use = "finding a message changes nothing"]
pub enum Found {
    /// It is ready, delayed or leased.
    #[non_exhaustive]
    Present {
        /// How many attempts it has had, including the one under way.
        attempts: u32,
        /// The time since it was pushed.
        #[serde(rename = "age_ms", serialize_with = "in_json::millis")]
        age: Duration,
        /// The reason of the last retry (L14); `None` if that gave none, or there was no retry.
        failure: Option<String>,
        /// Its place, and of a lease the holder and the progress.
        standing: Standing,
        /// Bytes of the state that a holder stored with it (L21); 0 without one.
        #[serde(rename = "state_bytes", skip_serializing_if = "is_zero")]
        state_size: usize,
    },
    /// It is among the dead letters.
    #[non_exhaustive]
    Dead {
        /// How many attempts it had.
        attempts: u32,
        /// Why it died.
        reason: DeathReason,
        /// The reason of the last retry (L14).
        failure: Option<String>,
        /// When it was pushed, by the backend's clock.
        #[serde(rename = "pushed_at_ms")]
        pushed_at: Timestamp,
        /// When it died, by the backend's clock.
        #[serde(rename = "died_at_ms")]
        died_at: Timestamp,
        /// Bytes of the state that a holder stored with it (L21); 0 without one.
        #[serde(rename = "state_bytes", skip_serializing_if = "is_zero")]
        state_size: usize,
    },
    /// It was acked with this result, whose time is not over (S1, S2).
    Done(#[serde(serialize_with = "in_json::bytes")] Bytes),
    /// It was there and is gone: acked, cancelled, or gone otherwise. No result is kept.
    Gone,
    /// No message of this queue ever had the id: it is another queue's, or was made up.
    NeverWas,
}

impl Found {
    /// Ready, delayed or leased, as `standing` says.
    pub const fn present(
        attempts: u32,
        age: Duration,
        failure: Option<String>,
        standing: Standing,
    ) -> Self {
        Self::Present {
            attempts,
            age,
            failure,
            standing,
            state_size: 0,
        }
    }

    /// Among the dead letters.
    pub const fn dead(
        attempts: u32,
        reason: DeathReason,
        failure: Option<String>,
        pushed_at: Timestamp,
        died_at: Timestamp,
    ) -> Self {
        Self::Dead {
            attempts,
            reason,
            failure,
            pushed_at,
            died_at,
            state_size: 0,
        }
    }

    /// Sets the length of the state, of a message that is present or dead.
    pub fn with_state_size(mut self, bytes: usize) -> Self {
        match &mut self {
            Self::Present { state_size, .. } | Self::Dead { state_size, .. } => *state_size = bytes,
            Self::Done(_) | Self::Gone | Self::NeverWas => {}
        }
        self
    }

    /// Whether no attempt is under way or to come, unless an operator revives the message.
    pub const fn is_over(&self) -> bool {
        !matches!(self, Self::Present { .. })
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
const fn is_zero(bytes: &usize) -> bool {
    *bytes == 0
}
