//! One queue of a relay: its handle, its pauses, and its pushes.

use std::time::Duration;

use queue_core::{
    AnyQueue, Error, ErrorKind, Push, Pushed, QueueConfig, QueueName, Queues, Result, limits,
};
use tokio::time::Instant;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Pauses that double, up to 5 s.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    last: Duration,
    until: Option<Instant>,
}

impl Pauses {
    pub(super) fn begin(&mut self) -> Duration {
        self.last = (2 * self.last).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.until = Some(Instant::now() + self.last);
        self.last
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    pub(super) fn are_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// The time left.
    pub(super) fn left(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }
}

/// A queue of the outbox.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: QueueName,
    config: QueueConfig,
    queue: Option<AnyQueue>,
    pub(super) pauses: Pauses,
}

/// The ends of the rows of one round.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) done: Vec<i64>,
    pub(super) duplicates: u64,
    /// Rows to keep apart, and the reasons.
    pub(super) refused: Vec<(i64, String)>,
}

impl Target {
    pub(super) fn new(name: &QueueName, config: &QueueConfig) -> Self {
        Self {
            name: name.clone(),
            config: config.clone(),
            queue: None,
            pauses: Pauses::default(),
        }
    }

    pub(super) const fn is_open(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether its rows may be taken now.
    pub(super) fn is_ready(&self) -> bool {
        self.is_open() && self.pauses.are_over()
    }

    pub(super) async fn open(&mut self, queues: &Queues) -> Result<()> {
        if self.queue.is_none() {
            self.queue = Some(queues.backend().open(&self.name, &self.config).await?);
        }
        Ok(())
    }

    /// Why the queue would never take this message.
    pub(super) fn refusal(&self, push: &Push) -> Option<Error> {
        let one = std::slice::from_ref(push);
        Push::check_all(one, self.config.kind(), self.config.max_body()).err()
    }

    /// Pushes messages in this order, in batches. Each batch is one atomic call.
    ///
    /// # Errors
    ///
    /// The queue's; `Full` if it has no room. The batches before it are noted as done.
    pub(super) async fn push(&self, rows: &[(i64, Push)], ends: &mut Ends) -> Result<()> {
        let Some(queue) = &self.queue else {
            return Ok(());
        };
        let mut rest = rows;
        while !rest.is_empty() {
            let sizes = rest.iter().map(|(_, push)| push.size());
            let (batch, later) = rest.split_at(limits::fitting(sizes, limits::MAX_BATCH));
            rest = later;
            match put(queue, batch, ends).await {
                // One message of the batch is at fault. Push each alone, so that the others are not held up.
                Err(error) if error.kind() == ErrorKind::Invalid => {
                    for row in batch {
                        match put(queue, std::slice::from_ref(row), ends).await {
                            Err(error) if error.kind() == ErrorKind::Invalid => {
                                ends.refused.push((row.0, error.to_string()));
                            }
                            put => put?,
                        }
                    }
                }
                put => put?,
            }
        }
        Ok(())
    }
}

async fn put(queue: &AnyQueue, rows: &[(i64, Push)], ends: &mut Ends) -> Result<()> {
    let pushes: Vec<Push> = rows.iter().map(|(_, push)| push.clone()).collect();
    let pushed = queue.put(&pushes).await?;
    let mut full = false;
    for ((id, _), pushed) in rows.iter().zip(pushed) {
        match pushed {
            Pushed::Full => full = true,
            pushed => {
                ends.done.push(*id);
                ends.duplicates += u64::from(pushed.is_duplicate());
            }
        }
    }
    match full {
        true => Err(Error::new(
            ErrorKind::Full,
            "the queue is full: rows of the outbox wait for room",
        )),
        false => Ok(()),
    }
}
