//! The suite by the servers' own clocks, on a cluster of three, for a user that has the least rights.

use std::{
    fmt,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::Backend;
use queue_redis::{cluster_access_rules, leak_finder};
use real_redis::{Cluster, Server};

use super::patient::patient;

/// The cluster of all cases. It is never dropped; its servers' watchdogs end them when the process ends.
static SHARED: LazyLock<Cluster> = LazyLock::new(|| {
    // The cases share one user, whose rules match the prefixes of them all.
    let rules = cluster_access_rules("case.").replace("case.", "case-*.");
    let settings = Server::builder().with_user("worker", "secret", &rules);
    Cluster::start(3, 0, settings).unwrap_or_else(|error| panic!("{error}"))
});
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Takes away all keys of a case that are on one server.
const CLEAR: &str =
    "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do redis.call('UNLINK', key) end";

struct OnCluster {
    prefix: String,
}

impl OnCluster {
    fn fresh() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            prefix: format!("case-{number}."),
        }
    }

    /// Has each server run a script with the prefix.
    fn each(&self, script: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for server in SHARED.servers() {
            let leaks = server.ask(&["EVAL", script, "0", &self.prefix]);
            let leaks: Option<Vec<String>> = leaks.expect("it answers");
            lines.extend(leaks.into_iter().flatten());
        }
        lines
    }
}

#[async_trait]
impl Harness for OnCluster {
    async fn connect(&self) -> Arc<dyn Backend> {
        let url = SHARED.url().replace("://", "://worker:secret@");
        let backend = patient(&url)
            .prefix(&self.prefix)
            // Longer than a case waits, so that the timers hide no lost wake-up.
            .fall_back(Duration::from_secs(3600))
            .connect();
        Arc::new(backend.await.expect("the cluster takes us"))
    }

    async fn leaks(&self) -> Vec<String> {
        self.each(leak_finder())
    }
}

impl Drop for OnCluster {
    fn drop(&mut self) {
        self.each(CLEAR);
    }
}

impl fmt::Debug for OnCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a cluster by its own clocks at {}", self.prefix)
    }
}

queue_conformance::suite!(OnCluster::fresh());
