//! Reminders that are due at some time, and of those that are due the most urgent first: what is due
//! in a delay queue moves into a priority queue.

mod cli;

use std::{process::ExitCode, time::Duration};

use queue_kit::{Delay, LeasingExt, Priority};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Sends reminders that became due while nobody was there, the most urgent first.

usage: urgent_when_due [--backend URL]

One run at a time on a shared backend, please: each starts by clearing the queues.

--backend URL   where the queues are; memory: if left out";

const WAITING: &str = "example:reminders";
const DUE: &str = "example:due-reminders";
const LEASE: Duration = Duration::from_secs(5);
/// The time in which a reminder that moves twice is pushed once.
const MOVING: Duration = Duration::from_secs(3600);

/// What, how urgent, and due after how many milliseconds.
const REMINDERS: [(&str, i16, u64); 5] = [
    ("water the plants", 0, 20),
    ("take the medicine", 10, 80),
    ("call the plumber", 5, 40),
    ("renew the passport", 5, 60),
    ("plan the holidays", 0, 60_000),
];
const NOBODY_THERE: Duration = Duration::from_millis(200);

#[derive(Debug, Serialize, Deserialize)]
struct Reminder {
    text: String,
    urgency: i16,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let waiting = queues.delay::<Reminder>(WAITING).await?;
    let due = queues.priority::<Reminder>(DUE).await?;
    waiting.queue().purge_all().await?;
    due.queue().purge_all().await?;

    for (text, urgency, delay) in REMINDERS {
        let text = text.to_owned();
        let reminder = Reminder { text, urgency };
        waiting
            .push(&reminder, Duration::from_millis(delay))
            .await?;
    }
    sleep(NOBODY_THERE).await;

    let moved = move_due(&waiting, &due).await?;
    let mut last = i16::MAX;
    let mut out_of_order = 0;
    for _ in 0..moved {
        let sent = due.receive(LEASE, LEASE).await?;
        let sent = sent.ok_or("a reminder is missing")?;
        let Reminder { text, urgency } = sent.body()?;
        println!("urgency {urgency:>2}  {text}");
        out_of_order += u32::from(*urgency > last);
        last = *urgency;
        sent.ack().await?;
    }
    let waiting = waiting.queue().depth().await?.delayed;
    println!("sent={moved} waiting={waiting} out_of_order={out_of_order}");
    Ok(ExitCode::SUCCESS)
}

/// Moves everything that is due. A program that runs on does this in a worker of the delay queue.
///
/// The push comes before the ack, so a crash between them loses nothing: the reminder moves again,
/// and its dedup key keeps it from being pushed twice.
async fn move_due(waiting: &Delay<Reminder>, due: &Priority<Reminder>) -> Result<u32, Failure> {
    let mut moved = 0;
    while let Some(delivery) = waiting.receive(LEASE, Duration::ZERO).await? {
        let reminder = delivery.body()?;
        let message = due.message(reminder).priority(reminder.urgency);
        let key = delivery.id().to_string();
        message.dedup(key, MOVING).send().await?;
        delivery.ack().await?;
        moved += 1;
    }
    Ok(moved)
}
