//! Every recipe, with short intervals.

use std::sync::Arc;

use queue_core::*;
use queue_recipes::*;
use queue_redis::RedisBackend;

use crate::ground::{Ground, SOON, name};

/// The queue that tests open.
pub(crate) const QUEUE: &str = "q";

/// A recipe's backend and what it says of itself.
pub(crate) struct Made {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) guarantees: Guarantees,
    /// The keys of the queue [`QUEUE`], and what they hold.
    pub(crate) keys: &'static [(&'static str, &'static str)],
}

fn made<R: Recipe>(
    redis: &RedisBackend,
    recipe: R,
    keys: &'static [(&'static str, &'static str)],
) -> Made {
    Made {
        guarantees: recipe.guarantees(),
        backend: Arc::new(RecipeBackend::new(redis, recipe)),
        keys,
    }
}

/// All recipes. None runs a task of its own.
pub(crate) fn all(redis: &RedisBackend) -> Vec<Made> {
    const LIST: &[(&str, &str)] = &[("q", "list")];
    const WITH_DEAD: &[(&str, &str)] = &[("q", "list"), ("{q}:dead", "list")];
    const JSON: &[(&str, &str)] = &[("delay_queue:q", "zset"), ("{delay_queue:q}:dead", "zset")];
    const PROCESSING: &[(&str, &str)] = &[
        JSON[0],
        JSON[1],
        ("processing_queue:q", "zset"),
        ("{delay_queue:q}:retries", "hash"),
    ];
    let private = PrivateBackup::of_client("w7");
    vec![
        made(
            redis,
            ZsetString::default().poll(SOON),
            &[("q", "zset"), ("{q}:dead", "list")],
        ),
        made(
            redis,
            WaitActive::default().without_distributor(),
            &[
                ("delay:meta:topic:wait", "set"),
                ("delay:wait:q", "zset"),
                ("delay:meta:topic:active", "set"),
                ("delay:active:q", "list"),
                ("{delay:active:q}:dead", "list"),
            ],
        ),
        made(redis, ZsetJson::default().poll(SOON), JSON),
        made(
            redis,
            ZsetJson::default().with_processing().poll(SOON),
            PROCESSING,
        ),
        made(redis, ZsetJson::default().with_priority().poll(SOON), JSON),
        made(redis, BlockingList::default(), WITH_DEAD),
        made(
            redis,
            private,
            &[
                ("q", "list"),
                ("{q}:backup:w7", "list"),
                ("{q}:dead", "list"),
            ],
        ),
        made(
            redis,
            SharedBackup::default().poll(SOON),
            &[("q", "list"), ("{q}:backup", "list"), ("{q}:dead", "list")],
        ),
        made(
            redis,
            Stream::consumer("w7").poll(SOON),
            &[("q", "stream"), ("{q}:dead", "list")],
        ),
        made(
            redis,
            PriorityLists::default(),
            &[
                ("{q}:high", "list"),
                ("{q}:normal", "list"),
                ("{q}:low", "list"),
                ("{q}:dead", "list"),
            ],
        ),
        made(redis, FixedLength::naive(), LIST),
        made(redis, FixedLength::newest_last(), LIST),
        made(redis, FixedLength::newest_first(), LIST),
        made(redis, FixedLength::trim(), LIST),
        made(redis, FixedLength::trim_in_two(), LIST),
        made(redis, DistinctZset::default(), &[("q", "zset")]),
        made(redis, DistinctZset::default().add_first(), &[("q", "zset")]),
        made(redis, KeyLock::default(), LIST),
        made(redis, Rotation::default().poll(SOON), LIST),
    ]
}

impl Made {
    pub(crate) async fn open(&self) -> AnyQueue {
        let opened = self.try_open(self.guarantees.kind).await;
        opened.unwrap_or_else(|error| panic!("{}: {error}", self.guarantees.name))
    }

    pub(crate) async fn try_open(&self, kind: QueueKind) -> Result<AnyQueue> {
        let config = QueueConfig::of(kind, 3);
        self.backend.open(&name(QUEUE), &config).await
    }
}

/// The recipes with leases, each on its own server.
pub(crate) async fn leasing() -> Vec<(Ground, Made)> {
    let mut grounds = Vec::new();
    for nth in 0..all(&Ground::start().await.redis).len() {
        let ground = Ground::start().await;
        let made = all(&ground.redis).swap_remove(nth);
        if made.guarantees.calls.contains("lease") {
            grounds.push((ground, made));
        }
    }
    grounds
}
