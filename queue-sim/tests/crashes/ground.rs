//! Waits and commands of these tests.

use std::time::Duration;

use queue_core::Result;
pub(crate) use queue_testing::until::{until, within};
use real_redis::Server;

/// The pause between a failed call and the next.
const PAUSE: Duration = Duration::from_millis(2);

/// Repeats the call until the server and the machine serve it.
pub(crate) async fn at_last<T, F>(call: impl Fn() -> F + Send + Sync) -> T
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    within("the server answers", async {
        loop {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => assert!(error.is_transient(), "{error:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await
}

/// Has the server run an administrator's command.
pub(crate) fn administer(server: &Server, command: &str) -> redis::Value {
    let words: Vec<&str> = command.split_whitespace().collect();
    let answer = server.ask(&words);
    answer.unwrap_or_else(|error| panic!("{command}: {error}"))
}
