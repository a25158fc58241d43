//! Importing: exported messages, pushed each once.

use std::{ops::AddAssign, time::Duration};

use queue_core::{
    AnyQueue, Backend, Due, Error, ErrorKind, Headers, LeasingExt, Push, Pushed, QueueKind,
    QueueName, Result, TimeToLive, Timestamp, limits,
};
use serde::Serialize;

use super::message::{ExportedGroup, ExportedMessage, ExportedTimeToLive};

/// How long a broken transfer can be repeated.
const REPEATABLE: Duration = limits::MAX_DEDUP_WINDOW;

/// A message whose time to live is over is not due before the queue has ended it.
const ENDED_BY_THEN: u64 = 60_000;

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
    /// Of a move: they stay, because their group is paused or parked, or one of its messages is leased in strict order.
    pub stay: u64,
}

/// Pushes these messages, under the name of a transfer.
///
/// A message that was delayed is due at its time. A time to live ends when it would have ended: if it is over, the queue
/// ends the message at once, as its push said. The first message of a group in strict order is ready at once, so that it
/// stays the first, though it waited for a retry.
///
/// Each message is pushed once, however often its transfer is repeated within seven days. An import loses what a queue
/// alone can give: ids, attempts, reasons, ages, dedup marks and distinct keys.
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
    let target = Target::open(backend, queue, transfer).await?;
    let mut transferred = Transferred::default();
    transferred.add(&target.push(messages).await?);
    Ok(transferred)
}

impl AddAssign for Transferred {
    fn add_assign(&mut self, other: Self) {
        self.pushed += other.pushed;
        self.pushed_before += other.pushed_before;
        self.full += other.full;
        self.in_both += other.in_both;
        self.stay += other.stay;
    }
}

impl Transferred {
    pub(super) fn add(&mut self, answers: &[Pushed]) {
        for answer in answers {
            match answer {
                Pushed::Accepted(_) | Pushed::Replaced { .. } | Pushed::Evicted { .. } => {
                    self.pushed += 1;
                }
                Pushed::Duplicate(_) => self.pushed_before += 1,
                Pushed::Full => self.full += 1,
            }
        }
    }
}

/// The queue that a transfer pushes to, opened for bodies of any size.
pub(super) struct Target<'a> {
    backend: &'a dyn Backend,
    queue: AnyQueue,
    transfer: &'a str,
}

impl<'a> Target<'a> {
    pub(super) async fn open(
        backend: &'a dyn Backend,
        queue: &str,
        transfer: &'a str,
    ) -> Result<Self> {
        let name = QueueName::new(queue)?;
        let Some(stored) = backend.open_stored(&name).await? else {
            let message = "there is no such queue: open it in a program first, so that it has its configuration";
            return Err(Error::new(ErrorKind::Configuration, message).with_queue(&name));
        };
        let config = stored.config.with_max_body(limits::MAX_BATCH_BYTES);
        Ok(Self {
            backend,
            queue: backend.open(&name, &config).await?,
            transfer,
        })
    }

    /// Pushes these messages. Returns one answer for each.
    pub(super) async fn push(&self, messages: &[ExportedMessage]) -> Result<Vec<Pushed>> {
        let has_ends = messages.iter().any(|one| one.time_to_live.is_some());
        let now = match has_ends {
            true => self.backend.now().await?,
            false => Timestamp::default(),
        };
        let Some(queue) = self.queue.leasing() else {
            return Err(Error::invalid("a ring: its items come from its programs"));
        };
        let kind = self.queue.kind();
        let pushes = messages
            .iter()
            .map(|message| message_push(message, kind, self.transfer, now));
        let pushes: Vec<Push> = pushes.collect::<Result<_>>()?;
        queue.push_all(&pushes).await
    }
}

/// The message for a queue of this kind.
fn message_push(
    message: &ExportedMessage,
    kind: QueueKind,
    transfer: &str,
    now: Timestamp,
) -> Result<Push> {
    let headers: Headers = message.headers.iter().cloned().collect();
    let mut push = Push::new(message.body.bytes()?).with_headers(headers);
    if kind == QueueKind::Priority {
        push = push.with_priority(message.priority);
    }
    if kind == QueueKind::Grouped {
        let key = message.group.as_ref().map(ExportedGroup::bytes);
        push = push.with_group(key.unwrap_or_else(|| Ok(Push::NO_GROUP.into()))?);
    }
    let push = push.with_dedup(format!("{transfer} {}", message.id), REPEATABLE);
    let due = message.due_at_ms.filter(|_| !message.is_first_of_group);
    let push = match due {
        Some(at) => push.with_due(Due::At(at)),
        None => push,
    };
    let Some(ExportedTimeToLive { ends_at_ms, then }) = message.time_to_live else {
        return Ok(push);
    };
    let limit = ends_at_ms.since(now);
    if !limit.is_zero() {
        return Ok(push.with_time_to_live(TimeToLive { limit, then }));
    }
    let limit = Duration::from_millis(1);
    let push = push.with_time_to_live(TimeToLive { limit, then });
    Ok(push.with_due(Due::At(now.plus_millis(ENDED_BY_THEN))))
}
