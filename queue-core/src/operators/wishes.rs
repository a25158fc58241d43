//! Wishes of operators for running workers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{OperatorsList, OperatorsRecord};
use crate::{Backend, Result};

/// An operator's wish for a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WorkerWish {
    /// It receives messages again, after [`Quiet`](Self::Quiet).
    Work,
    /// It receives no further messages; its handlers go on.
    Quiet,
    /// It receives no further messages, and ends after its handlers, as at the shutdown of its program.
    Drain,
}

/// A wish, for the worker with this key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WishRecord {
    /// The key of the worker's record.
    pub worker: String,
    /// The wish.
    pub wish: WorkerWish,
}

impl OperatorsRecord for WishRecord {
    const LIST: &'static str = "qk-wishes";
    const CAPACITY: usize = 1_000;
    const LISTED: Duration = Duration::from_secs(86_400);
}

/// The wish for the worker with this key.
pub(super) async fn wish_for(backend: &dyn Backend, key: &str) -> Result<Option<WorkerWish>> {
    let wishes = OperatorsList::<WishRecord>::read(backend).await?;
    let own = wishes.into_iter().rfind(|one| one.record.worker == key);
    Ok(own.map(|one| one.record.wish))
}
