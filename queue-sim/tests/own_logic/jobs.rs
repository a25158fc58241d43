//! A job or two, and workers that do them.

use queue_core::{Reliable, ReliableConfig};
use queue_sim::sim::{BoxError, Effects, Run, Sim, sim};
use queue_worker::Context;

pub(crate) async fn push_one(jobs: Reliable<u32>) -> Result<(), BoxError> {
    jobs.push(&1).await?;
    Ok(())
}

pub(crate) async fn push_two(jobs: Reliable<u32>) -> Result<(), BoxError> {
    jobs.push(&1).await?;
    jobs.push(&2).await?;
    Ok(())
}

/// Jobs whose effects go to a ledger that deduplicates.
pub(crate) fn harmless(name: &str) -> Sim {
    jobs(name, |run| {
        let done = run.ledger("job");
        move |job, _cx| {
            let done = done.clone();
            async move {
                // It does not matter whether the effect happened before.
                let _ = done.apply_once(job).await;
            }
        }
    })
}

/// The same with a ledger that does not deduplicate.
pub(crate) fn harmful(name: &str) -> Sim {
    jobs(name, |run| {
        let done = run.ledger("job");
        move |job, _cx| {
            let done = done.clone();
            async move { done.apply(job).await }
        }
    })
}

fn jobs<H, F>(name: &str, handler: impl Fn(&Run) -> H + Send + Sync + 'static) -> Sim
where
    H: Fn(u32, Context) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    sim(name)
        .reliable::<u32>("jobs", ReliableConfig::default())
        .producer(push_two)
        .handler(handler)
        .check(Effects::exactly_once())
}
