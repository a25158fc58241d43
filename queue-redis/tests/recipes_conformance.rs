//! The suite on the recipes, on a real Redis in real time: the cases that each one's guarantees
//! leave.

#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Capability, Case, Ending, Harness, Play, Skip, cases};
use queue_core::{Backend, Guarantees, QueueKind};
use queue_redis::{
    RedisBackend,
    recipes::{
        BlockingList, DistinctZset, FixedLength, KeyLock, PriorityLists, PrivateBackup, Recipe,
        Rotation, SharedBackup, Stream, WaitActive, ZsetJson, ZsetString,
    },
};
use real_redis::Server;
use tokio::{runtime::Builder, time};

/// Between two looks of who polls: the cases wait for no longer.
const POLL: Duration = Duration::from_millis(5);
/// The time of a blocking pop. The server ends one whose client is gone.
const BLOCK: Duration = Duration::from_secs(1);
/// How long an answer may take in real time: no connection fails in a case, and a busy machine is
/// slow.
const ANSWER: Duration = Duration::from_secs(60);

/// The recipe for the client of this number.
type Make = fn(u64) -> Box<dyn Published>;

/// A recipe of any type, as a backend.
trait Published: Send {
    fn guarantees(&self) -> Guarantees;
    fn on(self: Box<Self>, redis: &RedisBackend) -> Arc<dyn Backend>;
}

impl<R: Recipe> Published for R {
    fn guarantees(&self) -> Guarantees {
        Recipe::guarantees(self)
    }

    fn on(self: Box<Self>, redis: &RedisBackend) -> Arc<dyn Backend> {
        Arc::new(redis.recipe(*self))
    }
}

/// A harness for one case after another, each on an empty server.
struct RecipeHarness {
    make: Make,
    guarantees: Guarantees,
    server: Server,
    clients: AtomicU64,
}

impl RecipeHarness {
    fn start(make: Make) -> Self {
        Self {
            make,
            guarantees: make(0).guarantees(),
            server: Server::start().unwrap_or_else(|error| panic!("{error}")),
            clients: AtomicU64::new(0),
        }
    }

    /// How this case ends on an empty server; `None` if it fails.
    fn play(&self, case: &Case) -> Option<Ending> {
        // The names of published keys have no prefix.
        let mut connection = self.server.connect().expect("the server takes us");
        let flushed = redis::cmd("FLUSHALL").exec(&mut connection);
        flushed.expect("the server answers");
        catch_unwind(AssertUnwindSafe(|| case.run(self))).ok()
    }

    fn case(&self, name: &str) -> Ending {
        let name = format!("{}::{name}", self.guarantees.kind);
        let case = cases().iter().find(|case| case.name() == name);
        let ending = self.play(case.expect("there is such a case"));
        ending.expect("the case holds")
    }
}

#[async_trait]
impl Harness for RecipeHarness {
    fn capabilities(&self) -> Capabilities {
        Capabilities::as_time_passes()
            .without(Capability::Once)
            .without(Capability::Removal)
            .only([self.guarantees.kind])
    }

    fn run(&self, case: Play<'_>) {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build();
        runtime.expect("a runtime").block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let redis = RedisBackend::builder(&self.server.url())
            .expect("the server's URL is understood")
            .connect_timeout(ANSWER)
            .response_timeout(ANSWER)
            .connect();
        let client = self.clients.fetch_add(1, Ordering::Relaxed);
        (self.make)(client).on(&redis.await.expect("the server takes us"))
    }

    async fn advance(&self, by: Duration) {
        time::sleep(by).await;
    }
}

impl fmt::Debug for RecipeHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Guarantees { name, kind, .. } = self.guarantees;
        write!(f, "{name} ({kind})")
    }
}

/// Plays all cases of the recipe's kind, and those of a backend as a whole. Fails if one fails, or if
/// fewer than `least` play to their end.
fn plays(least: usize, make: Make) {
    let harness = RecipeHarness::start(make);
    let mut played = 0;
    let mut failed = Vec::new();
    let mut skipped = BTreeMap::<String, usize>::new();
    for case in cases() {
        match harness.play(case) {
            Some(Ending::Played) => played += 1,
            // Another kind's, once keys', or removal's.
            Some(Ending::Skipped(Skip::Needs(
                Capability::Kind(_) | Capability::Once | Capability::Removal,
            ))) => {}
            Some(Ending::Skipped(skip)) => *skipped.entry(skip.to_string()).or_default() += 1,
            None => failed.push(case.name()),
        }
    }
    println!(
        "{harness:?}: {played} played, {} skipped",
        skipped.values().sum::<usize>()
    );
    for (reason, count) in &skipped {
        println!("    {count:3} {reason}");
    }
    assert!(failed.is_empty(), "{harness:?} fails {failed:#?}");
    assert!(
        played >= least,
        "{harness:?}: only {played} cases played to their end"
    );
}

macro_rules! recipes {
    ($($name:ident: $least:literal, |$client:pat_param| $recipe:expr;)*) => {
        $(
            #[test]
            fn $name() {
                plays($least, |$client| Box::new($recipe));
            }
        )*
    };
}

recipes! {
    zset_string: 20, |_| ZsetString::default().num(128).poll(POLL);
    // It may forget a message (L7), and so end a case that would otherwise play: of 20.
    wait_active: 12, |_| WaitActive::default().tick(POLL).batch(1_000).timeout(BLOCK);
    zset_json: 15, |_| ZsetJson::default().poll(POLL);
    zset_json_with_processing: 17, |_| ZsetJson::default().with_processing().poll(POLL);
    zset_json_with_priority: 15, |_| ZsetJson::default().with_priority().poll(POLL);
    blocking_list: 14, |_| BlockingList::default().timeout(BLOCK);
    private_backup: 7, |client| PrivateBackup::of_client(format!("client-{client}")).timeout(BLOCK);
    shared_backup: 16, |_| SharedBackup::default().poll(POLL);
    shared_backup_with_checker: 13, |_| SharedBackup::default().with_checker(ANSWER).poll(POLL);
    stream: 16, |client| Stream::consumer(format!("consumer-{client}")).poll(POLL);
    priority_lists: 15, |_| PriorityLists::default()
        .levels([(3, "urgent"), (1, "high"), (0, "normal")])
        .timeout(BLOCK);
    fixed_length_naive: 5, |_| FixedLength::naive();
    fixed_length_newest_last: 6, |_| FixedLength::newest_last();
    fixed_length_newest_first: 6, |_| FixedLength::newest_first();
    fixed_length_trim: 6, |_| FixedLength::trim();
    fixed_length_trim_in_two: 5, |_| FixedLength::trim_in_two();
    distinct_zset: 4, |_| DistinctZset::default();
    distinct_zset_add_first: 5, |_| DistinctZset::default().add_first();
    key_lock: 6, |_| KeyLock::default();
    rotation: 5, |_| Rotation::default().poll(POLL);
}

#[test]
fn a_case_says_what_the_recipe_breaks_or_lacks() {
    let backup = RecipeHarness::start(|client| {
        Box::new(PrivateBackup::of_client(format!("client-{client}")))
    });
    let ending = backup.case("l6_a_retry_on_the_last_attempt_answers_dead");
    let Ending::Skipped(Skip::Breaks { rule, .. }) = ending else {
        panic!("{ending:?}")
    };
    assert_eq!(rule, "L6");
    for (case, lacking) in [
        ("l5_what_goes_in_comes_out_and_nothing_else", "headers"),
        ("waiting_a_push_wakes_a_consumer", "several messages"),
        ("operators_purge_goes_in_delivery_order", "purge"),
        (
            "configuration_that_differs_is_a_mismatch",
            "stored configuration",
        ),
    ] {
        let ending = backup.case(case);
        let Ending::Skipped(Skip::Lacks(what)) = ending else {
            panic!("{case}: {ending:?}")
        };
        assert!(what.contains(lacking), "{case}: {what}");
    }
    assert_eq!(
        backup.case("waiting_without_end_ends_with_a_push"),
        Ending::Played
    );
    assert_eq!(backup.guarantees.kind, QueueKind::Reliable);
}
