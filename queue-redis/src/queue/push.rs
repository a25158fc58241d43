//! What pushes of all kinds have in common.

use queue_core::{Message, MessageId, Push, Pushed, limits};

use crate::{call::Call, frame::Payload, reply::Reply};

/// A message's headers and body.
pub(super) fn payload(push: &Push) -> Payload<'_> {
    Payload {
        headers: &push.headers,
        body: &push.body,
    }
}

/// Whether a batch has dedup keys, so that the script needs the keys of the marks.
pub(super) fn any_dedup<'a>(mut batch: impl Iterator<Item = &'a Push>) -> bool {
    batch.any(|push| push.dedup.is_some())
}

/// Adds the triples that `lua/shared/dedup.lua` reads. The windows were checked before.
pub(super) fn add_marks<'a>(call: &mut Call, batch: impl Iterator<Item = &'a Push>) {
    for (entry, push) in batch.enumerate() {
        if let Some(dedup) = &push.dedup {
            call.push(entry + 1);
            call.push(limits::window_millis(dedup.window).unwrap_or(1));
            call.push(&dedup.key[..]);
        }
    }
}

/// What became of each of so many messages.
pub(super) fn pushed(reply: Reply, entries: usize) -> queue_core::Result<Vec<Pushed>> {
    let ids = reply.ids(entries)?;
    let pushed = ids.into_iter().map(|id| {
        let message = MessageId::new(id.unsigned_abs());
        if id < 0 {
            Pushed::Duplicate(message)
        } else {
            Pushed::Accepted(message)
        }
    });
    Ok(pushed.collect())
}

/// A message that stands as id and payload.
pub(super) fn message(id: MessageId, payload: bytes::Bytes) -> Option<Message> {
    let (headers, body) = crate::frame::payload(payload)?;
    Some(Message { id, body, headers })
}
