//! The consumers of a queue.

use std::{collections::BTreeMap, time::Duration};

use queue_core::{Backend, Error, Page, Place, QueueName, Result, Standing, Token, limits};
use serde::Serialize;

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
/// `Invalid` for a bad name, and for a ring. `Configuration` if there is no such queue. Errors of the backend.
pub async fn consumers(backend: &dyn Backend, queue: &str) -> Result<Vec<ConsumerInfo>> {
    let name = QueueName::new(queue)?;
    let stored = backend.open_stored(&name).await?;
    let stored = stored.ok_or_else(|| Error::invalid(format!("there is no queue `{name}`")))?;
    let leasing = stored
        .queue
        .leasing()
        .ok_or_else(|| Error::invalid(format!("`{name}` is a ring: nobody holds its items")))?;
    let now = backend.now().await?;
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
            let since = receipt.token.get() / Token::PER_MILLI;
            consumer.leased += 1;
            consumer.longest_ms = consumer
                .longest_ms
                .max(now.as_millis().saturating_sub(since));
            let end = millis(time_left);
            consumer.next_end_ms = Some(consumer.next_end_ms.map_or(end, |next| next.min(end)));
        }
        match leased.next {
            Some(next) => page = Page::after(next, limits::MAX_PAGE),
            None => break,
        }
    }
    for holder in backend.facts(&name).await?.waiting_holders {
        found.entry(holder).or_default().waits = true;
    }
    let named = found
        .into_iter()
        .map(|(holder, consumer)| ConsumerInfo { holder, ..consumer });
    Ok(named.collect())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
