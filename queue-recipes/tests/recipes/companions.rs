//! The keys that a strategy keeps beside the published ones: no queue has their names, and each can be
//! set.

use queue_core::*;
use queue_recipes::*;

use crate::{
    ground::{
        Ground, LONG, SOON, START, bodies, dropping, end, end_live, lease_bodies, name, push, take,
    },
    recipes::{self, QUEUE},
};

/// The published keys of the queue [`QUEUE`].
const PUBLISHED: [&str; 7] = [
    QUEUE,
    "delay_queue:q",
    "processing_queue:q",
    "delay:meta:topic:wait",
    "delay:wait:q",
    "delay:meta:topic:active",
    "delay:active:q",
];

/// Every key besides the published ones has a name that no queue can have.
#[tokio::test]
async fn no_companion_has_the_name_of_a_queue() {
    let ground = Ground::start().await;
    for made in recipes::all(&ground.redis) {
        for (key, _) in made.keys {
            let is_name = QueueName::new(*key).is_ok();
            assert_eq!(is_name, PUBLISHED.contains(key), "{key}");
        }
        ground.foreign().run::<String>(&["FLUSHALL"]);
    }
    // The open checked these keys; the queue must create no other keys later.
    for (ground, made) in recipes::leasing().await {
        let queue = made.open().await;
        push(&queue, &["held", "buried"]).await;
        ground.distribute();
        let taken = take(&queue, 1).await.remove(0);
        end_live(&queue, Settlement::bury(taken.receipt, "why")).await;
        take(&queue, 1).await;
        for key in ground.foreign().run::<Vec<String>>(&["KEYS", "*"]) {
            let known = made.keys.iter().any(|(known, _)| *known == key);
            assert!(known || key.starts_with("queue_data_"), "{key}");
        }
    }
}

/// A queue does not hand out what another one has in hand or has buried.
#[tokio::test]
async fn queues_named_like_companions_are_queues_of_their_own() {
    let ground = Ground::start().await;
    let list = BlockingList::default;
    let jobs = ground.open(SharedBackup::default(), "jobs").await;
    push(&jobs, &["held", "buried"]).await;
    let taken = take(&jobs, 2).await;
    end_live(&jobs, Settlement::bury(taken[1].receipt, "why")).await;
    for other in ["jobs:backup", "jobs:dead", "jobs:backup:w7"] {
        let queue = ground.open(list(), other).await;
        assert_eq!(lease_bodies(&queue, 9).await, [] as [Bytes; 0], "{other}");
    }
    let levels = ground.open(PriorityLists::default(), "jobs").await;
    push(&levels, &["urgent"]).await;
    let level = ground.open(list(), "jobs:normal").await;
    assert_eq!(lease_bodies(&level, 9).await, [] as [Bytes; 0]);
    let AnyQueue::Bounded(gifts) = ground.open(KeyLock::default(), "gifts").await else {
        panic!("another kind");
    };
    let gift = Push::new("rose").with_dedup("jobs", LONG);
    let offered = gifts.push_one(dropping(gift)).await;
    let _ = offered.expect("it offers");
    ground.open(list(), "lock:gifts:jobs").await;
}

/// The data on the server after the queue `q` of this recipe has buried `m`.
async fn buries(recipe: impl Recipe, expected: &[&str]) {
    let ground = Ground::start().await;
    let what = format!("{recipe:?}");
    let queue = ground.open(recipe, QUEUE).await;
    push(&queue, &["m"]).await;
    ground.distribute();
    let taken = take(&queue, 1).await.remove(0);
    let buried = end(&queue, Settlement::bury(taken.receipt, "why")).await;
    assert_eq!(buried, Settled::Dead, "{what}");
    let dump = ground.dump();
    let mut both = dump.iter().zip(expected);
    let same = dump.len() == expected.len() && both.all(|(line, begin)| line.starts_with(begin));
    assert!(same, "{what}: {dump:?}");
}

#[tokio::test]
async fn the_key_of_each_companion_can_be_set() {
    let dead = ["list graves: m"];
    buries(BlockingList::default().dead_key("graves"), &dead).await;
    let private = PrivateBackup::of_client("w7").backup_key("mine");
    buries(private.dead_key("graves"), &dead).await;
    let shared = SharedBackup::default().backup_key("ours");
    buries(shared.dead_key("graves"), &dead).await;
    let strings = ZsetString::default().poll(SOON).dead_key("graves");
    buries(strings, &dead).await;
    let levels = PriorityLists::default().level_keys([(0, "normal")]);
    buries(levels.dead_key("graves"), &dead).await;
    let stream = Stream::consumer("w7").dead_key("graves");
    buries(stream, &["list graves: m", "stream q: "]).await;
    let topic = WaitActive::default()
        .without_distributor()
        .dead_key("graves");
    let registries = [
        "set delay:meta:topic:active: ",
        "set delay:meta:topic:wait: ",
    ];
    buries(topic, &[registries[0], registries[1], "list graves: {"]).await;
    let grave = format!("zset graves: {START} m");
    let json = ZsetJson::default().with_processing().poll(SOON);
    buries(json.dead_key("graves"), &[&grave]).await;
}

#[tokio::test]
async fn messages_in_hand_are_under_the_key_that_is_set() {
    let until = START + LONG.as_millis() as u64;
    let (held, claimed) = (["list work: m"], format!("zset claims: {until} m"));
    let json = ZsetJson::default().with_processing().key("k").poll(SOON);
    let json = json.processing_key("claims").retries_key("tries");
    let private = PrivateBackup::of_client("w7").backup_key("work");
    let shared = SharedBackup::default().backup_key("work");
    let one = Ground::start().await;
    for (queue, expected) in [
        (one.open(private, QUEUE).await, &held[..]),
        (one.open(shared, QUEUE).await, &held[..]),
        (one.open(json, QUEUE).await, &[&*claimed][..]),
    ] {
        one.foreign().run::<String>(&["FLUSHALL"]);
        push(&queue, &["m"]).await;
        let taken = take(&queue, 1).await;
        assert_eq!(bodies(&taken), ["m"]);
        one.holds(expected);
        let retry = Settlement::retry(taken[0].receipt, LONG);
        end_live(&queue, retry).await;
    }
    one.holds(&[&*format!("zset k: {until} m"), "hash tries: m=1"]);
    let lock = KeyLock::default().lock_prefix("once:");
    let once = ZsetJson::default().once_by("id").consumed_key("seen");
    one.foreign().run::<String>(&["FLUSHALL"]);
    let AnyQueue::Bounded(gifts) = one.open(lock, "gifts").await else {
        panic!("another kind");
    };
    let gift = Push::new("rose").with_dedup("ann", LONG);
    let offered = gifts.push_one(dropping(gift)).await;
    let Ok(Pushed::Accepted(id)) = offered else {
        panic!("{offered:?}");
    };
    let mails = one.open(once, "mails").await;
    push(&mails, &[r#"{"id":7}"#]).await;
    let taken = take(&mails, 1).await.remove(0);
    end_live(&mails, Settlement::ack(taken.receipt)).await;
    one.holds(&[
        "list gifts: rose",
        &format!("string once:ann: {}", id.get()),
        "set seen: 7",
    ]);
}

#[tokio::test]
async fn one_key_for_two_things_is_refused() {
    let ground = Ground::start().await;
    let reliable = QueueConfig::of(QueueKind::Reliable, 3);
    let kept = SharedBackup::default().backup_key("jobs");
    let recipe = RecipeBackend::new(&ground.redis, kept);
    let opened = recipe.open(&name("jobs"), &reliable).await;
    let error = opened.expect_err("a list that is its own backup");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("the key jobs"), "{error}");
}
