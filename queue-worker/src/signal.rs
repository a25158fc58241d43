//! The signals that end a program.

use std::{future::Future, io};

/// Waits until the program is asked to end: by ctrl-c, or by SIGTERM, which `kill`, systemd, Docker and Kubernetes
/// send. For [`run_until`](crate::Worker::run_until).
///
/// From this call on, the signals do not end the process; only a second program, or SIGKILL, does. So call it once,
/// where the worker starts.
///
/// ```no_run
/// use queue_worker::{Worker, shutdown};
/// # use queue_core::Reliable;
///
/// # async fn example(mails: Reliable<String>) -> queue_core::Result<()> {
/// let report = Worker::new(mails).run_until(shutdown(), |mail: String, _| async move { println!("{mail}") }).await?;
/// println!("{report:?}");
/// # Ok(())
/// # }
/// ```
///
/// # Panics
///
/// Outside of a tokio runtime with I/O, or if the operating system refuses to report signals.
pub fn shutdown() -> impl Future<Output = ()> + Send + 'static {
    let signals = Signals::listen().expect("the operating system reports signals");
    signals.first()
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn first(mut self) {
        std::future::poll_fn(|cx| {
            let interrupted = self.interrupt.poll_recv(cx).is_ready();
            if interrupted || self.terminate.poll_recv(cx).is_ready() {
                return std::task::Poll::Ready(());
            }
            std::task::Poll::Pending
        })
        .await;
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn first(mut self) {
        self.0.recv().await;
    }
}
