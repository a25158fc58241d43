//! Invoices of several customers: each customer's in order, and all customers in turn. A grouped queue.

mod cli;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use queue_kit::{Grouped, LeasingExt};
use serde::{Deserialize, Serialize};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Sends the invoices of a customer that has many, and of two that have few.

usage: fair_tenants [--backend URL]

One run at a time on a shared backend, please: each starts by clearing the queue.

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:invoices";
const LEASE: Duration = Duration::from_secs(5);
/// Longer than a lease, so that an unsettled invoice would come back within it.
const PATIENCE: Duration = Duration::from_secs(10);

/// In the order in which they come: the others wait behind the first.
const CUSTOMERS: [(&str, u32); 3] = [("wholesale", 40), ("ann", 3), ("bob", 3)];

#[derive(Debug, Serialize, Deserialize)]
struct Invoice {
    customer: String,
    number: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let invoices: Grouped<Invoice> = queues.grouped(QUEUE).open().await?;
    invoices.queue().purge_all().await?;

    let mut waiting = BTreeMap::new();
    for (customer, count) in CUSTOMERS {
        for number in 1..=count {
            let invoice = Invoice {
                customer: customer.to_owned(),
                number,
            };
            let id = invoices.push(&invoice, customer).await?;
            waiting.insert(id, (customer, number));
        }
    }
    let (all, mut sent, mut out_of_order, mut last_of_the_few) = (waiting.len(), 0, 0, 0);
    let mut next = BTreeMap::new();
    while !waiting.is_empty() {
        let delivery = invoices.receive(LEASE, PATIENCE).await?;
        let delivery = delivery.ok_or_else(|| format!("invoices are missing: {waiting:?}"))?;
        match waiting.remove(&delivery.id()) {
            // An earlier run that was stopped leased it, and a purge leaves leased messages.
            None => println!("invoice {} is from an earlier run: ignored", delivery.id()),
            Some((customer, number)) => {
                println!("{customer:>9}  invoice {number}");
                sent += 1;
                let expected = next.entry(customer).or_insert(1);
                out_of_order += u32::from(*expected != number);
                *expected = number + 1;
                if customer != CUSTOMERS[0].0 {
                    last_of_the_few = sent;
                }
            }
        }
        delivery.ack().await?;
    }
    println!(
        "invoices={all} sent={sent} out_of_order={out_of_order} last_of_the_few={last_of_the_few}"
    );
    Ok(ExitCode::SUCCESS)
}
