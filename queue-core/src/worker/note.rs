//! What handlers' tasks tell the loop, over one channel.

use std::time::Duration;

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::handler::Ending;
use crate::Result;

#[derive(Debug)]
pub(crate) enum Note {
    /// A handler's task is over.
    Ended {
        job: u64,
        /// One for each message, or none if the task was stopped or panicked outside the handler.
        endings: Option<Vec<Ending>>,
        took: Duration,
    },
    /// A handler wants its lease extended.
    Extend {
        job: u64,
        entry: usize,
        ttl: Duration,
        reply: oneshot::Sender<Result<()>>,
    },
}

/// Tells the loop that a task is over when it is dropped, so that a panic or an abort also
/// reports. It lives in the task, and longer there than the handler does: once the loop hears of
/// it, nothing of the handler is left running.
#[derive(Debug)]
pub(crate) struct Last {
    job: u64,
    started: Instant,
    notes: mpsc::UnboundedSender<Note>,
    endings: Option<Vec<Ending>>,
}

impl Last {
    pub(crate) fn new(job: u64, notes: mpsc::UnboundedSender<Note>) -> Self {
        Self {
            job,
            started: Instant::now(),
            notes,
            endings: None,
        }
    }

    pub(crate) fn ended(&mut self, endings: Vec<Ending>) {
        self.endings = Some(endings);
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        // If nobody listens, the worker itself was dropped.
        let _ = self.notes.send(Note::Ended {
            job: self.job,
            endings: self.endings.take(),
            took: self.started.elapsed(),
        });
    }
}
