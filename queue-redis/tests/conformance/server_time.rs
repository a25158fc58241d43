//! The suite's harness on a real server in real time.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::Harness;
use queue_core::Backend;
use queue_redis::{RedisBackend, access_rules};
use real_redis::ServerPlace;
use redis::Cmd;

use crate::harness::{FALL_BACK, fresh, left};

/// The response timeout in real time: long, because no connection fails in a case and a busy machine is
/// slow.
const ANSWER: Duration = Duration::from_secs(60);

/// A harness in real time: two threads, asynchronous connections, and queues on the server's clock,
/// for a user that has the least rights. It skips cases that need an exact clock.
pub(crate) struct ServerTimeHarness {
    place: ServerPlace,
    user: String,
}

const PASSWORD: &str = "secret";

impl ServerTimeHarness {
    /// A new harness, on the server of a fresh [`Place`].
    ///
    /// # Panics
    ///
    /// If there is no server.
    pub(crate) fn fresh() -> Self {
        let place = fresh();
        let user = place.prefix().trim_end_matches('.').to_owned();
        let mut rules = redis::cmd("ACL");
        rules
            .arg("SETUSER")
            .arg(&user)
            .arg("on")
            .arg(format!(">{PASSWORD}"));
        for rule in access_rules(place.prefix()).split(' ') {
            rules.arg(rule);
        }
        run(&place, &rules);
        Self { place, user }
    }
}

#[async_trait]
impl Harness for ServerTimeHarness {
    async fn connect(&self) -> Arc<dyn Backend> {
        let backend = RedisBackend::builder(&self.place.url_as(&self.user, PASSWORD))
            .expect("the place's URL is understood")
            .prefix(self.place.prefix())
            .fall_back(FALL_BACK)
            .connect_timeout(ANSWER)
            .response_timeout(ANSWER)
            .connect();
        Arc::new(backend.await.expect("the server takes us"))
    }

    async fn leaks(&self) -> Vec<String> {
        left(&self.place)
    }
}

impl Drop for ServerTimeHarness {
    fn drop(&mut self) {
        run(
            &self.place,
            redis::cmd("ACL").arg("DELUSER").arg(&self.user),
        );
    }
}

fn run(place: &ServerPlace, command: &Cmd) {
    let mut connection = place.connect().expect("the server takes us");
    command.exec(&mut connection).expect("the server does it");
}

impl fmt::Debug for ServerTimeHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis by its own clock at {}", self.place.prefix())
    }
}
