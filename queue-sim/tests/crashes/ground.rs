//! Waits and commands of these tests.

use queue_core::{Error, Result};
pub(crate) use queue_testing::until::{until, within};
use real_redis::Server;

/// Repeats the call until the server and the machine serve it.
pub(crate) async fn at_last<T, F>(call: impl Fn() -> F + Send + Sync) -> T
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    queue_testing::until::at_last(call, Error::is_transient).await
}

/// Has the server run an administrator's command.
pub(crate) fn administer(server: &Server, command: &str) -> redis::Value {
    let words: Vec<&str> = command.split_whitespace().collect();
    let answer = server.ask(&words);
    answer.unwrap_or_else(|error| panic!("{command}: {error}"))
}
