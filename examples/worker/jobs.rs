//! Jobs from a JSON-lines file, and their simulated work.

use std::{collections::BTreeSet, time::Duration};

use queue_kit::{Context, Failure};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// One line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// Names the job, in this file and in the queue.
    pub(crate) job: String,
    /// The time that an attempt takes.
    #[serde(default)]
    pub(crate) millis: u64,
    /// The number of attempts that fail before one succeeds.
    #[serde(default)]
    pub(crate) fails: u32,
}

impl Job {
    /// Does the job, unless the worker says that there is no time left, or that another worker has
    /// the job.
    pub(crate) async fn attempt(&self, context: &Context) -> Result<(), Failure> {
        tokio::select! {
            biased;
            stop = context.stopped() => return Err(Failure::new(format!("stopped: {stop:?}"))),
            () = sleep(Duration::from_millis(self.millis)) => {}
        }
        let attempt = context.attempt();
        if attempt <= self.fails {
            return Err(Failure::new(format!("attempt {attempt} failed")));
        }
        Ok(())
    }
}

/// The jobs in a file, and the bad lines: number and reason.
pub(crate) fn read(file: &[u8]) -> (Vec<Job>, Vec<(usize, String)>) {
    let mut jobs: Vec<Job> = Vec::new();
    let mut names = BTreeSet::new();
    let mut bad_lines = Vec::new();
    for (line, text) in (1..).zip(file.split(|&byte| byte == b'\n')) {
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match serde_json::from_slice::<Job>(text) {
            Ok(job) if job.job.is_empty() || job.job.len() > 256 => {
                bad_lines.push((line, "a job's name has 1 to 256 bytes".to_owned()));
            }
            Ok(job) if names.contains(&job.job) => {
                bad_lines.push((line, format!("{:?} is in the file already", job.job)));
            }
            Ok(job) => {
                names.insert(job.job.clone());
                jobs.push(job);
            }
            Err(error) => {
                let reason = error.to_string();
                // The parser counts lines within this line, so its line number is wrong here.
                let reason = reason.split(" at line ").next().unwrap_or_default();
                let column = error.column();
                bad_lines.push((line, format!("{reason}, in column {column}")));
            }
        }
    }
    (jobs, bad_lines)
}
