//! An entry of the stream, and the message in it.

use std::collections::HashMap;

use bytes::Bytes;

use crate::{server::id_of, strategy::Taken};

/// The field that is the body.
pub(super) const BODY: &str = "body";
/// The fields of a message that was put back: its first entry, and the attempts that count.
const FIRST: &str = "first";
const ATTEMPTS: &str = "attempts";

/// An entry's id and its fields. The fields are missing if the entry was deleted.
pub(super) type StreamEntry = (String, Option<HashMap<String, Bytes>>);

/// A delivered entry.
#[derive(Debug, Clone)]
pub(super) struct ClaimedEntry {
    pub(super) entry: String,
    pub(super) body: Bytes,
    /// The first entry of the message, which names it.
    pub(super) first: String,
    pub(super) attempt: u32,
    pub(super) delivered: u32,
}

impl ClaimedEntry {
    /// An entry with this delivery count. `None` if it is gone, or has no body.
    pub(super) fn read((entry, fields): StreamEntry, delivered: u32) -> Option<Self> {
        let mut fields = fields?;
        let text = |bytes: Bytes| String::from_utf8(bytes.into()).ok();
        let before = fields.remove(ATTEMPTS).and_then(text);
        let before: Option<u32> = before.and_then(|before| before.parse().ok());
        Some(Self {
            body: fields.remove(BODY)?,
            first: fields
                .remove(FIRST)
                .and_then(text)
                .unwrap_or_else(|| entry.clone()),
            attempt: before.unwrap_or(0).saturating_add(delivered),
            delivered,
            entry,
        })
    }

    pub(super) fn taken(self) -> Taken<Self> {
        Taken {
            id: id_of(self.first.as_bytes()),
            body: self.body.clone(),
            attempt: self.attempt,
            priority: None,
            held: self,
        }
    }
}
