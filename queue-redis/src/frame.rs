//! Messages as bytes: the scripts' arguments and replies.
//!
//! `lua/lib/frames.lua` describes a frame; on the Rust side only this module knows the format. All numbers are
//! big-endian.

mod payload;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::{Buf, Bytes};
use queue_core::{
    DeadLetter, DeathReason, Delivery, Due, Found, Headers, Holder, Message, MessageId, Outdated,
    Peeked, Place, Receipt, Standing, TimeToLive, Timestamp, Token, millis_ceil,
};

#[cfg(test)]
pub(crate) use self::payload::payload;
pub(crate) use self::payload::{Content, Pack, Payload, REFERENCE, apart, length};
use self::payload::{payloads, text};

/// The size in bytes of ids, tokens and times.
const WIDE: usize = 7;
const LARGEST: u64 = (1 << (8 * WIDE)) - 1;

/// The byte between a holder's name and its progress: no name has it.
const NO_UTF8: u8 = 255;

/// The first byte of a frame, and of other values stored among frames. Each byte has exactly one of these meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// A message with this number of attempts.
    Attempts(u8),
    /// A message: the number of attempts follows the head, with the rest of its history.
    WithPast,
    /// Several messages follow the head, see `lua/lib/packs.lua`.
    Pack,
    /// A [`Pack`] as it is sent, which follows its head.
    Messages,
}

const WITH_PAST: u8 = 255;
const PACK: u8 = 254;
const MESSAGES: u8 = 253;

impl First {
    const fn of(byte: u8) -> Self {
        match byte {
            WITH_PAST => Self::WithPast,
            PACK => Self::Pack,
            MESSAGES => Self::Messages,
            few => Self::Attempts(few),
        }
    }
}

/// Bytes of a frame before headers and body: attempts, id, and the time since when the message is ready.
pub(crate) const HEAD: usize = 1 + 2 * WIDE;
/// The same with a priority and an arrival number.
pub(crate) const PRIORITY_HEAD: usize = HEAD + 2 + WIDE;

/// The same with the length of a group's key, minus 1. The key follows the head and the past.
pub(crate) const GROUPED_HEAD: usize = HEAD + 1;

/// A number in 7 bytes. Only a made-up receipt can hold a larger number; it becomes the largest one, which no lease
/// has.
pub(crate) fn wide(number: u64) -> [u8; WIDE] {
    let bytes = number.min(LARGEST).to_be_bytes();
    let mut wide = [0; WIDE];
    wide.copy_from_slice(&bytes[1..]);
    wide
}

/// A receipt as a member of the leases.
pub(crate) fn lease(receipt: Receipt) -> [u8; 2 * WIDE] {
    let mut member = [0; 2 * WIDE];
    member[..WIDE].copy_from_slice(&wide(receipt.id.get()));
    member[WIDE..].copy_from_slice(&wide(receipt.token.get()));
    member
}

/// A due time as the scripts read it: relative to now, or since 1970.
pub(crate) fn due(due: Due) -> [u8; 1 + WIDE] {
    let (absolute, millis) = match due {
        Due::After(delay) => (0, millis_ceil(delay)),
        Due::At(time) => (1, time.as_millis()),
    };
    let mut bytes = [absolute; 1 + WIDE];
    bytes[1..].copy_from_slice(&wide(millis));
    bytes
}

/// The fate of an outdated message, as the scripts read it.
pub(crate) const fn outdated(then: Outdated) -> char {
    match then {
        Outdated::Drop => 'd',
        Outdated::Bury => 'b',
    }
}

/// The content of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: MessageId,
    /// The attempts charged.
    pub(crate) attempts: u32,
    pub(crate) pushed: Timestamp,
    /// The failure that the last retry gave (L14).
    pub(crate) failure: Option<String>,
    /// Its priority, on a priority queue.
    pub(crate) priority: Option<i16>,
    /// The key of its group, on a grouped queue.
    pub(crate) group: Option<Bytes>,
    /// The state that a holder stored with the message (L21).
    pub(crate) state: Option<Bytes>,
    /// The length of the state, also if the frame was cut in front of it.
    pub(crate) state_size: usize,
    pub(crate) content: Content,
}

impl Frame {
    /// Reads a frame, or the frames of a pack, into `frames`; `None` if the bytes are neither. The messages of a pack
    /// may be in the `next` value.
    pub(crate) fn read_all(
        bytes: Bytes,
        next: impl FnOnce() -> Option<Bytes>,
        head: usize,
        frames: &mut Vec<Self>,
    ) -> Option<()> {
        let first = bytes.first().copied().map(First::of);
        if first != Some(First::Pack) || bytes.len() <= head {
            frames.push(Self::read(bytes, head)?);
            return Some(());
        }
        let mut rest = bytes.slice(1..);
        let (first, pushed) = (narrow(&mut rest)?, narrow(&mut rest)?);
        let count = rest.try_get_u8().ok()?;
        if rest.is_empty() {
            rest = next()?;
            rest.advance(rest.len().min(2));
        }
        let contents = payloads(rest.clone(), count.into());
        let mut contents = contents.map(IntoIterator::into_iter);
        for id in (first..).take(count.into()) {
            let content = contents.as_mut().and_then(Iterator::next);
            frames.push(Self {
                id: MessageId::new(id),
                attempts: 0,
                pushed: Timestamp::from_millis(pushed),
                failure: None,
                priority: None,
                group: None,
                state: None,
                state_size: 0,
                content: content.map_or_else(|| Content::Damaged(rest.clone()), Content::read),
            });
        }
        Some(())
    }

    /// Reads a frame with a head of `head` bytes; `None` if the bytes are no frame.
    pub(crate) fn read(mut bytes: Bytes, head: usize) -> Option<Self> {
        if bytes.len() <= head {
            return None;
        }
        let mut start = bytes.split_to(head);
        let priority = priority(&start, head);
        let key = (head == GROUPED_HEAD).then(|| 1 + usize::from(start[HEAD]));
        let first = First::of(start.get_u8());
        let id = MessageId::new(narrow(&mut start)?);
        let (attempts, pushed, failure) = match first {
            First::WithPast => {
                let attempts = bytes.try_get_u32().ok()?;
                let pushed = narrow(&mut bytes)?;
                let length = bytes.try_get_u16().ok()?;
                let failure = any_text(&mut bytes, length.into())?;
                (
                    attempts,
                    pushed,
                    Some(failure).filter(|why| !why.is_empty()),
                )
            }
            First::Attempts(few) => (few.into(), narrow(&mut start)?, None),
            First::Pack | First::Messages => return None,
        };
        let group = match key {
            Some(length) if bytes.len() < length => return None,
            key => key.map(|length| bytes.split_to(length)),
        };
        let (state, state_size) = payload::state(&mut bytes);
        Some(Self {
            id,
            attempts,
            pushed: Timestamp::from_millis(pushed),
            failure,
            priority,
            group,
            state,
            state_size,
            content: Content::read(bytes),
        })
    }

    /// The message; `None` as for [`Content::message`].
    pub(crate) fn message(self) -> Option<Message> {
        self.content.message(self.id)
    }

    /// A delivery, from the frame as it was before the lease; `None` as for [`message`](Self::message).
    pub(crate) fn delivery(
        mut self,
        token: u64,
        time_left: Duration,
        max_attempts: u32,
    ) -> Option<Delivery> {
        let (attempt, token) = (self.attempts.saturating_add(1), Token::new(token));
        let (age, priority) = (token.leased_at().since(self.pushed), self.priority);
        let (failure, group) = (self.failure.take(), self.group.take());
        let state = self.state.take().map(Box::new);
        let Message {
            id, body, headers, ..
        } = self.message()?;
        let mut delivery = Delivery::new(Receipt::new(id, token), attempt, time_left, body);
        delivery.headers = headers;
        delivery.failure = failure;
        delivery.age = Some(age);
        delivery.last_attempt = attempt >= max_attempts;
        delivery.priority = priority;
        delivery.group = group;
        delivery.state = state;
        Some(delivery)
    }
}

/// A message as `lua/leasing/peek.lua` returns it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) frame: Frame,
    age: Duration,
    time_to_live: Option<TimeToLive>,
    standing: Standing,
}

impl Shown {
    /// Reads the frame, the time when the message is due or its lease expires, and for a lease its token, the
    /// holder's name and the progress.
    pub(crate) fn read(
        frame: Bytes,
        head: usize,
        place: Place,
        now: Timestamp,
        time: Timestamp,
        mut lease: Bytes,
    ) -> Option<Self> {
        let frame = Frame::read(frame, head)?;
        let left = time.since(now);
        let standing = match place {
            Place::Ready => Standing::Ready,
            Place::Delayed => Standing::delayed(left),
            Place::Leased => {
                let token = Token::new(narrow(&mut lease)?);
                let name = lease.iter().position(|byte| *byte == NO_UTF8);
                let progress = name.map(|end| lease.split_off(end).slice(1..));
                let name = lease.len();
                // No holder's name is empty.
                let holder = text(&mut lease, name).and_then(|name| Holder::new(name).ok());
                Standing::leased(Receipt::new(frame.id, token), left, holder, progress)
            }
        };
        Some(Self {
            age: now.since(frame.pushed),
            time_to_live: None,
            frame,
            standing,
        })
    }

    /// With the end of its time to live, as `lua/lib/attachments.lua` describes it. A damaged one is left out: the message
    /// has no end.
    pub(crate) fn with_end(self, mut end: Bytes, now: Timestamp) -> Self {
        let limit = narrow(&mut end).map(|end| Timestamp::from_millis(end).since(now));
        let then = match &end[..] {
            [b'd'] => Some(Outdated::Drop),
            [b'b'] => Some(Outdated::Bury),
            _ => None,
        };
        let time_to_live = limit.zip(then);
        Self {
            time_to_live: time_to_live.map(|(limit, then)| TimeToLive { limit, then }),
            ..self
        }
    }

    /// The attempts, including the one under way.
    fn attempts(&self) -> u32 {
        match &self.standing {
            Standing::Leased { .. } => self.frame.attempts.saturating_add(1),
            _ => self.frame.attempts,
        }
    }

    /// The message as a caller sees it; `None` as for [`Frame::message`].
    pub(crate) fn peeked(mut self) -> Option<Peeked> {
        let attempts = self.attempts();
        let failure = self.frame.failure.take();
        let (priority, group) = (self.frame.priority, self.frame.group.take());
        let state = self.frame.state.take();
        let mut peeked = Peeked::new(self.frame.message()?, attempts, self.age, self.standing);
        peeked.failure = failure;
        peeked.priority = priority.unwrap_or_default();
        peeked.group = group;
        peeked.state = state;
        peeked.time_to_live = self.time_to_live;
        Some(peeked)
    }
}

/// The priority in a frame with a head of `head` bytes; `None` if such heads have no priority.
fn priority(frame: &[u8], head: usize) -> Option<i16> {
    let stored = frame.get(HEAD..HEAD + 2).filter(|_| head == PRIORITY_HEAD);
    // Stored without a sign, so that zero is the lowest.
    stored.map(|bytes| (u16::from_be_bytes([bytes[0], bytes[1]]) ^ 0x8000).cast_signed())
}

/// A dead letter's record: see `lua/lib/dead_letters.lua`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    pub(crate) frame: Frame,
    reason: DeathReason,
    died_at: Timestamp,
}

/// The reason of a death that no consumer caused.
pub(crate) const DAMAGED: &str =
    "what is stored of it was damaged: its body is the bytes that were found";

impl Dead {
    /// Reads a record whose frame has a head of `head` bytes; `None` if the bytes are no record.
    pub(crate) fn read(mut bytes: Bytes, head: usize) -> Option<Self> {
        let died_at = Timestamp::from_millis(narrow(&mut bytes)?);
        let why = bytes.try_get_u8().ok()?;
        let length = usize::from(bytes.try_get_u16().ok()?);
        let reason = any_text(&mut bytes, length)?;
        let reason = match why {
            b'd' => {
                let id = MessageId::new(narrow(&mut bytes)?);
                return Some(Self {
                    frame: Frame {
                        id,
                        attempts: 0,
                        pushed: Timestamp::from_millis(0),
                        failure: None,
                        priority: None,
                        group: None,
                        state: None,
                        state_size: 0,
                        content: Content::Damaged(bytes),
                    },
                    reason: DeathReason::Buried(DAMAGED.to_owned()),
                    died_at,
                });
            }
            b'b' => DeathReason::Buried(reason),
            b'r' => DeathReason::Retried,
            b'e' => DeathReason::Expired,
            b'o' => DeathReason::Outdated,
            _ => return None,
        };
        Some(Self {
            frame: Frame::read(bytes, head)?,
            reason,
            died_at,
        })
    }

    /// The dead letter as a caller sees it. A damaged one has the stored bytes as its body, and no headers.
    pub(crate) fn letter(self) -> DeadLetter {
        let Self {
            frame,
            reason,
            died_at,
        } = self;
        let damaged = |found| {
            let reason = DeathReason::Buried(DAMAGED.to_owned());
            (Headers::new(), found, reason)
        };
        let (headers, body, reason) = match frame.content {
            Content::Here(headers, body) => (headers, body, reason),
            Content::Damaged(found) => damaged(found),
            // The body is gone.
            Content::Apart(_) => damaged(Bytes::new()),
        };
        let mut letter = DeadLetter::new(
            frame.id,
            body,
            reason,
            frame.attempts,
            frame.pushed,
            died_at,
        );
        letter.headers = headers;
        letter.failure = frame.failure;
        letter.priority = frame.priority.unwrap_or_default();
        letter.group = frame.group;
        letter.state = frame.state;
        letter
    }
}

/// Reads an answer of `lua/leasing/find.lua`.
pub(crate) fn found(
    letter: &[u8],
    bytes: Bytes,
    head: usize,
    now: Timestamp,
    time: Timestamp,
    lease: Bytes,
) -> Option<Found> {
    let place = match letter {
        b"r" | b"e" => Place::Ready,
        b"d" => Place::Delayed,
        b"l" => Place::Leased,
        b"x" => {
            let dead = Dead::read(bytes, head)?;
            let found = Found::dead(
                dead.frame.attempts,
                dead.reason,
                dead.frame.failure,
                dead.frame.pushed,
                dead.died_at,
            );
            return Some(found.with_state_size(dead.frame.state_size));
        }
        b"k" => return Some(Found::Done(bytes)),
        b"g" => return Some(Found::Gone),
        b"n" => return Some(Found::NeverWas),
        _ => return None,
    };
    let shown = Shown::read(bytes, head, place, now, time, lease)?;
    let spent = u32::from(letter == b"e");
    let state_size = shown.frame.state_size;
    let attempts = shown.attempts().saturating_add(spent);
    let found = Found::present(attempts, shown.age, shown.frame.failure, shown.standing);
    Some(found.with_state_size(state_size))
}

/// Reads an id that is a value of its own in a script's reply.
pub(crate) fn id(mut bytes: Bytes) -> Option<MessageId> {
    let id = narrow(&mut bytes)?;
    bytes.is_empty().then_some(MessageId::new(id))
}

/// Reads a token at the beginning of the remaining bytes.
pub(crate) fn token(bytes: &mut Bytes) -> Option<u64> {
    narrow(bytes)
}

fn narrow(bytes: &mut Bytes) -> Option<u64> {
    (bytes.len() >= WIDE).then(|| bytes.get_uint(WIDE))
}

/// Text for display only, so invalid UTF-8 is replaced.
fn any_text(bytes: &mut Bytes, length: usize) -> Option<String> {
    let found = (bytes.len() >= length).then(|| bytes.split_to(length))?;
    Some(String::from_utf8_lossy(&found).into_owned())
}
