//! A program that cancels unpaid orders, and refunds advance payments exactly once.

use std::time::Duration;

use queue_core::DelayConfig;
use queue_sim::sim::{Drained, Effects, Ledger, Rules, Run, Sim, sim};
use queue_worker::Context;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct CancelOrder {
    order: u64,
}

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The simulation, with this handler for refunds.
fn order_timeouts<H, F>(name: &str, handler: H) -> Sim
where
    H: Fn(Ledger, CancelOrder, Context) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
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
        .handler(move |run: &Run| {
            let (handler, refunds) = (handler.clone(), run.ledger("refund"));
            move |job: CancelOrder, cx: Context| handler(refunds.clone(), job, cx)
        })
        .check(Rules::all())
        .check(Effects::exactly_once())
        .check(Drained::within(secs(3600)))
}

/// Refunds at every delivery.
async fn refund(refunds: Ledger, job: CancelOrder, _cx: Context) {
    refunds.apply(job.order).await;
}

/// Refuses a holder whose lease is older than another's that was there.
async fn refund_fenced(refunds: Ledger, job: CancelOrder, cx: Context) {
    // A refused holder has nothing to do.
    let _ = refunds.apply_fenced(job.order, cx.token()).await;
}

/// Knows the refunded orders.
async fn refund_once(refunds: Ledger, job: CancelOrder, _cx: Context) {
    refunds.apply_once(job.order).await;
}

#[test]
fn a_refund_without_a_key_happens_twice() {
    let broken = order_timeouts("refund-twice", refund)
        .try_run()
        .expect_err("finds it");
    println!("{broken}");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

#[test]
fn fencing_alone_does_not_help() {
    let broken = order_timeouts("refund-fenced", refund_fenced)
        .try_run()
        .expect_err("finds it");
    assert_eq!(broken.finding.rule, "effects exactly once");
}

#[test]
fn a_sink_that_knows_the_order_refunds_once() {
    order_timeouts("refund-once", refund_once).run();
}

/// The same tests on a real redis-server.
#[cfg(all(unix, feature = "redis"))]
mod on_redis {
    use queue_sim::wire::RedisEnvironment;

    use super::*;

    fn environment() -> RedisEnvironment {
        RedisEnvironment::start().expect("a redis-server")
    }

    #[test]
    fn a_refund_without_a_key_happens_twice() {
        let broken = order_timeouts("refund-twice", refund)
            .backend(environment)
            .try_run()
            .expect_err("finds it");
        println!("{broken}");
        assert_eq!(broken.finding.rule, "effects exactly once");
    }

    #[test]
    fn fencing_alone_does_not_help() {
        let broken = order_timeouts("refund-fenced", refund_fenced)
            .backend(environment)
            .try_run()
            .expect_err("finds it");
        assert_eq!(broken.finding.rule, "effects exactly once");
    }

    #[test]
    fn a_sink_that_knows_the_order_refunds_once() {
        let tally = order_timeouts("refund-once", refund_once)
            .backend(environment)
            .try_run()
            .expect("it holds");
        println!("{tally}");
    }
}
