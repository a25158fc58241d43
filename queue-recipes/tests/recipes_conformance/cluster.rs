//! Recipes on a cluster: only recipes with all keys in one slot work.

use std::{error::Error as StdError, num::NonZeroUsize, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::*;
use queue_recipes::*;
use queue_redis::RedisBackend;
use real_redis::{Cluster, Server};
use tokio::time::sleep;

use super::{
    ANSWER, BLOCK, POLL,
    suite::{Home, RecipeHarness, connect, plays},
};

type Test = std::result::Result<(), Box<dyn StdError>>;

/// The time of a blocking pop: longer than a test waits, so that no poll hides a lost pop.
const HOUR: Duration = Duration::from_secs(3600);

impl Home for Cluster {
    fn address(&self) -> String {
        self.url()
    }

    fn all(&self) -> &[Server] {
        self.servers()
    }
}

/// A recipe whose keys have the queue's name for a hash tag.
#[derive(Debug)]
struct Tagged<R> {
    redis: RedisBackend,
    with_key: fn(String) -> R,
}

#[async_trait]
impl<R: Recipe> Backend for Tagged<R> {
    async fn open(&self, name: &QueueName, config: &QueueConfig) -> Result<AnyQueue> {
        let recipe = (self.with_key)(format!("{{{name}}}"));
        RecipeBackend::new(&self.redis, recipe)
            .open(name, config)
            .await
    }

    fn guarantees(&self, _: QueueKind) -> Guarantees {
        (self.with_key)(String::new()).guarantees()
    }

    async fn queues(&self, _: Option<&QueueName>, limit: NonZeroUsize) -> Result<Vec<QueueInfo>> {
        limits::check_page(limit.get())?;
        Ok(Vec::new())
    }
}

/// Three nodes, with no key yet.
fn three() -> Cluster {
    Cluster::start(3, 0, Server::builder()).unwrap_or_else(|error| panic!("{error}"))
}

macro_rules! on_three_nodes {
    ($($name:ident: $least:literal, |$key:ident| $recipe:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let guarantees = (|$key: String| $recipe)(String::new()).guarantees();
                let harness = RecipeHarness::new(three(), guarantees, |_, redis| {
                    Arc::new(Tagged { redis: redis.clone(), with_key: |$key| $recipe })
                });
                plays($least, &harness);
            }
        )*
    };
}

on_three_nodes! {
    a_blocking_list_keeps_what_it_promises: 14, |key| BlockingList::default().key(key).timeout(BLOCK);
    a_shared_backup_keeps_what_it_promises: 16, |key| SharedBackup::default().key(key).poll(POLL);
    a_sorted_set_of_strings_keeps_what_it_promises: 20,
        |key| ZsetString::default().prefix(key.clone()).key(key).num(128).poll(POLL);
    a_set_of_bodies_with_processing_keeps_what_it_promises: 17, |key| ZsetJson::default()
        .with_processing().processing_key(format!("{key}:claims")).key(key).poll(POLL);
    a_distinct_set_keeps_what_it_promises: 4, |key| DistinctZset::default().key(key);
}

/// Opens a queue `jobs` of this recipe.
async fn opened<R: Recipe>(
    redis: &RedisBackend,
    recipe: R,
    config: QueueConfig,
) -> Result<AnyQueue> {
    let name = QueueName::new("jobs")?;
    RecipeBackend::new(redis, recipe).open(&name, &config).await
}

/// Checks that the recipe is refused on a cluster, with an error that names these keys.
async fn refused<R: Recipe>(redis: &RedisBackend, recipe: R, config: QueueConfig, keys: &[&str]) {
    let what = format!("{recipe:?}");
    let error = opened(redis, recipe, config).await.expect_err(&what);
    assert_eq!(error.kind(), ErrorKind::Configuration, "{what}: {error}");
    for part in keys.iter().chain(&["{jobs}", "default queue"]) {
        assert!(error.to_string().contains(part), "{what}: {error}");
    }
}

#[tokio::test]
async fn a_recipe_whose_keys_are_in_several_slots_is_refused_with_their_names() -> Test {
    let cluster = three();
    let redis = connect(&cluster).await;
    let bounded = || QueueConfig::from(BoundedConfig::new(10));
    let reliable = || QueueConfig::from(ReliableConfig::default());
    let delay = || QueueConfig::from(DelayConfig::default());
    let shared = SharedBackup::default().backup_key("jobs:backup");
    refused(&redis, shared, reliable(), &["jobs:backup"]).await;
    let list = BlockingList::default().dead_key("graves");
    refused(&redis, list, reliable(), &["graves"]).await;
    let lock = KeyLock::default().lock_prefix("lock:jobs:");
    refused(&redis, lock, bounded(), &["lock:jobs:…"]).await;
    let processing = ZsetJson::default().with_processing();
    let two = ["delay_queue:jobs", "processing_queue:jobs"];
    refused(&redis, processing.clone(), delay(), &two).await;
    refused(&redis, WaitActive::default(), delay(), &["delay:wait:jobs"]).await;
    let strings = ZsetString::default().key("{jobs}");
    refused(&redis, strings, delay(), &["queue_data_…"]).await;
    let lists = PriorityLists::default().level_keys([(1, "high"), (0, "low")]);
    let priority = || QueueConfig::from(PriorityConfig::default());
    refused(&redis, lists, priority(), &["high", "low"]).await;

    opened(&redis, BlockingList::default(), reliable()).await?;
    opened(&redis, SharedBackup::default(), reliable()).await?;
    opened(&redis, PrivateBackup::of_client("me"), reliable()).await?;
    opened(&redis, ZsetJson::default().once_by("id"), delay()).await?;
    let processing = processing.key("a{jobs}").processing_key("b{jobs}");
    opened(&redis, processing, delay()).await?;
    opened(&redis, PriorityLists::default(), priority()).await?;
    opened(&redis, KeyLock::default(), bounded()).await?;
    opened(&redis, FixedLength::trim(), bounded()).await?;
    opened(&redis, DistinctZset::default(), bounded()).await?;
    opened(
        &redis,
        Rotation::default(),
        RotatingConfig::default().into(),
    )
    .await?;
    let tagged = Stream::consumer("me").key("a{jobs}");
    opened(&redis, tagged, reliable()).await?;
    // This recipe creates its stream, so a list of the same name cannot open afterwards.
    opened(&redis, Stream::consumer("me"), reliable()).await?;
    Ok(())
}

async fn reliable<R: Recipe>(redis: &RedisBackend, recipe: R) -> Result<Arc<dyn ReliableQueue>> {
    let name = QueueName::new("jobs")?;
    let config = ReliableConfig::default();
    RecipeBackend::new(redis, recipe)
        .open_reliable(&name, &config)
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_waits_go_after_a_slot_that_moves() -> Test {
    let cluster = three();
    let (here, elsewhere) = (connect(&cluster).await, connect(&cluster).await);
    let list = || BlockingList::default().key("{jobs}").timeout(HOUR);
    let (waiting, pushing) = (
        reliable(&here, list()).await?,
        reliable(&elsewhere, list()).await?,
    );
    let backup = || SharedBackup::default().key("b{jobs}").poll(POLL);
    let (taking, putting) = (
        reliable(&here, backup()).await?,
        reliable(&elsewhere, backup()).await?,
    );
    let slot = cluster.servers()[0].ask(&["CLUSTER", "KEYSLOT", "{jobs}"])?;
    for round in 0..3_usize {
        let _ = putting.push_one(format!("held {round}")).await?;
        let held = taking
            .receive_one(ANSWER, ANSWER)
            .await?
            .expect("it is there");
        let consumer = tokio::spawn({
            let waiting = Arc::clone(&waiting);
            async move { waiting.receive_one(ANSWER, HOUR).await }
        });
        // The consumer blocks now or will in a moment; either way it must get the pushed message.
        if round % 2 == 0 {
            sleep(Duration::from_millis(50)).await;
        }
        let from = cluster.owner(slot)?;
        tokio::task::block_in_place(|| cluster.migrate(slot, from, (from + 1) % 3))?;
        let _ = pushing.push_one(format!("work {round}")).await?;
        let come = tokio::time::timeout(ANSWER, consumer).await???;
        assert_eq!(
            come.expect("before the hour is over").body,
            format!("work {round}")
        );

        // A script, at the node that has the slot now.
        let settled = taking
            .settle(&[Settlement::retry(held.receipt, Duration::ZERO)])
            .await?;
        assert_eq!(settled, [Settled::Done]);
        let again = putting
            .receive_one(ANSWER, ANSWER)
            .await?
            .expect("it is back");
        assert_eq!(again.body, held.body);
        putting.ack(again.receipt).await?;
    }
    Ok(())
}
