//! Holds a server in a container as long as its caller runs: `redis-container redis:7.2`.
//!
//! Writes the server's URL in a line to its output. Removes the container and ends at the end of its
//! input, or at SIGINT or SIGTERM. If there is no container, says why on its error output and fails.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
};

use redis_container::Container;
use tokio::{
    io::AsyncReadExt as _,
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [image] = &arguments[..] else {
        eprintln!("redis-container: name one image, as in: redis-container redis:7.2");
        return ExitCode::from(2);
    };
    match hold(image) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("redis-container: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts a server, prints its URL, and waits until its caller ends.
fn hold(image: &str) -> Result<(), Box<dyn Error>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        // The signals are caught before there is anything to remove.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let container = Container::start(image)?;
        writeln!(io::stdout(), "{}", container.url())?;
        let mut input = tokio::io::stdin();
        let mut unread = [0; 1024];
        loop {
            tokio::select! {
                read = input.read(&mut unread) => if read? == 0 { return Ok(()) },
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
            }
        }
    });
    // A thread may still read the input, and cannot be ended.
    runtime.shutdown_background();
    ended
}
