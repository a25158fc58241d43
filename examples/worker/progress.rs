//! The queue's progress, from its own counters: so it goes on where an earlier run, or another
//! process, has left off.

use std::time::Duration;

use queue_kit::{Counters, Leasing, Page, Reliable};
use tokio::time::sleep;

use crate::{cli::Failure, jobs::Job};

/// The interval at which the counters are read, and the number of reads between two shown lines.
const LOOK: Duration = Duration::from_millis(50);
const SHOW: usize = 4;

/// The most dead letters to show.
const SHOWN: usize = 10;

/// Shows progress until every job is done or dead, in this process or another. If the backend does
/// not answer, it asks again.
pub(crate) async fn until_all_done(jobs: &Reliable<Job>) {
    let mut shown = String::new();
    for look in 0.. {
        let state = match jobs.queue().counters().await {
            Ok(counters) if counters.depth.occupied() == 0 => return,
            Ok(_) if look % SHOW != 0 => None,
            Ok(counters) => Some(line(&counters)),
            Err(error) => Some(format!("no word from the backend: {error}")),
        };
        if let Some(state) = state.filter(|state| *state != shown) {
            println!("{state}");
            shown = state;
        }
        sleep(LOOK).await;
    }
}

fn line(counters: &Counters) -> String {
    let depth = &counters.depth;
    format!(
        "{} of {} done, {} running, {} waiting, {} to be tried again, {} dead",
        counters.acked, counters.accepted, depth.leased, depth.ready, depth.delayed, depth.dead
    )
}

/// The outcomes of all jobs that were ever pushed to this queue.
pub(crate) async fn summary(jobs: &Reliable<Job>) -> Result<String, Failure> {
    let dead = jobs.dead_letters(Page::first(SHOWN)).await?;
    for letter in dead.entries {
        let name = letter.body.map(|job| job.job);
        let name = name.unwrap_or_else(|error| error.to_string());
        println!(
            "dead: {name}, after {} attempts: {}",
            letter.attempts, letter.reason
        );
    }
    let counters = jobs.queue().counters().await?;
    Ok(format!(
        "jobs={} done={} dead={} left={}",
        counters.accepted,
        counters.acked,
        counters.died - counters.revived,
        counters.depth.occupied()
    ))
}
