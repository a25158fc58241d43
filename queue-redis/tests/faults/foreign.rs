//! Somebody overwrites a key of a queue that is in use.

use std::{num::NonZeroUsize, time::Duration};

use queue_core::*;
use real_redis::Server;

use crate::{
    ground::{administer, connect},
    subject::Subject,
};

const LEASE: Duration = Duration::from_secs(60);

#[track_caller]
fn assert_names(error: &Error, key: &str) {
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error:?}");
    let text = queue_testing::chain::texts(error).join(": ");
    assert!(text.contains(key), "{text}");
    assert!(text.contains("string"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[tokio::test]
async fn an_overwritten_key_is_named() {
    let server = Server::start().expect("a server");
    let backend = connect(&server).await;
    for (kind, key) in [
        (QueueKind::Reliable, "qk:{reliable}:ready"),
        (QueueKind::Delay, "qk:{delay}:line"),
        (QueueKind::Priority, "qk:{priority}:frames"),
        (QueueKind::Bounded, "qk:{bounded}:ready"),
    ] {
        let queue = Subject::open(&*backend, kind).await.expect("opens");
        let _ = queue.put_one("body").await.expect("put");
        administer(&server, &format!("SET {key} mine"));
        let error = queue.put_one("body").await.expect_err("it is overwritten");
        assert_names(&error, key);
        // A push counts before it adds, so its outcome is unknown.
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
        let leased = queue.leasing().lease(NonZeroUsize::MIN, LEASE).await;
        assert_names(&leased.expect_err("it is overwritten"), key);
    }
    // Large bodies are stored by plain commands.
    let name = QueueName::new("large").expect("a name");
    let config = ReliableConfig::default();
    let queue = backend.open_reliable(&name, &config).await.expect("opens");
    administer(&server, "SET qk:{large}:bodies mine");
    let error = queue.push_one(vec![b'x'; 100_000]).await;
    assert_names(&error.expect_err("it is overwritten"), "qk:{large}:bodies");
    let name = QueueName::new("effects").expect("a name");
    let store = backend.open_once(&name).await.expect("opens");
    administer(&server, "SET qk:{effects}:once-claimed mine");
    let error = store.claim(b"key", LEASE).await;
    assert_names(
        &error.expect_err("it is overwritten"),
        "qk:{effects}:once-claimed",
    );
}
