//! Background tasks of backends and workers.

use std::{
    fmt::{self, Debug},
    future::Future,
    pin::Pin,
};

use tokio::runtime::Handle;

use crate::{Error, ErrorKind, Result};

/// A background task. It returns nothing. It sends its results over a channel, and from a drop guard if they
/// must arrive even after a panic or an abort.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs tasks in the background.
///
/// queue-kit starts all its tasks through this trait, connection drivers included. So another executor (the
/// simulator's, for one) sees all tasks and decides their order.
pub trait Spawn: Debug + Send + Sync + 'static {
    /// Starts the task; dropping the returned [`Running`] stops it.
    fn spawn(&self, task: Task) -> Running;
}

/// A running task. Dropping it stops the task at its next await.
#[must_use = "dropping it stops the task"]
pub struct Running(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Running {
    /// A task that `stop` stops. `stop` must do nothing to a task that has ended.
    pub fn new(stop: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(stop)))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.0.take() {
            stop();
        }
    }
}

impl Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// Runs tasks on a tokio runtime: a fixed one, or the caller's, which may be another each time.
///
/// ```
/// use queue_core::{Spawn, TokioSpawn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (sender, receiver) = tokio::sync::oneshot::channel();
/// let running = TokioSpawn::default().spawn(Box::pin(async move {
///     let _ = sender.send(1);
/// }));
/// assert_eq!(receiver.await, Ok(1));
/// drop(running);
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct TokioSpawn(Option<Handle>);

impl TokioSpawn {
    /// Runs tasks on this runtime, wherever the caller is.
    pub const fn on(runtime: Handle) -> Self {
        Self(Some(runtime))
    }

    /// Runs tasks on the current runtime, wherever later callers are.
    ///
    /// # Errors
    ///
    /// `Configuration` outside of a tokio runtime.
    pub fn current() -> Result<Self> {
        match Handle::try_current() {
            Ok(runtime) => Ok(Self::on(runtime)),
            Err(_) => Err(Error::new(
                ErrorKind::Configuration,
                "there is no tokio runtime here, and timers and background tasks need one: call \
                 this inside of #[tokio::main] or of a runtime's block_on",
            )),
        }
    }
}

impl Spawn for TokioSpawn {
    /// # Panics
    ///
    /// If it has no fixed runtime and the caller is outside of one.
    fn spawn(&self, task: Task) -> Running {
        let started = match &self.0 {
            Some(runtime) => runtime.spawn(task),
            None => tokio::spawn(task),
        };
        let handle = started.abort_handle();
        Running::new(move || handle.abort())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn the_current_runtime_is_kept_and_none_is_an_error() {
        let runtime = || {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
        };
        let (first, second) = (runtime(), runtime());
        let spawn = first.block_on(async { TokioSpawn::current().unwrap() });
        let (sender, receiver) = oneshot::channel();
        let running = second.block_on(async {
            spawn.spawn(Box::pin(async move {
                let _ = sender.send(Handle::current().id());
            }))
        });
        assert_eq!(first.block_on(receiver), Ok(first.handle().id()));
        drop(running);
        assert_eq!(
            TokioSpawn::current().unwrap_err().kind(),
            ErrorKind::Configuration
        );
    }

    #[tokio::test]
    async fn dropping_a_running_task_stops_it() {
        let (sender, receiver) = oneshot::channel::<()>();
        let running = TokioSpawn::on(Handle::current()).spawn(Box::pin(async move {
            let _held = sender;
            std::future::pending::<()>().await;
        }));
        drop(running);
        assert!(receiver.await.is_err());
    }
}
