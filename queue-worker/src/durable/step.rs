//! Steps that run once.

use queue_core::{Bytes, Error, Json, StepRecord, with_sources};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    StepName,
    journal::{another, too_large},
};
use crate::{Context, Failure};

/// Steps of a durable job.
impl Context {
    /// Runs `work` once, and keeps its result with the message: a later attempt gets the result, and does not run `work`
    /// (W1, W2).
    ///
    /// ```
    /// use std::time::Duration;
    /// use queue_worker::{Context, Failure};
    ///
    /// # async fn pay(_: u64) -> Result<u64, Failure> { Ok(7) }
    /// # async fn close(_: u64, _: u64) -> Result<(), Failure> { Ok(()) }
    /// async fn fulfil(order: u64, cx: Context) -> Result<(), Failure> {
    ///     let charge: u64 = cx.step("charge", || pay(order)).await?;
    ///     cx.sleep("cool off", Duration::from_secs(3600)).await?;
    ///     cx.step("close", || close(order, charge)).await
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let cx = Context::for_test().build();
    /// let asleep = fulfil(42, cx.clone()).await.unwrap_err();
    /// assert_eq!(asleep.reason(), "\"cool off\" sleeps for 3600000 ms more");
    /// let cx = cx.again_after(Duration::from_secs(3600)).build();
    /// assert_eq!(fulfil(42, cx).await, Ok(()));
    /// # }
    /// ```
    ///
    /// The result is JSON. It is stored before this returns, by one call, which also extends the lease; calls of
    /// handlers that run at the same time go together. While the backend fails for the moment, this tries again until
    /// the lease is over. Steps may run at the same time, by `tokio::join!` for one.
    ///
    /// A step does not begin once the lease is over. An earlier holder that stalled within `work` may still have the
    /// effect: a sink that knows the [token](Self::token) can refuse it.
    ///
    /// **A crash**, or a lost lease, between the effect of `work` and the store makes the step run again: guard its
    /// effect by a [once key](Self::once_key). **Dropped future.** The step may run again.
    ///
    /// # Errors
    ///
    /// The failure of `work`; a failure if the name is none or was used in this run, or if the stored result is no `T`;
    /// `LeaseLost` if the lease is over: end the handler, as `?` does. A result that does not fit into the
    /// [64 KiB](queue_core::limits::MAX_STATE) of all steps buries the message, because an attempt more would repeat the
    /// effect.
    pub async fn step<T, E, F>(
        &self,
        name: impl Into<StepName> + Send,
        work: impl FnOnce() -> F + Send,
    ) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned + Send,
        E: Into<Failure> + Send,
        F: Future<Output = Result<T, E>> + Send,
    {
        let name = name.into();
        let name = name.check()?;
        match self.begin(name)? {
            None => {}
            Some(StepRecord::Done(result)) => return read(name, result),
            Some(record) => return Err(another(name, "a step", &record)),
        }
        // Another holder may have stored the result since.
        if self.lease().is_lost() || self.remaining().is_zero() {
            return Err(Error::lease_lost(self.receipt()).into());
        }
        let value = work().await.map_err(Into::into)?;
        let result = written(name, &value)?;
        let remembered = self.remember(name, StepRecord::Done(result));
        remembered.map_err(|error| too_large(name, &error))?;
        let is_stored = true;
        planted!(StepReturnsBeforeItIsStored => is_stored = false);
        if is_stored {
            self.store_steps().await?;
        }
        Ok(value)
    }

    /// A key for the effect of a step, for a [`Once`](queue_core::Once) or a service that knows such keys: the same in
    /// each attempt of this job. It is `QUEUE/ID/NAME`, with the worker's name of the queue.
    ///
    /// A queue that was removed, or lost its history (R1), counts its ids from 1 again. Then a key may come back, so keep
    /// marks no longer than jobs live.
    pub fn once_key(&self, name: impl Into<StepName>) -> String {
        let name = name.into();
        format!("{}/{}/{name}", self.queue(), self.id())
    }
}

/// The value in JSON. A result that JSON cannot write buries the message, as too large a result does.
fn written<T: Serialize>(name: &str, value: &T) -> Result<String, Failure> {
    let written = Json::write(value).map_err(|error| {
        let error = with_sources(&error);
        Failure::bury(format!(
            "the result of the step {name:?} has no JSON: {error}"
        ))
    })?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

fn read<T: DeserializeOwned>(name: &str, result: String) -> Result<T, Failure> {
    Json::read(&Bytes::from(result)).map_err(|error| {
        let error = with_sources(&error);
        Failure::new(format!(
            "the stored result of the step {name:?} is of another type: give the step a new name, and it runs \
             again ({error})"
        ))
    })
}
