//! Calls of several steps that fail at one of them: an error that says `NotApplied` has changed nothing, and
//! the call can be repeated.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use queue_core::*;
use queue_redis::RedisBackend;
use real_redis::ServerPlace;
use redis::{RedisError, Value};

use crate::{
    verbs::{Ground, VERBS, Verb},
    wire::{Fate, MeddledConnector, Meddler},
};

/// More than any call here sends.
const NEVER: usize = usize::MAX;

/// Lets this number of commands pass, and refuses the next one.
#[derive(Debug)]
struct Refusal(AtomicUsize);

impl Meddler for Refusal {
    fn fate(&self, _: Option<&str>) -> Fate {
        let left = self.0.load(Ordering::SeqCst);
        if left == NEVER {
            return Fate::Passes;
        }
        if left > 0 {
            self.0.store(left - 1, Ordering::SeqCst);
            return Fate::Passes;
        }
        self.0.store(NEVER, Ordering::SeqCst);
        Fate::Fails(refused())
    }
}

/// The answer of a server that takes no writes for now.
fn refused() -> RedisError {
    let answer = b"-NOREPLICAS Not enough good replicas to write.\r\n";
    match redis::parse_redis_value(answer) {
        Ok(Value::ServerError(error)) => error.into(),
        other => panic!("{other:?} is no refusal"),
    }
}

/// All stored data except the registrations of waiters.
fn stored(place: &ServerPlace) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut connection = place.connect().expect("the server takes us");
    let mut list = redis::cmd("KEYS");
    list.arg(format!("{}:*", place.prefix()));
    let mut keys: Vec<Vec<u8>> = list.query(&mut connection).expect("it answers");
    keys.retain(|key| !key.ends_with(b":arrivals") && !key.ends_with(b":room"));
    let dump = |key: Vec<u8>| {
        let dumped = redis::cmd("DUMP").arg(&key).query(&mut connection);
        (key, dumped.expect("it answers"))
    };
    keys.into_iter().map(dump).collect()
}

/// Refuses each command of the call in turn, each time on a new queue. Returns the number of errors of
/// unknown outcome.
async fn refuse_each(verb: &Verb, partitions: Option<usize>) -> usize {
    let mut unknown = 0;
    for before in 0.. {
        let context = format!(
            "{} in {partitions:?} partitions, refused after {before} commands",
            verb.name
        );
        let place = ServerPlace::fresh().unwrap_or_else(|error| panic!("{error}"));
        let refusal = Arc::new(Refusal(NEVER.into()));
        let connector = MeddledConnector::new(place.url(), Arc::clone(&refusal));
        let backend = RedisBackend::with_connector(connector.expect("the URL is understood"))
            .prefix(place.prefix())
            .clock(|| Timestamp::from_millis(1_700_000_000_000))
            .connect();
        let backend: Arc<dyn Backend> = Arc::new(backend.await.expect("the server takes us"));
        let backend = match partitions {
            None => backend,
            Some(partitions) => {
                Arc::new(Partitioned::new(backend, partitions).expect("it is allowed"))
            }
        };
        let ground = Ground::filled(backend, verb.kind).await;
        let there = stored(&place);
        refusal.0.store(before, Ordering::SeqCst);
        let acted = (verb.act)(&ground).await;
        let struck = refusal.0.swap(NEVER, Ordering::SeqCst) == NEVER;
        if let Err(error) = &acted {
            assert!(struck && error.is_transient(), "{context}: {error}");
            match error.outcome() {
                Outcome::NotApplied => assert!(stored(&place) == there, "{context}: {error}"),
                _ => unknown += 1,
            }
        }
        let again = (verb.act)(&ground).await;
        again.unwrap_or_else(|error| panic!("{context}, and once more: {error}"));
        if !struck {
            return unknown;
        }
    }
    unreachable!("no call is endless")
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_half_way_claims_no_more_than_is_so() {
    for verb in VERBS.iter().filter(|verb| !verb.is_of_partitions) {
        assert!(
            refuse_each(verb, None).await > 0,
            "{} has one step",
            verb.name
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_to_several_partitions_that_fails_half_way_claims_no_more_than_is_so() {
    let verbs = VERBS.iter().filter(|verb| verb.kind != QueueKind::Rotating);
    for verb in verbs {
        assert!(
            refuse_each(verb, Some(3)).await > 0,
            "{} has one step",
            verb.name
        );
    }
}
