//! The suite's cases can fail: each bug here is planted in the text of the scripts, and its case finds it.
//!
//! The simulator has bugs of its own (`queue-sim/tests/planted_bugs`). The bugs here concern states that a
//! run of it seldom reaches: many batches at once, many bytes.

use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Ending, Harness, Play};
use queue_core::{Backend, Timestamp};
use queue_redis::{RedisBackend, leak_finder};
use real_redis::ServerPlace;
use redis::Script;
use tokio::time::Instant;

use crate::wire::{Fate, MeddledConnector, Meddler};

/// The beginning of virtual time.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);
/// Longer than a case waits.
const FALL_BACK: Duration = Duration::from_secs(3600);

/// A bug: texts of scripts, each with its replacement.
type Bug = &'static [(&'static str, &'static str)];

/// Calls scripts with a bug in place of the originals.
#[derive(Debug)]
struct Planted(BTreeMap<String, String>);

impl Planted {
    /// Plants the bug in all scripts that have its texts.
    fn new(place: &ServerPlace, bug: Bug) -> Self {
        let mut hashes = BTreeMap::new();
        let mut connection = place.connect().expect("the server takes us");
        for (find, _) in bug {
            let found = queue_redis::scripts().any(|(_, text)| text.contains(find));
            assert!(found, "{find:?} is in no script");
        }
        for (_, text) in queue_redis::scripts() {
            let changed =
                |text: String, (find, replace): &(&str, &str)| text.replace(find, replace);
            let changed = bug.iter().fold(text.to_owned(), changed);
            if changed != *text {
                let changed = Script::new(&changed);
                changed
                    .prepare_invoke()
                    .load(&mut connection)
                    .expect("it is a script");
                let own = Script::new(text).get_hash().to_owned();
                hashes.insert(own, changed.get_hash().to_owned());
            }
        }
        Self(hashes)
    }
}

impl Meddler for Planted {
    fn fate(&self, called: Option<&str>) -> Fate {
        let changed = called.and_then(|hash| self.0.get(hash));
        changed.map_or(Fate::Passes, |hash| Fate::Calls(hash.clone()))
    }
}

/// A harness in virtual time whose scripts have a bug.
struct Buggy {
    place: ServerPlace,
    planted: Arc<Planted>,
    start: Arc<OnceLock<Instant>>,
}

#[async_trait]
impl Harness for Buggy {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    fn run(&self, case: Play<'_>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(case);
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let start = Arc::clone(&self.start);
        let now = move || {
            let start = *start.get_or_init(Instant::now);
            START.plus_millis(start.elapsed().as_millis() as u64)
        };
        now();
        let connector = MeddledConnector::new(self.place.url(), Arc::clone(&self.planted));
        let backend = RedisBackend::with_connector(connector.expect("the URL is understood"))
            .prefix(self.place.prefix())
            .fall_back(FALL_BACK)
            .packs_from(4)
            .clock(now)
            .connect();
        Arc::new(backend.await.expect("the server takes us"))
    }

    async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }

    async fn leaks(&self) -> Vec<String> {
        let mut connection = self.place.connect().expect("the server takes us");
        let mut command = redis::cmd("EVAL");
        command.arg(leak_finder()).arg(0).arg(self.place.prefix());
        command.query(&mut connection).expect("the server answers")
    }
}

impl fmt::Debug for Buggy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis with a bug at {}", self.place.prefix())
    }
}

/// Whether the case holds with this bug.
fn holds(case: &str, bug: Bug) -> bool {
    let place = ServerPlace::fresh().unwrap_or_else(|error| panic!("{error}"));
    let harness = Buggy {
        planted: Arc::new(Planted::new(&place, bug)),
        place,
        start: Arc::default(),
    };
    let played = catch_unwind(AssertUnwindSafe(|| queue_conformance::run(&harness, case)));
    if let Ok(ending) = &played {
        assert_eq!(*ending, Ending::Played, "{case}");
    }
    played.is_ok()
}

/// Fails unless the case finds the bug, and nothing else.
pub(crate) fn is_found(case: &str, bug: Bug) {
    assert!(holds(case, &[]), "{case} holds without the bug");
    assert!(!holds(case, bug), "{case} does not find the bug");
}
