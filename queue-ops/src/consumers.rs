//! The consumers of a queue.

use std::collections::BTreeMap;

use queue_core::{
    Backend, Leasing, Page, Place, QueueName, Result, Standing, Timestamp, Token, limits,
    millis_ceil,
};
use serde::Serialize;

use crate::open::open_leasing;

/// A consumer of a queue, by the name that its leases carry.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct ConsumerInfo {
    /// The name; empty for leases and waits without one.
    pub holder: String,
    /// Whether it waits for messages.
    pub waits: bool,
    /// How many messages it has.
    pub leased: u64,
    /// How long it has had the one that it has had for longest, in milliseconds.
    pub longest_ms: u64,
    /// When the first of its leases ends unless it is extended, in milliseconds.
    pub next_end_ms: Option<u64>,
}

/// Pages of leases that are read, at most.
const PAGES: usize = 10;

/// The consumers of a queue, by name: the holders of leases, of the first 10,000 in the order of their ends, and
/// those that wait, where the backend knows them. A consumer that waits for a free handler, and has no lease, is not seen.
///
/// # Errors
///
/// `Invalid` for a bad name, for a ring, and if there is no such queue. Errors of the backend.
pub async fn consumers(backend: &dyn Backend, queue: &str) -> Result<Vec<ConsumerInfo>> {
    let name = QueueName::new(queue)?;
    let leasing = open_leasing(backend, &name).await?;
    let facts = backend.facts(&name).await?;
    consumers_of(&*leasing, backend.now().await?, facts.waiting_holders).await
}

/// The consumers of an open queue, of which these wait.
pub(crate) async fn consumers_of(
    leasing: &dyn Leasing,
    now: Timestamp,
    waiting: Vec<String>,
) -> Result<Vec<ConsumerInfo>> {
    let mut found: BTreeMap<String, ConsumerInfo> = BTreeMap::new();
    let mut page = Page::first(limits::MAX_PAGE);
    for _ in 0..PAGES {
        let leased = leasing.peek(Place::Leased, page).await?;
        for entry in leased.entries {
            let Standing::Leased {
                receipt,
                time_left,
                holder,
                ..
            } = entry.standing
            else {
                continue;
            };
            let holder = holder.map_or_else(String::new, |holder| holder.as_str().to_owned());
            let consumer = found.entry(holder).or_default();
            let lasted = millis_ceil(now.since(leased_at(receipt.token)));
            consumer.leased += 1;
            consumer.longest_ms = consumer.longest_ms.max(lasted);
            let end = millis_ceil(time_left);
            consumer.next_end_ms = Some(consumer.next_end_ms.map_or(end, |next| next.min(end)));
        }
        match leased.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => break,
        }
    }
    for holder in waiting {
        found.entry(holder).or_default().waits = true;
    }
    let named = found
        .into_iter()
        .map(|(holder, consumer)| ConsumerInfo { holder, ..consumer });
    Ok(named.collect())
}

/// The time at which a lease was made. A token is not below a thousand times that time (R1).
pub(crate) const fn leased_at(token: Token) -> Timestamp {
    Timestamp::from_millis(token.get() / Token::PER_MILLI)
}
