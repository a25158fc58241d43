//! Support tickets, the most urgent first: a priority queue.

mod cli;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use queue_kit::{LeasingExt, MessageId, Priority};
use serde::{Deserialize, Serialize};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Handles support tickets, the most urgent first, and equally urgent ones in order of arrival.

usage: urgent_first [--backend URL]

One run at a time on a shared backend, please: each starts by clearing the queue.

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:tickets";
const LEASE: Duration = Duration::from_secs(5);
/// Longer than a lease, so that an unsettled ticket would come back within it.
const PATIENCE: Duration = Duration::from_secs(10);

const MORNING: [(&str, i16); 6] = [
    ("a typo on the front page", 0),
    ("cannot log in", 5),
    ("please delete my account", 0),
    ("charged twice", 5),
    ("newsletter comes twice", -5),
    ("checkout is down", 10),
];
/// This ticket arrives while others are being handled.
const LATER: (&str, i16) = ("data of other customers visible", 20);

#[derive(Debug, Serialize, Deserialize)]
struct Ticket {
    subject: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let tickets = queues.priority(QUEUE).open::<Ticket>().await?;
    tickets.queue().purge_all().await?;

    let mut waiting = BTreeMap::new();
    for ticket in MORNING {
        take_in(&tickets, ticket, &mut waiting).await?;
    }
    let (mut handled, mut out_of_order) = (0, 0);
    while !waiting.is_empty() {
        let delivery = tickets.receive(LEASE, PATIENCE).await?;
        let delivery = delivery.ok_or_else(|| format!("tickets are missing: {waiting:?}"))?;
        let most_urgent = most_urgent(&waiting);
        match waiting.remove(&delivery.id()) {
            // An earlier run that was stopped leased it, and a purge leaves leased messages.
            None => println!("ticket {} is from an earlier run: ignored", delivery.id()),
            Some(priority) => {
                let subject = &delivery.body()?.subject;
                println!("priority {priority:>3}  {subject}");
                handled += 1;
                out_of_order += u32::from(most_urgent != Some(delivery.id()));
            }
        }
        delivery.ack().await?;
        if handled == 2 && !waiting.values().any(|&priority| priority == LATER.1) {
            take_in(&tickets, LATER, &mut waiting).await?;
        }
    }
    println!(
        "tickets={} handled={handled} out_of_order={out_of_order}",
        MORNING.len() + 1
    );
    Ok(ExitCode::SUCCESS)
}

async fn take_in(
    tickets: &Priority<Ticket>,
    (subject, priority): (&str, i16),
    waiting: &mut BTreeMap<MessageId, i16>,
) -> Result<(), Failure> {
    let ticket = Ticket {
        subject: subject.to_owned(),
    };
    let id = tickets.push(&ticket, priority).await?;
    waiting.insert(id, priority);
    Ok(())
}

/// The ticket that must come next: the first to arrive of the highest priority. Ids grow by
/// arrival.
fn most_urgent(waiting: &BTreeMap<MessageId, i16>) -> Option<MessageId> {
    let first_of_each = waiting.iter().rev();
    first_of_each
        .max_by_key(|(_, priority)| **priority)
        .map(|(id, _)| *id)
}
