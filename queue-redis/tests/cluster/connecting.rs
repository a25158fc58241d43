//! Connecting to a cluster: when it is not up yet, and after its passwords have changed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use queue_redis::{Credentials, RedisBackend};
use real_redis::{Cluster, Server};
use tokio::time::timeout;

use super::{PATIENCE, Test, patient::patient};

/// Time for a try that fails.
const MOMENT: Duration = Duration::from_millis(300);

/// Waits until each node answers.
async fn reached(backend: &RedisBackend) -> Test {
    let reached = async { while backend.ping().await.is_err() {} };
    Ok(timeout(PATIENCE, reached).await?)
}

#[tokio::test]
async fn connecting_waits_for_nodes_that_are_not_up_yet_and_goes_on_after_a_rotation() -> Test {
    let settings = Server::builder().with_user("worker", "one", "~* &* +@all");
    let cluster = Cluster::start(2, 0, settings)?;
    let secret = Arc::new(Mutex::new("one"));
    let provider = {
        let secret = Arc::clone(&secret);
        move || {
            let password = *secret.lock().expect("no panic");
            async move { Ok(Credentials::user("worker", password)) }
        }
    };
    for server in cluster.servers() {
        server.kill()?;
    }
    let builder = patient(&cluster.url()).credentials(provider);
    let start = async {
        tokio::time::sleep(MOMENT).await;
        cluster.servers().iter().try_for_each(Server::start_again)
    };
    let waiting = builder.startup_timeout(PATIENCE).connect();
    let (backend, started) = tokio::join!(waiting, start);
    started?;
    let backend = backend?;
    reached(&backend).await?;

    *secret.lock().expect("no panic") = "two";
    for server in cluster.servers() {
        server.ask::<()>(&["ACL", "SETUSER", "worker", "resetpass", ">two"])?;
        server.ask::<()>(&["CLIENT", "KILL", "TYPE", "normal"])?;
    }
    reached(&backend).await?;
    Ok(())
}
