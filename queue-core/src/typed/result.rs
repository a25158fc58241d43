//! What became of a job, for whoever waits for its result.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Typed;
use crate::{Found, Json, Leasing, LeasingExt, MessageId, Result};

/// What became of a job, with its result in JSON (S1).
///
/// It is JSON itself, for a web service: `"pending"`, `{"done": 7}`, `{"failed": "…"}`, `"gone"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[must_use = "reading a result changes nothing"]
pub enum JobResult<R> {
    /// It is ready, delayed or leased.
    Pending,
    /// It is done, and this is its result.
    Done(R),
    /// It is among the dead letters, for this reason.
    Failed(String),
    /// It is gone, and no result is kept; or there was no such job.
    Gone,
}

impl<R: DeserializeOwned> JobResult<R> {
    /// Reads what [`find`](Leasing::find) says.
    ///
    /// # Errors
    ///
    /// `Codec` if the result is no `R`.
    pub fn of(found: Found) -> Result<Self> {
        Ok(match found {
            Found::Present { .. } => Self::Pending,
            Found::Dead {
                reason, failure, ..
            } => Self::Failed(match failure {
                Some(failure) => format!("{reason}: {failure}"),
                None => reason.to_string(),
            }),
            Found::Done(result) => Self::Done(Json::read(&result)?),
            Found::Gone | Found::NeverWas => Self::Gone,
        })
    }
}

impl<T, Q: Leasing + ?Sized, C: ?Sized> Typed<T, Q, C> {
    /// Finds out where a job is, with its attempts and its progress (L18).
    ///
    /// # Errors
    ///
    /// The errors of [`find`](Leasing::find).
    pub fn find(&self, id: MessageId) -> impl Future<Output = Result<Found>> + Send {
        self.queue.find_one(id)
    }

    /// The result of a job, if the worker keeps results.
    ///
    /// # Errors
    ///
    /// The errors of [`find`](Leasing::find); `Codec` if the result is no `R`.
    pub fn result<R: DeserializeOwned + Send>(
        &self,
        id: MessageId,
    ) -> impl Future<Output = Result<JobResult<R>>> + Send {
        let found = self.find(id);
        async { JobResult::of(found.await?) }
    }

    /// Waits up to `timeout` for the result of a job, as
    /// [`wait_until_over`](LeasingExt::wait_until_over) waits. [`JobResult::Pending`] if the time is
    /// over before.
    ///
    /// # Errors
    ///
    /// The errors of [`result`](Self::result).
    pub fn wait_for_result<R: DeserializeOwned + Send>(
        &self,
        id: MessageId,
        timeout: Duration,
    ) -> impl Future<Output = Result<JobResult<R>>> + Send {
        let found = self.queue.wait_until_over(id, timeout);
        async { JobResult::of(found.await?) }
    }
}
