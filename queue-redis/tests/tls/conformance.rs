//! The suite's cases of one kind of queue, through TLS.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Harness, plan};
use queue_core::{Backend, QueueKind};
use real_redis::Server;

use super::{certificates::Authority, to, trusting, with};

/// A harness for one case after another, each under a prefix of its own.
struct Secure {
    authority: Authority,
    server: Server,
    cases: AtomicU64,
}

#[async_trait]
impl Harness for Secure {
    fn capabilities(&self) -> Capabilities {
        Capabilities::as_time_passes().only([QueueKind::Reliable])
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        let backend = to(&self.server, trusting(&self.authority))
            .prefix(format!("case{}", self.cases.load(Ordering::Relaxed)))
            .fall_back(Duration::from_secs(3600))
            .connect();
        Arc::new(backend.await.expect("the server takes us"))
    }
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redis through TLS")
    }
}

#[test]
fn reliable_queues_keep_the_contract_through_tls() {
    let authority = Authority::new();
    let server = with(&authority.issue_here()).start();
    let harness = Secure {
        server: server.unwrap_or_else(|error| panic!("{error}")),
        authority,
        cases: AtomicU64::new(0),
    };
    let played = plan(&harness.capabilities()).played;
    let played = played
        .iter()
        .filter(|case| case.kind() == Some(QueueKind::Reliable));
    let mut count = 0;
    let mut failed = Vec::new();
    for case in played {
        count += 1;
        harness.cases.store(count, Ordering::Relaxed);
        if catch_unwind(AssertUnwindSafe(|| case.run(&harness))).is_err() {
            failed.push(case.name());
        }
    }
    assert!(count > 50, "only {count} cases were played");
    assert!(failed.is_empty(), "{failed:?}");
}
