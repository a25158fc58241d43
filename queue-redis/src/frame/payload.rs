//! The payload of a message: its headers and its body.
//!
//! Only the Rust side reads payloads: scripts pass them on and use only their size. Without headers, a payload is a
//! zero byte and the body. With headers, it is a byte of one, the number of headers (4 bytes), the headers, and the
//! body. Each header is the lengths of name and value (4 bytes each), then name and value. If headers and body are
//! stored separately, the frame instead holds a byte of two, their size (4 bytes) and their reference (16 bytes). In
//! front of all that is the message's state, if it has one: a byte of three, its length (4 bytes), the state.

use std::io::Write;

use bytes::{Buf, Bytes};
use queue_core::{Headers, Message, MessageId};
use redis::{RedisWrite, ToRedisArgs};

use super::MESSAGES;

/// Headers and body as one argument, written straight into the command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a> {
    pub(crate) headers: &'a Headers,
    pub(crate) body: &'a Bytes,
}

impl Payload<'_> {
    pub(crate) fn size(&self) -> usize {
        self.body.len() + self.headers.size()
    }

    /// The size of the argument in bytes.
    fn length(&self) -> usize {
        let each = |(name, value): (&str, &str)| 8 + name.len() + value.len();
        let headers: usize = self.headers.iter().map(each).sum();
        let count = if self.headers.is_empty() { 0 } else { 4 };
        1 + count + headers + self.body.len()
    }

    fn write(&self, mut write: impl FnMut(&[u8])) {
        if self.headers.is_empty() {
            write(&[0]);
        } else {
            write(&[1]);
            write(&length(self.headers.iter().count()));
            for (name, value) in self.headers.iter() {
                write(&length(name.len()));
                write(&length(value.len()));
                write(name.as_bytes());
                write(value.as_bytes());
            }
        }
        write(self.body);
    }
}

impl ToRedisArgs for Payload<'_> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        let mut argument = out.writer_for_next_arg();
        // Writing to memory does not fail.
        self.write(|bytes| drop(argument.write_all(bytes)));
    }
}

/// The fewest and the most messages in a pack. Fewer messages cost less unpacked.
const FEWEST: usize = 4;
const PACKED: usize = 16;
/// The longest payload that is packed. Longer ones are not, because the server copies a pack as a whole.
const PACKABLE: usize = 1024;

/// Several payloads as one argument, which `lua/lib/packs.lua` describes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pack<'a>(pub(super) &'a [Payload<'a>]);

impl<'a> Pack<'a> {
    /// Divides the payloads into the fewest packs of about the same size; `None` if there are too few, or one is too
    /// long.
    pub(crate) fn several(payloads: &'a [Payload<'a>]) -> Option<impl Iterator<Item = Self>> {
        let fits = |payload: &Payload<'_>| payload.length() <= PACKABLE;
        let packs = payloads.len().div_ceil(PACKED).max(1);
        let each = payloads.len().div_ceil(packs);
        let packs = || payloads.chunks(each).map(Self);
        (payloads.len() >= FEWEST && payloads.iter().all(fits)).then(packs)
    }
}

impl ToRedisArgs for Pack<'_> {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        let mut argument = out.writer_for_next_arg();
        let mut write = |bytes: &[u8]| drop(argument.write_all(bytes));
        let Self(payloads) = self;
        write(&[MESSAGES, u8::try_from(payloads.len()).unwrap_or(u8::MAX)]);
        for payload in *payloads {
            let length = u16::try_from(payload.length()).unwrap_or(u16::MAX);
            write(&length.to_be_bytes());
            payload.write(&mut write);
        }
    }
}

/// Reads a payload from a script's reply; `None` if this library did not write it.
pub(crate) fn payload(mut bytes: Bytes) -> Option<(Headers, Bytes)> {
    match bytes.try_get_u8().ok()? {
        0 => Some((Headers::new(), bytes)),
        1 => {
            let count = bytes.try_get_u32().ok()?;
            let mut headers = Headers::new();
            for _ in 0..count {
                let name = usize::try_from(bytes.try_get_u32().ok()?).ok()?;
                let value = usize::try_from(bytes.try_get_u32().ok()?).ok()?;
                headers = headers.with(text(&mut bytes, name)?, text(&mut bytes, value)?);
            }
            Some((headers, bytes))
        }
        _ => None,
    }
}

/// The payloads of a pack's messages; `None` if there are not `count` of them.
pub(super) fn payloads(mut bytes: Bytes, count: usize) -> Option<Vec<Bytes>> {
    let mut payloads = Vec::with_capacity(count);
    for _ in 0..count {
        let length = usize::from(bytes.try_get_u16().ok()?);
        payloads.push((bytes.len() >= length).then(|| bytes.split_to(length))?);
    }
    bytes.is_empty().then_some(payloads)
}

/// Bytes of the reference to a separate body.
pub(crate) const REFERENCE: usize = 16;

/// The placeholder in a frame for headers and body of `size` bytes that are stored separately.
pub(crate) fn apart(size: usize, reference: &[u8; REFERENCE]) -> [u8; 5 + REFERENCE] {
    let mut bytes = [2; 5 + REFERENCE];
    bytes[1..5].copy_from_slice(&length(size));
    bytes[5..].copy_from_slice(reference);
    bytes
}

/// Takes the state off the front of the bytes behind a frame's head. Returns it, and its length. A frame that was cut
/// behind the length has no state any more.
pub(super) fn state(bytes: &mut Bytes) -> (Option<Bytes>, usize) {
    let length = match bytes.get(..5) {
        Some(&[3, a, b, c, d]) => u32::from_be_bytes([a, b, c, d]) as usize,
        _ => return (None, 0),
    };
    if bytes.len() < 5 + length {
        return (None, length);
    }
    bytes.advance(5);
    (Some(bytes.split_to(length)), length)
}

/// Headers and body of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Here(Headers, Bytes),
    /// Stored separately, under this reference.
    Apart(Bytes),
    /// Bytes that no client wrote, as they were found.
    Damaged(Bytes),
}

impl Content {
    /// Reads the bytes behind a frame's head, or under a reference.
    pub(crate) fn read(mut bytes: Bytes) -> Self {
        if bytes.first() == Some(&2) && bytes.len() == 5 + REFERENCE {
            return Self::Apart(bytes.split_off(5));
        }
        match payload(bytes.clone()) {
            Some((headers, body)) => Self::Here(headers, body),
            None => Self::Damaged(bytes),
        }
    }

    /// Whether the content is stored separately.
    pub(crate) const fn is_apart(&self) -> bool {
        matches!(self, Self::Apart(_))
    }

    /// The message or item with this id; `None` if it is damaged, or if its separate body was not found, and so is
    /// gone.
    pub(crate) fn message(self, id: MessageId) -> Option<Message> {
        match self {
            Self::Here(headers, body) => Some(Message::new(id, body, headers)),
            Self::Apart(_) | Self::Damaged(_) => None,
        }
    }
}

/// A length, as scripts and readers of payloads read it.
pub(crate) fn length(bytes: usize) -> [u8; 4] {
    // The limits of a message, checked before, are far below.
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

pub(super) fn text(bytes: &mut Bytes, length: usize) -> Option<String> {
    if bytes.len() < length {
        return None;
    }
    String::from_utf8(bytes.split_to(length).into()).ok()
}
