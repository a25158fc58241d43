//! The memory of a job: its steps, in the state of its message.

use std::time::Duration;

use queue_core::{Error, ErrorKind, StepRecord, limits};

use crate::{Context, Failure, job_state::JobState};

/// The shortest pause between two tries of a call while the backend fails for the moment.
const PAUSE: Duration = Duration::from_millis(200);

impl Context {
    /// Begins a step: no other step of this run has its name. Returns what is known of it.
    pub(super) fn begin(&self, name: &str) -> Result<Option<StepRecord>, Failure> {
        self.lease().with_state(|state| {
            if !state.uses(name) {
                return Err(Failure::new(format!(
                    "the step {name:?} began twice in one run: give each its own name, in a loop as ({name:?}, i)"
                )));
            }
            record_in(state, name)
        })
    }

    /// The record of a step that began in this run or before.
    pub(super) fn known(&self, name: &str) -> Result<Option<StepRecord>, Failure> {
        self.lease().with_state(|state| record_in(state, name))
    }

    /// Sets what is known of a step, for the next call that stores the state.
    pub(super) fn remember(&self, name: &str, record: StepRecord) -> Result<(), Error> {
        let after_ms = millis(self.age_now());
        let lease = self.lease();
        lease.with_state(|state| state.change(|steps| steps.set(name, after_ms, record)))
    }

    /// The time since the push of the job.
    pub(super) fn age_now(&self) -> Duration {
        self.lease().age_now().unwrap_or_default()
    }

    /// Stores the steps with the message. While the backend fails for the moment, tries again until the lease is over.
    pub(super) async fn store_steps(&self) -> Result<(), Error> {
        loop {
            match self.store_state().await {
                Err(error) if error.is_transient() && error.kind() != ErrorKind::LeaseLost => {
                    pause_after(&error).await;
                }
                stored => return stored,
            }
        }
    }
}

/// The record of a step in the state.
fn record_in(state: &mut JobState, name: &str) -> Result<Option<StepRecord>, Failure> {
    let steps = state.steps().map_err(unreadable)?;
    Ok(steps.get(name).map(|step| step.record.clone()))
}

/// Waits before a call is tried again that failed for the moment.
pub(super) async fn pause_after(error: &Error) {
    tokio::time::sleep(error.retry_after().unwrap_or_default().max(PAUSE)).await;
}

/// The failure of a step whose result does not fit into the state: a further attempt would repeat its effect.
pub(super) fn too_large(name: &str, error: &Error) -> Failure {
    Failure::bury(format!(
        "the result of the step {name:?} does not fit into the state of the message, which takes {} bytes for all \
         steps: keep the value elsewhere, and return where ({error})",
        limits::MAX_STATE
    ))
}

/// The failure of a step whose name has another meaning in the state.
pub(super) fn another(name: &str, is: &str, record: &StepRecord) -> Failure {
    let was = match record {
        StepRecord::Done(_) => "a step",
        StepRecord::SleepsUntil(_) => "a sleep",
        StepRecord::Children(_) => "a spawn",
        _ => "something that this version does not know",
    };
    Failure::new(format!(
        "{name:?} is {is}, and was {was} in an earlier attempt: give it a new name"
    ))
}

fn unreadable(error: Error) -> Failure {
    let reason = "the state of the message has steps that this version cannot read: was it stored by a newer one?";
    Failure::new(Error::new(ErrorKind::Codec, reason).with_source(error))
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
