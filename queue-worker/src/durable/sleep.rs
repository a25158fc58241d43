//! Sleeps without a slot.

use std::time::Duration;

use queue_core::StepRecord;

use super::{
    StepName,
    journal::{another, millis, too_large},
};
use crate::{Context, Failure};

/// A shorter rest of a sleep is waited for in the handler.
const SHORT: Duration = Duration::from_millis(20);

impl Context {
    /// Lets the job sleep, without a lease and a slot, and without an attempt (L6): the worker defers the message.
    ///
    /// The first time, this returns a failure that defers the message: end the handler by it, as `?` does. Once the time
    /// is over, the handler runs again from its start, and this returns `Ok`. The job sleeps for at least `time`, counted
    /// from its first call by the backend's clock. If the process dies before the message is deferred, the time may begin
    /// again.
    ///
    /// # Errors
    ///
    /// The failure that defers; a failure if the name is none or was used in this run.
    pub async fn sleep(
        &self,
        name: impl Into<StepName> + Send,
        time: Duration,
    ) -> Result<(), Failure> {
        let name = name.into();
        let name = name.check()?;
        let until = match self.begin(name)? {
            Some(StepRecord::SleepsUntil(until)) => Duration::from_millis(until),
            Some(record) => return Err(another(name, "a sleep", &record)),
            None => {
                let until = self.age_now().saturating_add(time);
                let remembered = self.remember(name, StepRecord::SleepsUntil(millis(until)));
                remembered.map_err(|error| too_large(name, &error))?;
                until
            }
        };
        let left = until.saturating_sub(self.age_now());
        if left > SHORT {
            let left_ms = left.as_millis();
            return Err(Failure::defer(
                format!("{name:?} sleeps for {left_ms} ms more"),
                left,
            ));
        }
        tokio::time::sleep(left).await;
        Ok(())
    }
}
