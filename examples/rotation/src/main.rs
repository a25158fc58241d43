//! A worker whose password for Redis changes while it works. Its only dependencies are queue-kit and tokio.
//!
//! `REDIS_URL` names the server and the user, `PASSWORD_FILE` the file with the password. A secret store writes the file
//! again when it rotates the password. `queue-kit-rotation rules` prints the rights that the user needs.

use std::{env, error::Error, fs, sync::Arc, time::Duration};

use queue_kit::{
    ErrorKind, Queues, RedisBackend, Reliable, Result, Worker,
    redis::{Builder, ConnectionHealth, Credentials, Health, Warning, access_rules},
    shutdown,
};
use tokio::time::{interval, sleep};

const PREFIX: &str = "rotation";
/// The time between two messages.
const PACE: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("rules") {
        println!("{}", access_rules(PREFIX));
        return Ok(());
    }
    let stop = shutdown();
    let (url, file) = (env::var("REDIS_URL")?, env::var("PASSWORD_FILE")?);
    let backend = builder(&url, file.into())?.connect().await?;
    for warning in backend.health().warnings {
        // This program can lose its numbers.
        if warning != Warning::NotPersistent {
            eprintln!("warning: {warning}");
        }
    }
    let numbers = Queues::new(backend.clone())
        .reliable("numbers")
        .open::<u64>()
        .await?;
    // A lease whose reply is lost with a connection comes back that soon.
    let worker = Worker::new(numbers.clone()).lease(Duration::from_secs(2));
    let stop = async {
        tokio::select! {
            () = stop => {}
            () = push(&numbers) => {}
            () = watch(&backend) => {}
        }
    };
    let report = worker.run_until(stop, |number: u64, _| async move {
        println!("{number}");
    });
    println!("{} done", report.await?.counts.acked);
    Ok(())
}

/// The backend, with a login that is read again for each connection.
fn builder(url: &str, file: Arc<str>) -> Result<Builder> {
    let login = move || {
        let file = Arc::clone(&file);
        async move {
            let password = fs::read_to_string(&*file).map_err(|error| {
                let text = format!("the password in {file}");
                queue_kit::Error::new(ErrorKind::Unavailable, text).with_source(error)
            })?;
            Ok(Credentials::password(password.trim_end()))
        }
    };
    Ok(RedisBackend::builder(url)?
        .prefix(PREFIX)
        .credentials(login))
}

/// Pushes a number after the other. A push that fails is repeated: under its dedup key it takes effect once.
async fn push(numbers: &Reliable<u64>) {
    let mut ticks = interval(PACE);
    for number in 0_u64.. {
        let message = || {
            let key = number.to_string();
            numbers
                .message(&number)
                .dedup(key, Duration::from_secs(600))
        };
        ticks.tick().await;
        while let Err(error) = message().send().await {
            let Some(pause) = error.retry_after() else {
                eprintln!("{}", queue_kit::with_sources(&error));
                return;
            };
            sleep(pause).await;
        }
    }
}

/// Reports each change of the connection for commands.
async fn watch(backend: &RedisBackend) {
    let (mut ticks, mut was_up) = (interval(PACE), true);
    loop {
        ticks.tick().await;
        let Health { commands, .. } = backend.health();
        let is_up = matches!(commands, ConnectionHealth::Up);
        match commands {
            ConnectionHealth::Down(reason) if was_up => eprintln!("down: {reason:?}"),
            _ if is_up && !was_up => eprintln!("up again"),
            _ => {}
        }
        was_up = is_up;
    }
}
