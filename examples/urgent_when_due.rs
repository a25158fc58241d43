//! Reminders with due times, of which the most urgent due one comes first: messages with due times in a priority queue.

mod cli;

use std::{process::ExitCode, time::Duration};

use queue_kit::LeasingExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Sends reminders that became due while nobody was there, the most urgent first.

usage: urgent_when_due [--backend URL]

One run at a time on a shared backend, please: each starts by clearing the queue.

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:due-reminders";
const LEASE: Duration = Duration::from_secs(5);

/// The text, the urgency, and the milliseconds until it is due.
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
    let reminders = queues.priority(QUEUE).open::<Reminder>().await?;
    reminders.queue().purge_all().await?;

    for (text, urgency, delay) in REMINDERS {
        let text = text.to_owned();
        let reminder = Reminder { text, urgency };
        let message = reminders.message(&reminder).priority(urgency);
        message.delay(Duration::from_millis(delay)).send().await?;
    }
    sleep(NOBODY_THERE).await;

    let (mut sent, mut out_of_order, mut last) = (0, 0, i16::MAX);
    while let Some(delivery) = reminders.receive(LEASE, Duration::ZERO).await? {
        let Reminder { text, urgency } = delivery.body()?;
        println!("urgency {urgency:>2}  {text}");
        sent += 1;
        out_of_order += u32::from(*urgency > last);
        last = *urgency;
        delivery.ack().await?;
    }
    let waiting = reminders.queue().depth().await?.delayed;
    println!("sent={sent} waiting={waiting} out_of_order={out_of_order}");
    Ok(ExitCode::SUCCESS)
}
