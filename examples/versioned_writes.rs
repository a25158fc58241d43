//! A check of versions where a handler writes: a lease's fencing token keeps a delayed holder from overwriting the
//! write of a newer holder.

mod cli;

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use queue_kit::{LeasingExt, Token, TypedDelivery};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Writes a new price twice: the first holder of the message is held up until its lease is over, and a
second one writes meanwhile. The late write must not win.

usage: versioned_writes [--backend URL]

--backend URL   where the queue is; memory: if left out";

const QUEUE: &str = "example:prices";
const SHORT_LEASE: Duration = Duration::from_millis(100);
const LEASE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize, Deserialize)]
struct NewPrice {
    item: String,
    cents: u32,
}

/// The table of prices. In SQL a write is `UPDATE prices SET cents = $2, token = $3 WHERE item = $1 AND token < $3`. It
/// was refused if it changed no row.
#[derive(Debug, Default)]
struct Prices(BTreeMap<String, (Token, u32)>);

impl Prices {
    /// Writes a price under the token of a lease. Returns false if a newer lease has written.
    fn write(&mut self, item: &str, cents: u32, token: Token) -> bool {
        let newest = self.0.get(item).map(|(newest, _)| *newest);
        if newest.is_some_and(|newest| token <= newest) {
            return false;
        }
        self.0.insert(item.to_owned(), (token, cents));
        true
    }
}

fn handle(prices: &mut Prices, delivery: &TypedDelivery<NewPrice>) -> Result<bool, Failure> {
    let NewPrice { item, cents } = delivery.body()?;
    let token = delivery.receipt().token;
    let written = prices.write(item, *cents, token);
    println!(
        "attempt {}, token {token}: {item} at {cents} cents, {}",
        delivery.attempt(),
        if written { "written" } else { "refused" }
    );
    Ok(written)
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 0)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let queues = queue_kit::connect(&arguments.backend).await?;
    let jobs = queues.reliable(QUEUE).open::<NewPrice>().await?;
    jobs.queue().purge_all().await?;
    let lamp = NewPrice {
        item: "lamp".to_owned(),
        cents: 1_990,
    };
    jobs.push(&lamp).await?;

    let mut prices = Prices::default();
    let held_up = jobs.receive(SHORT_LEASE, PATIENCE).await?;
    let held_up = held_up.ok_or("the job is missing")?;
    // A long pause of the process, say. The lease ends, and another worker gets the job.
    sleep(SHORT_LEASE).await;
    let second = jobs.receive(LEASE, PATIENCE).await?;
    let second = second.ok_or("the job did not come again")?;

    let in_time = handle(&mut prices, &second)?;
    second.ack().await?;
    // The first holder goes on where it was.
    let late = handle(&mut prices, &held_up)?;
    let lost = held_up.ack().await.is_err();

    println!("in_time={in_time} late={late} late_ack_refused={lost}");
    Ok(match (in_time, late, lost) {
        (true, false, true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
