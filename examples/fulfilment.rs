//! Orders that are charged, wait, and send a mail for each line: durable jobs, which survive a crash in their middle.

mod cli;

use std::{process::ExitCode, time::Duration};

use queue_kit::{
    Context, Queues, Reliable, Worker,
    worker::{Failure as Failed, Output},
};
use serde::{Deserialize, Serialize};

use self::cli::{Arguments, Failure};

const HELP: &str = "\
Fulfils orders: charges each one once, waits two seconds, sends a mail for each line, and closes it.

usage: fulfilment [--backend URL] [ORDERS]

Kill it at any moment. On a backend that outlives the process, start it again to go on: no order
is charged a second time after its charge was stored, and no mail is queued twice. ORDERS is 3 if
left out; orders that an earlier run left are finished first.

--backend URL   where the queues are; memory: if left out";

const COOL_OFF: Duration = Duration::from_secs(2);
/// If this process dies, another gets its jobs this much later.
const LEASE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    number: u64,
    lines: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Mail {
    order: u64,
    line: String,
}

/// The queues of the shop.
#[derive(Clone)]
struct Shop {
    orders: Reliable<Order>,
    mails: Reliable<Mail>,
}

impl Shop {
    async fn open(queues: &Queues) -> queue_kit::Result<Self> {
        Ok(Self {
            orders: queues.reliable("example:orders").open().await?,
            mails: queues.reliable("example:mails").open().await?,
        })
    }

    /// The job. Each attempt begins from the start; finished steps do not run again.
    async fn fulfil(self, order: Order, cx: Context) -> Result<(), Failed> {
        let number = order.number;
        let charge: u64 = cx
            .step("charge", || async {
                println!("order {number}: charged");
                Ok::<_, Failed>(number * 1_000)
            })
            .await?;
        cx.sleep("cool off", COOL_OFF).await?;
        let mails = order.lines.into_iter();
        let mails = mails.map(|line| Mail {
            order: number,
            line,
        });
        let mails = cx.spawn("mails", &self.mails, mails).await?;
        let sent = cx.join(&mails).await?;
        println!(
            "order {number}: closed with charge {charge}, {} mails sent, {} failed",
            sent.done(),
            sent.dead()
        );
        Ok(())
    }

    async fn is_empty(&self) -> queue_kit::Result<bool> {
        let orders = self.orders.queue().depth().await?;
        let mails = self.mails.queue().depth().await?;
        Ok(orders.occupied() + mails.occupied() == 0)
    }

    /// Waits until no order and no mail is left.
    async fn all_done(self) {
        while !matches!(self.is_empty().await, Ok(true)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn send(mail: Mail, _: Context) -> Result<Output<usize>, Failed> {
    if mail.line == "nobody" {
        return Err(Failed::bury("the address is unknown"));
    }
    println!("order {}: mail for {}", mail.order, mail.line);
    Ok(Output(mail.line.len()))
}

#[tokio::main]
async fn main() -> ExitCode {
    cli::exit_code(run(&Arguments::read(HELP, 1)).await)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let count = match arguments.operands.first() {
        Some(text) => text
            .parse()
            .map_err(|_| format!("{text:?} is no number of orders"))?,
        None => 3,
    };
    let queues = queue_kit::connect(&arguments.backend).await?;
    let shop = Shop::open(&queues).await?;
    if shop.is_empty().await? {
        for number in 1..=count {
            let lines = ["a lamp", "a chair", "nobody"].map(str::to_owned).to_vec();
            shop.orders.push(&Order { number, lines }).await?;
        }
    } else {
        println!("an earlier run left orders: going on");
    }

    let orders = Worker::new(shop.orders.clone()).lease(LEASE).concurrency(2);
    let fulfil = {
        let shop = shop.clone();
        move |order, cx| shop.clone().fulfil(order, cx)
    };
    let mails = Worker::new(shop.mails.clone()).lease(LEASE).concurrency(2);
    // A result tells a mail that was sent from one that is gone.
    let mails = mails.keep_results(HOUR, queue_kit::limits::DEFAULT_RESULTS);
    let (orders, mails) = tokio::try_join!(
        orders.run_until(shop.clone().all_done(), fulfil),
        mails.run_until(shop.clone().all_done(), send),
    )?;
    println!(
        "orders={} mails={} failed={}",
        orders.counts.acked, mails.counts.acked, mails.counts.died
    );
    Ok(ExitCode::SUCCESS)
}
