//! Signals to stop: ctrl-c (SIGINT), and a supervisor's SIGTERM.

use std::{io, process::exit};

/// The exit code that shells expect of a program ended by ctrl-c.
const KILLED: i32 = 130;

/// Listens from now on; returns a future that ends with the name of the first signal. A second
/// signal ends the program at once.
#[cfg(unix)]
pub(crate) fn asked_to_stop() -> io::Result<impl Future<Output = &'static str> + Send> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        let which = tokio::select! {
            biased;
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        tokio::spawn(async move {
            tokio::select! {
                biased;
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            exit(KILLED)
        });
        which
    })
}

/// The same on systems without signals: only ctrl-c counts.
#[cfg(not(unix))]
pub(crate) fn asked_to_stop() -> io::Result<impl Future<Output = &'static str> + Send> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                exit(KILLED)
            }
        });
        "ctrl-c"
    })
}
