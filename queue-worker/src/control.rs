//! Steering a running worker.

use std::sync::Arc;

use queue_core::{Error, Result};
use tokio::sync::watch;

/// Steers a worker from another task, before and while it runs. Clones steer the same worker.
///
/// [`Worker::control`](crate::Worker::control) returns it. Calls return at once; the worker follows when it is next
/// polled. Calls for a worker that has ended do nothing.
///
/// ```
/// use queue_core::Reliable;
/// use queue_worker::Worker;
///
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// let worker = Worker::new(mails).concurrency(4);
/// let control = worker.control();
/// tokio::spawn(async move {
///     control.pause();
///     // … a migration …
///     control.set_concurrency(16).expect("more than 0");
///     control.resume();
/// });
/// worker.run(|mail: String, _| async move { println!("{mail}") }).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Control(Arc<watch::Sender<Steering>>);

/// The state that the program wants its worker to have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steering {
    pub(crate) paused: bool,
    pub(crate) draining: bool,
    /// The number of slots, if it was changed.
    pub(crate) concurrency: Option<usize>,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::default()))
    }

    /// Lets this worker lease nothing until [`resume`](Self::resume). Its handlers go on, and so do heartbeats and
    /// settlements. Messages that are on their way to the worker are handled.
    ///
    /// Other workers of the queue go on; [`Leasing::pause`](queue_core::Leasing::pause) pauses the queue for all.
    pub fn pause(&self) {
        self.0.send_modify(|wanted| wanted.paused = true);
    }

    /// Ends a pause of this worker.
    pub fn resume(&self) {
        self.0.send_modify(|wanted| wanted.paused = false);
    }

    /// Whether the program has paused this worker.
    pub fn is_paused(&self) -> bool {
        self.0.borrow().paused
    }

    /// Begins the shutdown, as the end of the future given to [`run_until`](crate::Worker::run_until) does. The
    /// worker's run ends with its report.
    pub fn drain(&self) {
        self.0.send_modify(|wanted| wanted.draining = true);
    }

    /// Changes how many handlers run at once. If there are more at present, they run to their end, and the worker
    /// starts no others meanwhile.
    ///
    /// # Errors
    ///
    /// `Invalid` for 0: use [`pause`](Self::pause).
    pub fn set_concurrency(&self, handlers: usize) -> Result<()> {
        if handlers == 0 {
            return Err(Error::invalid(
                "a concurrency of 0: at least 1; `pause` keeps a worker from leasing",
            ));
        }
        self.0
            .send_modify(|wanted| wanted.concurrency = Some(handlers));
        Ok(())
    }

    pub(crate) fn steering(&self) -> Steering {
        *self.0.borrow()
    }

    /// Waits for a change after the one that `seen` has seen.
    pub(crate) async fn changed(mut seen: watch::Receiver<Steering>) -> watch::Receiver<Steering> {
        if seen.changed().await.is_err() {
            // Its worker holds a sender, so this does not happen.
            std::future::pending::<()>().await;
        }
        seen
    }

    /// A receiver that sees the present state as a change.
    pub(crate) fn listen(&self) -> watch::Receiver<Steering> {
        let mut receiver = self.0.subscribe();
        receiver.mark_changed();
        receiver
    }
}
