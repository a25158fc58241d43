//! Types of jobs, by name.

use super::Takes;
use crate::{Encode, Error, Headers, MessageId, Push, Result};

/// The most bytes in the name of a job type.
const MAX_NAME: usize = 128;

/// A type of job: a value, and the name under which a worker's router finds its handler.
///
/// The name goes with the message, in the header [`Headers::JOB`]. So it stays the same when the type is renamed
/// or moved, and a program in another language can push the job, too.
///
/// ```
/// use queue_core::Job;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl Job for Welcome {
///     const NAME: &'static str = "welcome";
/// }
/// ```
pub trait Job {
    /// The name, 1 to 128 bytes without control characters. No other job type of the queue has it.
    const NAME: &'static str;
}

/// The type of a job, in its message's headers.
impl Headers {
    /// The header with the name of the job's type.
    pub const JOB: &str = "job";

    /// Names the type of the job.
    #[must_use]
    pub fn with_job(self, name: impl Into<String>) -> Self {
        self.with(Self::JOB, name)
    }

    /// The name of the job's type, if the message has one.
    pub fn job(&self) -> Option<&str> {
        self.get(Self::JOB)
    }

    /// The header that names the job that pushed this one as its child, as `QUEUE/ID`.
    pub const PARENT: &str = "parent-job";

    /// The queue and the id of the job that pushed this one as its child, if there is one.
    pub fn parent(&self) -> Option<(&str, MessageId)> {
        let (queue, id) = self.get(Self::PARENT)?.rsplit_once('/')?;
        Some((queue, MessageId::new(id.parse().ok()?)))
    }
}

/// In place of the type of a handle's values: the queue takes jobs of several types. Each [`Job`] goes with the name of
/// its type, by which a worker's router finds its handler.
///
/// ```
/// use queue_core::{Job, Jobs, Queues};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
/// impl Job for Welcome {
///     const NAME: &'static str = "welcome";
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Receipt {
///     order: u64,
/// }
/// impl Job for Receipt {
///     const NAME: &'static str = "receipt";
/// }
///
/// # async fn example(queues: Queues) -> queue_core::Result<()> {
/// let mails = queues.reliable("mails").open::<Jobs>().await?;
/// mails.push(&Welcome { user: 7 }).await?;
/// let hour = std::time::Duration::from_secs(60 * 60);
/// mails.message(&Receipt { order: 42 }).dedup("receipt-42", hour).send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Jobs {}

impl<J: Job> Takes<J> for Jobs {
    fn headers() -> Result<Headers> {
        check_job_name(J::NAME)?;
        Ok(Headers::new().with_job(J::NAME))
    }
}

impl Push {
    /// The message for a job, in this codec, with the name of its type.
    ///
    /// # Errors
    ///
    /// `Codec` if the job has no encoding; `Invalid` if [`Job::NAME`] is no name.
    pub fn of_job<J: Job>(job: &J, codec: &impl Encode<J>) -> Result<Self> {
        let headers = <Jobs as Takes<J>>::headers()?;
        Ok(Self::new(codec.encode(job)?).with_headers(headers))
    }
}

/// Checks the name of a job type.
///
/// # Errors
///
/// `Invalid` if it is empty, longer than 128 bytes, or has a control character.
pub fn check_job_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return Err(Error::invalid(format!(
            "the name {name:?} of a job type: 1 to {MAX_NAME} bytes, without control characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_name_is_refused_with_its_bounds() {
        let longest = "x".repeat(MAX_NAME);
        assert!(check_job_name(&longest).is_ok());
        for bad in ["", "two\nlines", &format!("{longest}x")] {
            let error = check_job_name(bad).expect_err(bad).to_string();
            assert!(error.contains("1 to 128 bytes"), "{error}");
        }
    }
}
