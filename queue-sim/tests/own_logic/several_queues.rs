//! An order queue feeds a delay queue.

use std::time::Duration;

use queue_core::{DelayConfig, ReliableConfig};
use queue_sim::sim::{BoxError, Drained, Effects, Rules, Run, Sim, sim};
use queue_worker::Context;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    number: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Remind {
    order: u64,
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Takes an order and schedules its reminder, with or without the order's number as dedup key.
async fn take(run: &Run, order: &Order, dedup: bool) -> Result<(), BoxError> {
    let reminders = run.queues().delay("reminders").open::<Remind>().await?;
    let remind = Remind {
        order: order.number,
    };
    if dedup {
        let key = order.number.to_string();
        let message = reminders.message(&remind).delay(secs(600));
        message.dedup(key, secs(86_400)).send().await?;
    } else {
        reminders.push(&remind, secs(600)).await?;
    }
    Ok(())
}

fn shop(dedup: bool) -> Sim {
    sim("shop")
        .reliable::<Order>("orders", ReliableConfig::default())
        .producer(|orders| async move {
            for number in 1..=3 {
                orders.push(&Order { number }).await?;
            }
            Ok(())
        })
        .workers(2)
        .handler(move |run: &Run| {
            let run = run.clone();
            move |order: Order, _cx: Context| {
                let run = run.clone();
                async move { take(&run, &order, dedup).await }
            }
        })
        .delay::<Remind>("reminders", DelayConfig::default())
        .workers(1)
        .handler(|run: &Run| {
            let mails = run.ledger("mail");
            move |remind: Remind, _cx: Context| {
                let mails = mails.clone();
                async move { mails.apply(format!("{}", remind.order)).await }
            }
        })
        .check(Rules::all())
        .check(Drained::within(secs(3600)))
        .seeds(100)
}

#[test]
fn messages_forwarded_to_another_queue_arrive() {
    let tally = shop(true).try_run().expect("every rule holds");
    assert!(tally.redeliveries > 0, "{tally}");
}

/// An order that is delivered twice schedules two reminders, and no worker of the second queue can
/// notice.
#[test]
fn a_hand_over_without_a_dedup_key_doubles() {
    let broken = shop(false)
        .check(Effects::at_most_once())
        .try_run()
        .expect_err("finds it");
    assert_eq!(broken.finding.rule, "effects at most once");
}
