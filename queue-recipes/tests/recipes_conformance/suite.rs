//! The suite on a recipe, on servers of its own in real time: the cases that its guarantees allow.

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
use queue_conformance::{Capabilities, Capability, Case, Ending, Harness, Skip, cases};
use queue_core::{Backend, Guarantees};
use queue_redis::RedisBackend;
use real_redis::Server;

/// The response timeout in real time: long, because no connection fails in a case and a busy machine is
/// slow.
pub(crate) const ANSWER: Duration = Duration::from_secs(60);

/// The recipe for the client of this number, as a backend.
pub(crate) type Make = fn(u64, &RedisBackend) -> Arc<dyn Backend>;

/// Where a recipe's keys are: a server or several.
pub(crate) trait Home: Send + Sync + 'static {
    fn address(&self) -> String;
    fn all(&self) -> &[Server];
}

/// Takes away all keys: the names of published keys have no prefix.
fn clear(home: &dyn Home) {
    for server in home.all() {
        let flushed = server.ask::<()>(&["FLUSHALL"]);
        flushed.expect("the server answers");
    }
}

/// A backend at these servers.
pub(crate) async fn connect(home: &dyn Home) -> RedisBackend {
    let redis = RedisBackend::builder(&home.address())
        .expect("the URL is understood")
        .connect_timeout(ANSWER)
        .response_timeout(ANSWER)
        .connect();
    redis.await.expect("the server takes us")
}

/// A harness for one case after another, each without a key before it.
pub(crate) struct RecipeHarness {
    make: Make,
    pub(crate) guarantees: Guarantees,
    home: Box<dyn Home>,
    clients: AtomicU64,
}

impl RecipeHarness {
    pub(crate) fn new(home: impl Home, guarantees: Guarantees, make: Make) -> Self {
        Self {
            make,
            guarantees,
            home: Box::new(home),
            clients: AtomicU64::new(0),
        }
    }

    /// The ending of this case; `None` if it fails.
    pub(crate) fn play(&self, case: &Case) -> Option<Ending> {
        clear(&*self.home);
        catch_unwind(AssertUnwindSafe(|| case.run(self))).ok()
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

    async fn connect(&self) -> Arc<dyn Backend> {
        let client = self.clients.fetch_add(1, Ordering::Relaxed);
        (self.make)(client, &connect(&*self.home).await)
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
pub(crate) fn plays(least: usize, harness: &RecipeHarness) {
    let mut played = 0;
    let mut failed = Vec::new();
    let mut skipped = BTreeMap::<String, usize>::new();
    for case in cases() {
        match harness.play(case) {
            Some(Ending::Played) => played += 1,
            // A case of another kind, of once keys, or of removals.
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
