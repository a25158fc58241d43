use std::{sync::Arc, time::Duration};

use queue_core::{Backend, Guarantees};
use queue_redis::{
    RedisBackend,
    recipes::{
        BlockingList, DistinctZset, FixedLength, KeyLock, PriorityLists, PrivateBackup, Recipe,
        Rotation, SharedBackup, Stream, WaitActive, ZsetJson, ZsetString,
    },
};

use crate::{plan::Lane, wire::RedisEnvironmentBuilder};

/// A strategy to play, at the pace of the simulation: milliseconds stand for its seconds.
#[derive(Debug, Clone)]
pub struct Strategy {
    /// What it has, and which rules it declares to break.
    pub guarantees: Guarantees,
    serve: fn(RedisBackend, Lane) -> Arc<dyn Backend>,
    /// The command that answers the length of a bounded one.
    length: Option<&'static [&'static str]>,
}

impl Strategy {
    /// The environment that serves it.
    pub fn environment(&self) -> RedisEnvironmentBuilder {
        RedisEnvironmentBuilder::default().serving(self.length, self.serve)
    }
}

const POLL: Duration = Duration::from_millis(5);
const BLOCK: Duration = Duration::from_millis(20);
const LIST: &[&str] = &["LLEN", "queue"];
const ZSET: &[&str] = &["ZCARD", "queue"];

fn zset_string() -> ZsetString {
    let unit = Duration::from_millis(10);
    ZsetString::default()
        .unit(unit)
        .previous(unit * 3)
        .poll(POLL)
}

fn wait_active() -> WaitActive {
    WaitActive::default().tick(POLL).timeout(BLOCK)
}

fn zset_json() -> ZsetJson {
    ZsetJson::default().poll(POLL)
}

fn private_backup(lane: Lane) -> PrivateBackup {
    PrivateBackup::of_client(format!("lane-{}", lane.0)).timeout(BLOCK)
}

fn shared_backup() -> SharedBackup {
    SharedBackup::default().poll(POLL)
}

fn stream(lane: Lane) -> Stream {
    Stream::consumer(format!("lane-{}", lane.0)).poll(POLL)
}

macro_rules! strategies {
    ($($recipe:expr $(, $length:expr)?;)*) => {
        /// All strategies, in the order of the table.
        pub fn all() -> Vec<Strategy> {
            vec![$(Strategy {
                guarantees: ($recipe)(Lane(0)).guarantees(),
                serve: |backend, lane| Arc::new(backend.recipe(($recipe)(lane))),
                length: strategies!(@length $($length)?),
            },)*]
        }
    };
    (@length) => { None };
    (@length $length:expr) => { Some($length) };
}

strategies! {
    |_| zset_string();
    |_| wait_active();
    |_| zset_json();
    |_| zset_json().with_priority();
    |_| zset_json().with_processing();
    |_| BlockingList::default().timeout(BLOCK);
    private_backup;
    |_| shared_backup();
    |_| shared_backup().with_checker(BLOCK * 3);
    stream;
    |_| PriorityLists::default().timeout(BLOCK);
    |_| Rotation::default().poll(POLL);
    |_| FixedLength::naive(), LIST;
    |_| FixedLength::newest_last(), LIST;
    |_| FixedLength::newest_first(), LIST;
    |_| FixedLength::trim(), LIST;
    |_| FixedLength::trim_in_two(), LIST;
    |_| DistinctZset::default(), ZSET;
    |_| DistinctZset::default().add_first(), ZSET;
    |_| KeyLock::default(), LIST;
}
