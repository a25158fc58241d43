//! Waits for a server that is not up yet.

use std::{future::Future, time::Duration};

use queue_core::{Error, Result, in_millis};
use redis_link::connection::Backoff;
use tokio::time::{self, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60 * 60);

pub(super) fn check(timeout: Duration) -> Result<()> {
    if timeout <= LONGEST {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a startup_timeout of {}: at most {} is allowed",
        in_millis(timeout),
        in_millis(LONGEST)
    )))
}

/// Tries to connect until it succeeds, fails permanently, or `timeout` is over. The last try begins at the timeout at
/// the latest.
pub(super) async fn wait<T, F>(timeout: Duration, seed: u64, connect: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let deadline = Instant::now() + timeout;
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE, seed);
    loop {
        match connect().await {
            Err(error) if error.is_transient() && Instant::now() < deadline => {
                let next = Instant::now() + backoff.next_delay();
                time::sleep_until(next.min(deadline)).await;
            }
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use queue_core::ErrorKind;

    use super::*;

    const TRY: Duration = Duration::from_millis(300);
    const TIMEOUT: Duration = Duration::from_secs(10);

    /// The start times of the tries and the final result. Each try takes a while and then returns `end`.
    async fn tries(
        timeout: Duration,
        end: impl Fn(usize) -> Result<()> + Send + Sync,
    ) -> (Vec<Duration>, Result<()>) {
        let start = Instant::now();
        let times = Mutex::new(Vec::new());
        let ended = wait(timeout, 7, async || {
            let count = {
                let mut times = times.lock().expect("no panic");
                times.push(start.elapsed());
                times.len()
            };
            time::sleep(TRY).await;
            end(count)
        });
        let ended = ended.await;
        (times.into_inner().expect("no panic"), ended)
    }

    fn failed(kind: ErrorKind) -> Result<()> {
        Err(Error::new(kind, "as planned"))
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_try_begins_at_the_end_of_the_time() {
        let (times, ended) = tries(TIMEOUT, |_| failed(ErrorKind::Unavailable)).await;
        ended.expect_err("nobody came");
        assert_eq!(times.last(), Some(&TIMEOUT));
        let longest = times.windows(2).map(|two| two[1] - two[0]).max();
        assert!(longest <= Some(TRY + LONGEST_PAUSE), "{times:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_time_is_one_try() {
        let (times, ended) = tries(Duration::ZERO, |_| failed(ErrorKind::Unavailable)).await;
        ended.expect_err("nobody came");
        assert_eq!(times.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lasting_error_ends_the_wait() {
        let end = |count| match count {
            3 => failed(ErrorKind::Configuration),
            _ => failed(ErrorKind::Unavailable),
        };
        let (times, ended) = tries(TIMEOUT, end).await;
        assert_eq!(
            ended.expect_err("it lasts").kind(),
            ErrorKind::Configuration
        );
        assert_eq!(times.len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_comes_up_ends_the_wait() {
        let end = |count| match count {
            4 => Ok(()),
            _ => failed(ErrorKind::Unavailable),
        };
        let (times, ended) = tries(TIMEOUT, end).await;
        ended.expect("it came");
        assert_eq!(times.len(), 4);
    }
}
