//! Messages from one queue to another: exported as lines of JSON, imported, or moved.
//!
//! Each message is pushed under a dedup key of its transfer and its id. So a transfer that broke can be repeated for
//! seven days, and pushes nothing twice (L9).

use std::{collections::BTreeSet, ops::AddAssign, time::Duration};

use queue_core::{
    AnyQueue, Backend, Bytes, Cancelled, Due, Error, ErrorKind, GroupedQueueExt, Headers, Keyed,
    Leasing, MessageId, Offered, Page, Peeked, Place, Prioritized, PriorityQueueExt, Push, Pushed,
    QueueName, Result, Standing, Timestamp, limits, millis_ceil,
};
use serde::{Deserialize, Serialize};

use crate::open::open_leasing;

/// How long a broken transfer can be repeated.
const REPEATABLE: Duration = limits::MAX_DEDUP_WINDOW;
/// Passes over a queue whose messages move meanwhile.
const PASSES: usize = 10;

/// A message, as a line of an export has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportedMessage {
    /// Its id in the queue that it comes from.
    pub id: MessageId,
    /// Its place there.
    pub place: ExportedPlace,
    /// Its priority, if that is not 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i16,
    /// The key of its group, on a grouped queue.
    #[serde(flatten)]
    pub group: Option<ExportedGroup>,
    /// Of a delayed message: when it is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at_ms: Option<Timestamp>,
    /// The attempts that it has had. An import begins from 0.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub attempts: u32,
    /// Why its last attempt failed, or why it died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Its body.
    #[serde(flatten)]
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

/// The key of a group in JSON: as text, or as hexadecimal digits if it is no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportedGroup {
    /// Text.
    #[serde(rename = "group")]
    Text(String),
    /// Other bytes.
    #[serde(rename = "group_hex")]
    Hex(String),
}

impl ExportedGroup {
    fn of(key: &Bytes) -> Self {
        match std::str::from_utf8(key) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex(hex(key)),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// `Invalid` for other than hexadecimal digits.
    pub fn bytes(&self) -> Result<Bytes> {
        match self {
            Self::Text(text) => Ok(Bytes::from(text.clone())),
            Self::Hex(digits) => unhex("group_hex", digits),
        }
    }
}

fn hex(bytes: &Bytes) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(field: &str, digits: &str) -> Result<Bytes> {
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    let bytes = bytes.filter(|_| digits.len().is_multiple_of(2));
    bytes.map(Bytes::from).ok_or_else(|| {
        Error::invalid(format!(
            "a `{field}` that is not pairs of hexadecimal digits"
        ))
    })
}

/// A body in JSON: as text, or as hexadecimal digits if it is no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportedBody {
    /// Text.
    #[serde(rename = "body")]
    Text(String),
    /// Other bytes.
    #[serde(rename = "body_hex")]
    Hex(String),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(priority: &i16) -> bool {
    *priority == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_none_yet(attempts: &u32) -> bool {
    *attempts == 0
}

impl ExportedBody {
    fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex(hex(bytes)),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    ///
    /// `Invalid` for other than hexadecimal digits.
    pub fn bytes(&self) -> Result<Bytes> {
        match self {
            Self::Text(text) => Ok(Bytes::from(text.clone())),
            Self::Hex(digits) => unhex("body_hex", digits),
        }
    }
}

impl ExportedMessage {
    fn of(peeked: Peeked, now: Timestamp) -> Self {
        let (place, due_at_ms) = match peeked.standing {
            Standing::Ready => (ExportedPlace::Ready, None),
            Standing::Delayed { due_in } => (
                ExportedPlace::Delayed,
                Some(now.plus_millis(millis_ceil(due_in))),
            ),
            Standing::Leased { .. } => (ExportedPlace::Leased, None),
        };
        Self {
            id: peeked.message.id,
            place,
            priority: peeked.priority,
            group: peeked.group.as_ref().map(ExportedGroup::of),
            due_at_ms,
            attempts: peeked.attempts,
            failure: peeked.failure,
            headers: named(&peeked.message.headers),
            body: ExportedBody::of(&peeked.message.body),
        }
    }

    fn push(&self, transfer: &str) -> Result<Push> {
        let headers: Headers = self.headers.iter().cloned().collect();
        let push = Push::new(self.body.bytes()?).with_headers(headers);
        Ok(push.with_dedup(format!("{transfer} {}", self.id), REPEATABLE))
    }
}

fn named(headers: &Headers) -> Vec<(String, String)> {
    let named = headers.iter();
    named
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Passes each message of a queue to `write`, once: delayed, ready and leased ones in their orders, then dead letters.
/// Returns how many there were.
///
/// It changes nothing. It goes over the queue again until it finds no more, so a message that changes its place
/// meanwhile is not missed; one that is acked meanwhile may be. Pause the queue for an exact copy.
///
/// # Errors
///
/// `Invalid` for a bad name, for a ring, and if there is no such queue. Errors of the backend, and of `write`.
pub async fn export(
    backend: &dyn Backend,
    queue: &str,
    write: &mut (dyn FnMut(ExportedMessage) -> Result<()> + Send),
) -> Result<u64> {
    let leasing = open_leasing(backend, &QueueName::new(queue)?).await?;
    let mut seen = BTreeSet::new();
    for _ in 0..PASSES {
        let before = seen.len();
        for place in [Place::Delayed, Place::Ready, Place::Leased] {
            let mut page = Page::first(limits::MAX_PAGE);
            loop {
                let read = leasing.peek(place, page).await?;
                let now = backend.now().await?;
                for peeked in read.entries {
                    if seen.insert(peeked.message.id) {
                        write(ExportedMessage::of(peeked, now))?;
                    }
                }
                match read.next {
                    Some(next) => page = Page::after(next, limits::MAX_PAGE),
                    None => break,
                }
            }
        }
        if seen.len() == before {
            break;
        }
    }
    let mut page = Page::first(limits::MAX_PAGE);
    loop {
        let read = leasing.dead_letters(page).await?;
        for letter in read.entries {
            if seen.insert(letter.id) {
                write(ExportedMessage {
                    id: letter.id,
                    place: ExportedPlace::Dead,
                    priority: 0,
                    group: None,
                    due_at_ms: None,
                    attempts: letter.attempts,
                    failure: Some(letter.why()),
                    headers: named(&letter.headers),
                    body: ExportedBody::of(&letter.body),
                })?;
            }
        }
        match read.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => return Ok(seen.len() as u64),
        }
    }
}

/// The numbers of messages that a transfer pushed, and of those that it did not push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Transferred {
    /// They were pushed.
    pub pushed: u64,
    /// An earlier try of the same transfer had pushed them.
    pub pushed_before: u64,
    /// The bounded queue had no room for them. Make room, and repeat the transfer.
    pub full: u64,
    /// Of a move: they were leased between the two steps, so they are in both queues.
    pub in_both: u64,
}

/// Pushes these messages, under the name of a transfer. A message that was delayed is due at its time.
///
/// Each message is pushed once, however often its transfer is repeated within seven days. An import loses what a queue
/// alone can give: ids, attempts, ages, dedup marks and distinct keys.
///
/// # Errors
///
/// `Invalid` for a bad name, for a ring, and if there is no such queue. Errors of the backend: some of the messages may
/// have been pushed.
pub async fn import(
    backend: &dyn Backend,
    queue: &str,
    transfer: &str,
    messages: &[ExportedMessage],
) -> Result<Transferred> {
    let answers = push_all(&open_for_all(backend, queue).await?, transfer, messages).await?;
    let mut transferred = Transferred::default();
    transferred.add(&answers);
    Ok(transferred)
}

impl AddAssign for Transferred {
    fn add_assign(&mut self, other: Self) {
        self.pushed += other.pushed;
        self.pushed_before += other.pushed_before;
        self.full += other.full;
        self.in_both += other.in_both;
    }
}

impl Transferred {
    fn add(&mut self, answers: &[Offered]) {
        for answer in answers {
            match answer {
                Offered::Accepted { .. } | Offered::Replaced { .. } => self.pushed += 1,
                Offered::Duplicate(_) => self.pushed_before += 1,
                Offered::Full => self.full += 1,
            }
        }
    }
}

/// Opens a queue for bodies of any size.
async fn open_for_all(backend: &dyn Backend, queue: &str) -> Result<AnyQueue> {
    let name = QueueName::new(queue)?;
    let Some(stored) = backend.open_stored(&name).await? else {
        let message =
            "there is no such queue: open it in a program first, so that it has its configuration";
        return Err(Error::new(ErrorKind::Configuration, message).with_queue(&name));
    };
    let config = stored.config.with_max_body(limits::MAX_BATCH_BYTES);
    backend.open(&name, &config).await
}

async fn push_all(
    queue: &AnyQueue,
    transfer: &str,
    messages: &[ExportedMessage],
) -> Result<Vec<Offered>> {
    let mut pushes = Vec::with_capacity(messages.len());
    for message in messages {
        let push = message.push(transfer)?;
        let push = match message.due_at_ms {
            Some(at) => push.with_due(Due::At(at)),
            None => push,
        };
        pushes.push((push, message));
    }
    let plain = |pushes: Vec<(Push, &ExportedMessage)>| -> Vec<Push> {
        pushes.into_iter().map(|(push, _)| push).collect()
    };
    match queue {
        AnyQueue::Priority(queue) => {
            let pushes = pushes.into_iter();
            let pushes = pushes.map(|(push, message)| Prioritized::new(push, message.priority));
            let pushes: Vec<Prioritized> = pushes.collect();
            Ok(offered(queue.enqueue_all(&pushes).await?))
        }
        AnyQueue::Grouped(queue) => {
            let keyed = pushes.into_iter().map(|(push, message)| {
                // A dead letter was exported without its group.
                let key = message.group.as_ref().map(ExportedGroup::bytes);
                let key = key.unwrap_or_else(|| Ok(Keyed::WITHOUT_KEY.into()))?;
                Ok(Keyed::new(push, key))
            });
            let keyed: Vec<Keyed> = keyed.collect::<Result<_>>()?;
            Ok(offered(queue.push_keyed_all(&keyed).await?))
        }
        AnyQueue::Rotating(_) => Err(Error::invalid("a ring: its items come from its programs")),
        queue => queue.put_all(&plain(pushes)).await,
    }
}

fn offered(pushed: Vec<Pushed>) -> Vec<Offered> {
    let offered = |pushed| match pushed {
        Pushed::Accepted(id) => Offered::Accepted { id, evicted: None },
        Pushed::Duplicate(id) => Offered::Duplicate(id),
    };
    pushed.into_iter().map(offered).collect()
}

/// Moves the ready and delayed messages of a paused queue to another queue, under the name of a transfer. `progress`
/// gets the number of those moved so far.
///
/// Each message is pushed to the other queue, and then cancelled here. If the move breaks, repeat it under the same
/// name: nothing is pushed twice. Leased messages and dead letters stay. It ends if the other queue is full.
///
/// # Errors
///
/// `Invalid` for a bad name, a ring, and a queue that is not paused: a consumer could lease a message between the two
/// steps. Errors of the backend.
pub async fn move_messages(
    backend: &dyn Backend,
    from: &str,
    to: &str,
    transfer: &str,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Transferred> {
    if from == to {
        return Err(Error::invalid(format!("`{from}` to itself")));
    }
    let old = open_leasing(backend, &QueueName::new(from)?).await?;
    let new = open_for_all(backend, to).await?;
    if !old.counters().await?.paused {
        return Err(Error::invalid(format!(
            "`{from}` is not paused: a consumer could lease a message while it is moved"
        )));
    }
    let mut moved = Transferred::default();
    for place in [Place::Ready, Place::Delayed] {
        loop {
            let read = old.peek(place, Page::first(limits::MAX_BATCH)).await?;
            let now = backend.now().await?;
            let messages: Vec<ExportedMessage> = read
                .entries
                .into_iter()
                .map(|peeked| ExportedMessage::of(peeked, now))
                .collect();
            if messages.is_empty() {
                break;
            }
            let answers = push_all(&new, transfer, &messages).await?;
            moved.add(&answers);
            let there = messages.iter().zip(&answers);
            let there = there.filter(|(_, answer)| **answer != Offered::Full);
            let ids: Vec<MessageId> = there.map(|(message, _)| message.id).collect();
            moved.in_both += cancel(&*old, &ids).await?;
            progress(moved.pushed + moved.pushed_before);
            if moved.full > 0 {
                return Ok(moved);
            }
        }
    }
    Ok(moved)
}

/// Cancels messages that are in the other queue now. Returns how many it came too late for.
async fn cancel(old: &dyn Leasing, ids: &[MessageId]) -> Result<u64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let cancelled = old.cancel(ids).await?;
    let late = cancelled.iter().filter(|one| **one != Cancelled::Cancelled);
    Ok(late.count() as u64)
}
