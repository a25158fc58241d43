//! A delay queue cancels unpaid orders on time.

#[path = "../cli/mod.rs"]
mod cli;
mod orders;
mod shop;

use std::{
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use queue_kit::TypedDelivery;
use serde::{Deserialize, Serialize};

use self::{
    cli::{Arguments, Failure},
    shop::{OpenOrders, Shop},
};

const HELP: &str = "\
Cancels orders that are not paid in time.

usage: order_timeout [--backend URL] [FILE]

FILE has one order a line, as JSON, with times in milliseconds:
    {\"order\": 1, \"placed_ms\": 0, \"timeout_ms\": 800, \"paid_ms\": 300}
placed_ms counts from the start (0 if left out), timeout_ms and paid_ms from the placing; an
order without paid_ms is never paid. Without FILE, a bundled sample is used. Orders that are left
from a run that was killed are cancelled when their time is up. One run at a time on a shared
backend, please.

--backend URL   where the queue is; memory: if left out";

const SAMPLE: &str = include_str!("../data/orders.jsonl");
const QUEUE: &str = "example:order-timeouts";
const LEASE: Duration = Duration::from_secs(30);
/// The interval at which the canceller checks whether the shop has closed.
const CLOSING_CHECK: Duration = Duration::from_millis(100);
/// The lateness at which we stop waiting for a delivery.
const PATIENCE: Duration = Duration::from_secs(60);

/// The message that the queue delivers when an order's time is up.
#[derive(Debug, Serialize, Deserialize)]
struct CancelOrder {
    /// Separates the orders of this run from orders of an earlier run, whose payments nobody knows any more.
    run: u64,
    order: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 1)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let (orders, bad_lines) = match arguments.operands.first() {
        Some(path) => {
            let file =
                std::fs::read(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            orders::read(&file)
        }
        None => orders::read(SAMPLE.as_bytes()),
    };
    for (line, reason) in &bad_lines {
        eprintln!("line {line} is left out: {reason}");
    }

    let queues = queue_kit::connect(&arguments.backend).await?;
    let timeouts = queues.delay(QUEUE).open::<CancelOrder>().await?;
    let queue = timeouts.queue();
    let earlier = queue.depth().await?.occupied();
    if earlier > 0 {
        println!("{earlier} orders are open from an earlier run");
    }

    let run = run_id();
    let open = OpenOrders::default();
    let shop = tokio::spawn(Shop::new(run, timeouts.clone(), open.clone()).serve(orders));
    let mut cancelled = Cancellations::default();
    while !(shop.is_finished() && open.is_empty() && queue.depth().await?.occupied() == 0) {
        for delivery in timeouts.receive_batch(128, LEASE, CLOSING_CHECK).await? {
            cancelled.handle(run, &open, &delivery).await?;
        }
        if let Some(order) = open.overdue_by(PATIENCE) {
            return Err(
                format!("order {order} is {PATIENCE:?} overdue and was not delivered").into(),
            );
        }
    }
    let sales = shop.await??;

    println!(
        "orders={} paid={} cancelled={} early={} worst_late_ms={}",
        sales.orders, sales.paid, cancelled.orders, cancelled.early, cancelled.worst_late_ms
    );
    let left_out = bad_lines.len() + sales.refused;
    if left_out > 0 {
        eprintln!("{left_out} lines were left out, see above");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The canceller's counts.
#[derive(Debug, Default)]
struct Cancellations {
    orders: u64,
    early: u64,
    worst_late_ms: u64,
}

impl Cancellations {
    async fn handle(
        &mut self,
        run: u64,
        open: &OpenOrders,
        delivery: &TypedDelivery<CancelOrder>,
    ) -> Result<(), Failure> {
        let due = match delivery.body() {
            Ok(due) => due,
            Err(error) => {
                eprintln!("message {} is buried: {error}", delivery.id());
                return Ok(delivery.bury(error.to_string()).await?);
            }
        };
        if due.run != run {
            println!(
                "order {} of an earlier run was not paid in time: cancelled",
                due.order
            );
        } else if let Some(late_ms) = open.close(due.order) {
            println!(
                "order {} was not paid in time: cancelled, {late_ms} ms late",
                due.order
            );
            self.orders += 1;
            self.early += u64::from(late_ms < 0);
            self.worst_late_ms = self.worst_late_ms.max(late_ms.try_into().unwrap_or(0));
        } else {
            println!("order {} is cancelled already", due.order);
        }
        Ok(delivery.ack().await?)
    }
}

/// Differs from run to run, on every machine that shares the backend.
fn run_id() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default() ^ (u64::from(std::process::id()) << 40)
}
