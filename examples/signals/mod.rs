//! Being asked to stop: ctrl-c (SIGINT), and what a supervisor sends (SIGTERM).

use std::{io, process::exit};

/// What a shell expects of a program that ctrl-c ended.
const KILLED: i32 = 130;

/// Listens from now on, and answers a future that ends with the first signal, saying which. A
/// second signal ends the program on the spot.
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

/// Where there are no signals there is ctrl-c.
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
