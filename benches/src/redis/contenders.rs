//! The strategies that are compared: the default queues, and every published strategy of the same
//! kind.

use std::{sync::Arc, time::Duration};

use queue_core::{AnyQueue, Backend, Feature, Guarantees, QueueConfig, QueueKind, QueueName};
use queue_recipes::{
    BlockingList, DistinctZset, FixedLength, KeyLock, PriorityLists, PrivateBackup, Recipe,
    RecipeBackend, Rotation, SharedBackup, Stream, WaitActive, ZsetJson, ZsetString,
};
use queue_redis::RedisBackend;

/// The most messages of one take: more than any batch that is measured.
const MOST: usize = 128;
/// The time between two rounds of a distributor. It is longer than a round of jobs takes, so that
/// each round of jobs costs one round of the distributor.
const TICK: Duration = Duration::from_millis(50);
/// The most messages that one round of a distributor moves.
const MOVED: usize = 10_000;
/// The time after which the checker of a backup puts an entry back.
const CHECKED: Duration = Duration::from_secs(60);
/// Where a distributor puts messages that are due.
const ACTIVE: &str = "delay:active:";

/// The keys that a strategy's messages carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// None.
    Without,
    /// A dedup key, another for each message.
    Dedup,
    /// A distinct key, another for each message.
    Distinct,
}

/// A strategy that is compared with others of its kind.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Its name.
    pub name: &'static str,
    /// The kind of its queue.
    pub kind: QueueKind,
    /// Whether a client may hold several messages at once.
    pub has_several: bool,
    /// Whether a message that is due can be taken at once. Otherwise it waits for a tick.
    pub is_at_once: bool,
    /// The keys of its messages.
    pub keys: Keys,
    make: Make,
}

/// Makes the backend of a queue with this name.
type Make = fn(&RedisBackend, &str) -> Arc<dyn Backend>;

impl Contender {
    fn ours(name: &'static str, kind: QueueKind, keys: Keys) -> Self {
        Self {
            name,
            kind,
            has_several: true,
            is_at_once: true,
            keys,
            make: |backend, _| Arc::new(backend.clone()),
        }
    }

    fn published(guarantees: &Guarantees, make: Make) -> Self {
        let keys = match guarantees.has(Feature::Dedup) {
            true => Keys::Dedup,
            false => Keys::Without,
        };
        Self {
            name: guarantees.name,
            kind: guarantees.kind,
            has_several: guarantees.has(Feature::Several),
            is_at_once: guarantees.has(Feature::AtOnce),
            keys,
            make,
        }
    }

    /// Opens its queue of this name; a bounded one has this capacity.
    ///
    /// # Panics
    ///
    /// If it cannot be opened.
    pub async fn open(&self, backend: &RedisBackend, name: &str, capacity: usize) -> AnyQueue {
        let backend = (self.make)(backend, name);
        let name = QueueName::new(name).expect("the name is allowed");
        let config = QueueConfig::of(self.kind, capacity);
        let opened = backend.open(&name, &config).await;
        opened.expect("the queue opens")
    }

    /// The list to which a distributor moves what is due, if the strategy has one.
    pub fn moved_to(&self, name: &str) -> Option<String> {
        (!self.is_at_once).then(|| format!("{ACTIVE}{name}"))
    }
}

/// The strategies of a kind, the default one first.
pub fn of(kind: QueueKind) -> Vec<Contender> {
    let mut all = vec![Contender::ours("default", kind, Keys::Without)];
    if kind == QueueKind::Bounded {
        let dedup = Contender::ours("default, dedup keys", kind, Keys::Dedup);
        let distinct = Contender::ours("default, distinct keys", kind, Keys::Distinct);
        all.extend([dedup, distinct]);
    }
    let published = published().into_iter();
    all.extend(published.filter(|contender| contender.kind == kind));
    all
}

/// With whole milliseconds as units, so that a message is due at once. The name is a part of the
/// strings' keys, so that they are found.
fn zset_string(name: &str) -> ZsetString {
    ZsetString::default()
        .prefix(format!("{name}data"))
        .unit(Duration::from_millis(1))
        .num(MOST)
}

fn wait_active(_: &str) -> WaitActive {
    WaitActive::default().tick(TICK).batch(MOVED)
}

macro_rules! published {
    ($($recipe:expr;)*) => {
        fn published() -> Vec<Contender> {
            vec![$(Contender::published(
                &($recipe)("").guarantees(),
                |redis, name| Arc::new(RecipeBackend::new(redis, ($recipe)(name))),
            ),)*]
        }
    };
}

published! {
    zset_string;
    wait_active;
    |_| ZsetJson::default();
    |_| ZsetJson::default().with_priority();
    |_| ZsetJson::default().with_processing();
    |_| BlockingList::default();
    |_| PrivateBackup::of_client("bench");
    |_| SharedBackup::default();
    |_| SharedBackup::default().with_checker(CHECKED);
    |_| Stream::consumer("bench");
    |_| PriorityLists::default();
    |_| Rotation::default();
    |_| FixedLength::naive();
    |_| FixedLength::newest_last();
    |_| FixedLength::newest_first();
    |_| FixedLength::trim();
    |_| FixedLength::trim_in_two();
    |_| DistinctZset::default();
    |_| DistinctZset::default().add_first();
    |_| KeyLock::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_begins_with_the_default_and_has_published_ones() {
        let mut published = 0;
        for kind in QueueKind::ALL {
            let all = of(kind);
            assert_eq!(all[0].name, "default");
            // Nobody has published a strategy for groups.
            assert!(all.len() > 1 || kind == QueueKind::Grouped, "{kind}");
            published += all
                .iter()
                .filter(|one| !one.name.starts_with("default"))
                .count();
        }
        assert_eq!(published, 20);
    }
}
