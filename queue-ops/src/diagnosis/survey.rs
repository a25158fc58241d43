//! The diagnoses of many queues.

use std::{cmp::Reverse, mem, sync::Arc, time::Duration};

use futures_util::{
    StreamExt,
    future::join_all,
    stream::{self, Stream},
};
use queue_core::{Backend, QueueInfo, QueueName, limits};
use tokio::time::Instant;

use super::{
    Diagnosis, Severity, is_shown_only, look,
    view::{Lists, Reading},
};

/// Queues that are looked at together: they share round trips.
const AT_ONCE: usize = 64;

/// Diagnoses queues that [`list_queues`](crate::list_queues) has just listed: first those whose counters look worst, and
/// the worst diagnosis first of each 64 queues.
///
/// Reads less of each queue than [`diagnose`](super::diagnose): the first page of each place. A queue costs at most
/// seven calls to the queue, one for its facts and one for the time. Lists of workers and refusals, and the state of a server, are read
/// once for many queues. A queue of durable jobs that wait for children costs up to 22 calls more. The listing is the first look at a queue that seems to stand still.
pub fn diagnose_each(
    backend: &dyn Backend,
    mut queues: Vec<QueueInfo>,
) -> impl Stream<Item = Diagnosis> {
    let listed = Instant::now();
    queues.sort_by_key(rank);
    stream::once(Lists::read(backend)).flat_map(move |lists| {
        let lists = Arc::new(lists);
        let batches: Vec<Vec<QueueInfo>> = mem::take(&mut queues)
            .chunks(AT_ONCE)
            .map(<[QueueInfo]>::to_vec)
            .collect();
        let batches = stream::iter(batches);
        let looked = batches
            .map(move |batch| look_at(backend, batch, Arc::clone(&lists), listed))
            .buffered(2);
        looked.flat_map(stream::iter)
    })
}

async fn look_at(
    backend: &dyn Backend,
    queues: Vec<QueueInfo>,
    lists: Arc<Lists>,
    listed: Instant,
) -> Vec<Diagnosis> {
    let names: Vec<QueueName> = queues.iter().map(|queue| queue.name.clone()).collect();
    let facts = backend.facts_of_each(&names).await;
    let looks = queues.into_iter().zip(facts).map(|(queue, facts)| {
        let first = queue.counters.map(|counters| (listed, counters));
        let reading = Reading {
            lists: &lists,
            most: limits::MAX_PAGE,
        };
        look(backend, queue.name, facts, reading, first)
    });
    let mut diagnoses = join_all(looks).await;
    let severity = |one: &Diagnosis| {
        one.findings
            .first()
            .map_or(Severity::Note, |first| first.severity)
    };
    diagnoses.sort_by_key(severity);
    diagnoses
}

/// How bad a queue looks by its counters: what cannot be read, or has messages that nobody has; then what has some; then
/// by the age of its oldest ready message.
fn rank(queue: &QueueInfo) -> (u8, Reverse<Duration>) {
    let Some(counters) = &queue.counters else {
        return (0, Reverse(Duration::MAX));
    };
    let depth = counters.depth;
    let oldest = Reverse(counters.oldest_ready.unwrap_or_default());
    let class = match depth.ready {
        _ if is_shown_only(&queue.name, queue.kind, counters) => 3,
        1.. if depth.leased == 0 || counters.paused => 0,
        0 if depth.occupied() + depth.dead == 0 => 2,
        _ => 1,
    };
    (class, oldest)
}
