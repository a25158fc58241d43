//! The wait until a server serves.

use std::time::Duration;

use testcontainers::{ContainerAsync, GenericImage};
use tokio::{io::AsyncBufReadExt as _, time};

use super::ContainerError;

/// The line that Redis and Valkey log once they serve.
const READY: &str = "Ready to accept connections";

/// Far more than a start takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lines of a server's log that go into an error.
const LOG_LINES: usize = 30;

/// Waits until the server logs that it serves. `what` names the failing step.
pub(crate) async fn wait(
    container: &ContainerAsync<GenericImage>,
    what: &str,
) -> Result<(), ContainerError> {
    let mut lines = container.stdout(true).lines();
    let said = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains(READY) {
                return Ok(true);
            }
        }
        Ok::<_, std::io::Error>(false)
    };
    let why = match time::timeout(PATIENCE, said).await {
        Ok(Ok(true)) => return Ok(()),
        Ok(Ok(false)) => format!("it ended without the words {READY:?}"),
        Ok(Err(error)) => format!("its log cannot be read: {error}"),
        Err(_) => format!("it has not said {READY:?} in {PATIENCE:?}"),
    };
    let log = end_of_log(container).await;
    Err(ContainerError::new(format!("{what}: {why}{log}")))
}

async fn end_of_log(container: &ContainerAsync<GenericImage>) -> String {
    // Unreadable lines are missing from the error, perhaps for the same cause.
    let output = container.stdout_to_vec().await.unwrap_or_default();
    let errors = container.stderr_to_vec().await.unwrap_or_default();
    let log = [output, errors].concat();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<_> = log.lines().collect();
    if lines.is_empty() {
        return String::new();
    }
    let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    format!(". The end of its log:\n{last}")
}
