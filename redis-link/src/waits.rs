//! Waits for copies of a connection's writes: one wait serves all calls that were answered before it.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use queue_core::{Copies, Error, Result, Spawn};

use crate::{
    batching::{BatchLimit, Batcher, SendBatch},
    connection::{Channel, CopiesAsked},
};

/// The waits of one connection. Callers that arrive during a wait share the next one.
pub(crate) type Waits = Batcher<CopyWait>;

/// Sends waits, and remembers the last one.
#[derive(Debug)]
pub(crate) struct CopyWait {
    asked: CopiesAsked,
    last: Mutex<Option<Waited>>,
}

/// A wait that is over.
#[derive(Debug)]
struct Waited {
    /// Weak, so that it does not keep the connection open.
    channel: Weak<Channel>,
    /// The number of requests that the connection had answered when the wait was sent.
    answered: u64,
    copies: Copies,
}

/// A caller's position in the history of a connection: all of its calls were answered by then.
#[derive(Debug, Clone)]
pub(crate) struct Moment {
    channel: Arc<Channel>,
    answered: u64,
    /// A key in the slot of the calls, for a write.
    key: Arc<str>,
}

impl Moment {
    /// The current position.
    pub(crate) fn now(channel: Arc<Channel>, key: Arc<str>) -> Self {
        Self {
            answered: channel.answered(),
            channel,
            key,
        }
    }
}

impl CopyWait {
    /// `patience` is how long a caller waits until its wait is sent.
    pub(crate) fn waits(asked: CopiesAsked, patience: Duration, spawn: Arc<dyn Spawn>) -> Waits {
        let last = Mutex::default();
        Batcher::new(Self { asked, last }, patience, spawn)
    }

    /// The result of the last wait, if it was sent after this moment.
    fn known(&self, moment: &Moment) -> Option<Copies> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref()?;
        let is_covered = last.channel.as_ptr() == Arc::as_ptr(&moment.channel)
            && moment.answered <= last.answered;
        is_covered.then(|| last.copies.clone())
    }

    async fn wait(&self, moment: &Moment) -> Copies {
        let channel = &moment.channel;
        // Read before the wait is sent. The server handles a connection's requests in order, so every request with a
        // reply by now was done before the wait.
        let answered = channel.answered();
        let copies = self.asked.wait(channel, &moment.key).await;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(Waited {
            channel: Arc::downgrade(channel),
            answered,
            copies: copies.clone(),
        });
        copies
    }
}

#[async_trait]
impl SendBatch for CopyWait {
    type Request = Moment;
    type Reply = Copies;

    /// Waits are counted, and weigh nothing.
    const MOST: BatchLimit = BatchLimit {
        entries: 128,
        bytes: 8 * 1024 * 1024,
    };

    async fn send_batch(&self, moments: &[Moment]) -> Result<Vec<Copies>> {
        let mut all = Vec::with_capacity(moments.len());
        for moment in moments {
            all.push(match self.known(moment) {
                Some(copies) => copies,
                None => self.wait(moment).await,
            });
        }
        Ok(all)
    }

    fn size(_moment: &Moment) -> usize {
        1
    }

    /// A wait uses the connection of its calls or none, so it waits for no other connection.
    async fn ready(&self) -> Result<()> {
        Ok(())
    }

    fn unsent(&self) -> Error {
        Error::invalid("the waits before took too long")
    }
}
