//! A message of an export.

use queue_core::{
    Bytes, DeadLetter, Error, Headers, MessageId, Outdated, Peeked, Result, Standing, TimeToLive,
    Timestamp, millis_ceil,
};
use serde::{Deserialize, Serialize};

use crate::hex::{hex, unhex};

/// A message, as a line of an export has it.
///
/// A line that lacks something, or has something unknown in it, is refused: a part that is not understood would be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedMessage {
    /// Its id in the queue that it comes from.
    pub id: MessageId,
    /// Its place there.
    pub place: ExportedPlace,
    /// Its priority, if that is not 0.
    pub priority: i16,
    /// The key of its group, on a grouped queue.
    pub group: Option<ExportedGroup>,
    /// Whether the others of its group wait for it, in strict order: it was leased, or waits for its retry. An import
    /// makes it ready at once. If it were delayed there, the others of its group would be handed out first.
    pub is_first_of_group: bool,
    /// Of a delayed message: when it is due.
    pub due_at_ms: Option<Timestamp>,
    /// Its time to live, if it has one (L17).
    pub time_to_live: Option<ExportedTimeToLive>,
    /// The attempts that it has had. An import begins from 0.
    pub attempts: u32,
    /// Why its last attempt failed, or why it died. An import loses it.
    pub failure: Option<String>,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: ExportedBody,
}

/// The place of an exported message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the places of the contract")]
pub enum ExportedPlace {
    Ready,
    Delayed,
    Leased,
    Dead,
}

/// The end of a message's time to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ExportedTimeToLive {
    /// The time from which nobody receives it.
    pub ends_at_ms: Timestamp,
    /// How it ends.
    #[serde(with = "OutdatedInWords")]
    pub then: Outdated,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Outdated", rename_all = "snake_case")]
enum OutdatedInWords {
    Drop,
    Bury,
}

impl ExportedTimeToLive {
    fn of(rest: TimeToLive, now: Timestamp) -> Self {
        Self {
            ends_at_ms: now.plus_millis(millis_ceil(rest.limit)),
            then: rest.then,
        }
    }
}

macro_rules! text_or_hex {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name {
            /// Text.
            Text(String),
            /// Other bytes.
            Hex(String),
        }

        impl $name {
            pub(super) fn of(bytes: &Bytes) -> Self {
                match std::str::from_utf8(bytes) {
                    Ok(text) => Self::Text(text.to_owned()),
                    Err(_) => Self::Hex(hex(bytes)),
                }
            }

            /// The bytes.
            ///
            /// # Errors
            ///
            /// `Invalid` for other than pairs of hexadecimal digits.
            pub fn bytes(&self) -> Result<Bytes> {
                match self {
                    Self::Text(text) => Ok(Bytes::from(text.clone())),
                    Self::Hex(digits) => unhex(digits).map(Bytes::from).ok_or_else(|| {
                        Error::invalid("bytes that are not pairs of hexadecimal digits")
                    }),
                }
            }
        }
    };
}

text_or_hex! {
    /// The key of a group: as text, or as hexadecimal digits if it is no text.
    ExportedGroup
}

text_or_hex! {
    /// A body: as text, or as hexadecimal digits if it is no text.
    ExportedBody
}

impl ExportedMessage {
    pub(super) fn of(peeked: Peeked, now: Timestamp, is_first_of_group: bool) -> Self {
        let (place, due_at_ms) = match peeked.standing {
            Standing::Ready => (ExportedPlace::Ready, None),
            Standing::Delayed { due_in, .. } => (
                ExportedPlace::Delayed,
                Some(now.plus_millis(millis_ceil(due_in))),
            ),
            Standing::Leased { .. } => (ExportedPlace::Leased, None),
        };
        let rest = peeked.time_to_live;
        Self {
            id: peeked.message.id,
            place,
            priority: peeked.priority,
            group: peeked.group.as_ref().map(ExportedGroup::of),
            is_first_of_group,
            due_at_ms,
            time_to_live: rest.map(|rest| ExportedTimeToLive::of(rest, now)),
            attempts: peeked.attempts,
            failure: peeked.failure,
            headers: named(&peeked.message.headers),
            body: ExportedBody::of(&peeked.message.body),
        }
    }

    pub(super) fn dead(letter: &DeadLetter) -> Self {
        Self {
            id: letter.id,
            place: ExportedPlace::Dead,
            priority: letter.priority,
            group: letter.group.as_ref().map(ExportedGroup::of),
            is_first_of_group: false,
            due_at_ms: None,
            time_to_live: None,
            attempts: letter.attempts,
            failure: Some(letter.why()),
            headers: named(&letter.headers),
            body: ExportedBody::of(&letter.body),
        }
    }
}

fn named(headers: &Headers) -> Vec<(String, String)> {
    let named = headers.iter();
    named
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
