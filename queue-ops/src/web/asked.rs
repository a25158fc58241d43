//! The parts of a request's path and query.

use queue_core::{Cursor, Error, MessageId, Page, QueueName};
use serde::Deserialize;

/// Rows of a page.
pub(super) const ROWS: usize = 100;

#[derive(Deserialize)]
pub(super) struct After<T> {
    pub(super) after: Option<T>,
}

impl After<u64> {
    /// The page of entries behind this one.
    pub(super) fn page(&self) -> Page {
        match self.after {
            Some(after) => Page::after(Cursor::new(after), ROWS),
            None => Page::first(ROWS),
        }
    }
}

/// The parts of a path are taken by their names: a router that nests this one may have parts of its own before them.
#[derive(Deserialize)]
pub(super) struct InQueue {
    pub(super) queue: String,
}

#[derive(Deserialize)]
pub(super) struct InPlace {
    pub(super) queue: String,
    pub(super) place: String,
}

#[derive(Deserialize)]
pub(super) struct OfMessage {
    pub(super) queue: String,
    pub(super) id: MessageId,
}

pub(super) fn name(queue: &str) -> Result<QueueName, Error> {
    QueueName::new(queue)
}
