//! Unpaid orders are cancelled, and what was paid in advance is refunded: once, please.

use std::time::Duration;

use queue_core::{Context, DelayConfig};
use queue_sim::sim::{Drained, Effects, Ledger, Run, Sim, sim};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct CancelOrder {
    order: u64,
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The simulation, with whatever way of refunding.
fn order_timeouts<H, F>(name: &str, handler: impl Fn(Ledger) -> H + Send + Sync + 'static) -> Sim
where
    H: Fn(CancelOrder, Context) -> F + Send + Sync + 'static,
    F: Future<Output: queue_core::worker::IntoVerdict> + Send + 'static,
{
    sim(name)
        .delay::<CancelOrder>("order-timeouts", DelayConfig::default())
        .producer(|timeouts| async move {
            for order in 1..=3 {
                timeouts.push(&CancelOrder { order }, secs(60)).await?;
            }
            Ok(())
        })
        .workers(2)
        .handler(move |run: &Run| handler(run.ledger("refund")))
        .check(Effects::exactly_once())
        .check(Drained::within(secs(3600)))
}

#[test]
fn a_refund_without_a_key_happens_twice() {
    let broken = order_timeouts("refund-twice", |refunds| {
        move |job: CancelOrder, _cx: Context| {
            let refunds = refunds.clone();
            async move { refunds.apply(job.order).await }
        }
    })
    .try_run()
    .expect_err("finds it");
    println!("{broken}");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

#[test]
fn fencing_alone_does_not_help() {
    let broken = order_timeouts("refund-fenced", |refunds| {
        move |job: CancelOrder, cx: Context| {
            let refunds = refunds.clone();
            async move { refunds.apply_fenced(job.order, cx.token()).await }
        }
    })
    .try_run()
    .expect_err("finds it");
    println!("{broken}");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

#[test]
fn a_sink_that_knows_the_order_refunds_once() {
    order_timeouts("refund-once", |refunds| {
        move |job: CancelOrder, _cx: Context| {
            let refunds = refunds.clone();
            async move {
                refunds.apply_once(job.order).await;
            }
        }
    })
    .run();
}
