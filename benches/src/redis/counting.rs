//! A backend whose requests are counted where they leave it.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use queue_core::TokioSpawn;
use queue_redis::{Connector, Link, RedisBackend, Role, ServerConnector};
use redis::{Arg, Cmd, Pipeline, RedisFuture, RedisResult, Value, aio::ConnectionLike};

/// The commands that a client has sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// The number of waits for the server: one for each command, and one for a pipeline.
    pub trips: u64,
    /// The calls of each command, by its lower-case name.
    pub commands: BTreeMap<String, u64>,
}

impl Sent {
    fn add<'a>(&mut self, commands: impl IntoIterator<Item = &'a Cmd>) {
        self.trips += 1;
        for command in commands {
            if let Some(Arg::Simple(name)) = command.args_iter().next() {
                let name = String::from_utf8_lossy(name).to_lowercase();
                *self.commands.entry(name).or_default() += 1;
            }
        }
    }
}

/// A backend with connections of its own, and the commands that it has sent. Blocking pops use another connection, and
/// are not counted.
#[derive(Debug)]
pub struct Counted {
    /// The backend.
    pub backend: RedisBackend,
    sent: Arc<Mutex<Sent>>,
}

impl Counted {
    /// Connects, on a runtime.
    ///
    /// # Panics
    ///
    /// If it cannot.
    pub async fn connect(url: &str) -> Self {
        let spawn = TokioSpawn::current().expect("there is a runtime");
        let server = ServerConnector::new(url, Arc::new(spawn)).expect("the URL is sound");
        let sent = Arc::<Mutex<Sent>>::default();
        let connector = CountingConnector {
            server,
            sent: Arc::clone(&sent),
        };
        let backend = RedisBackend::with_connector(connector).connect().await;
        Self {
            backend: backend.expect("the backend connects"),
            sent,
        }
    }

    /// The commands that the backend has sent since the last call of this function.
    pub fn take(&self) -> Sent {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut *sent)
    }
}

#[derive(Debug)]
struct CountingConnector {
    server: ServerConnector,
    sent: Arc<Mutex<Sent>>,
}

#[async_trait]
impl Connector for CountingConnector {
    async fn connect(&self, role: Role) -> RedisResult<Link> {
        let link = self.server.connect(role).await?;
        Ok(match role {
            Role::Waiter => link,
            Role::Commands => Link::new(CountingWire {
                link,
                sent: Arc::clone(&self.sent),
            }),
        })
    }

    fn address(&self) -> String {
        self.server.address()
    }
}

#[derive(Debug, Clone)]
struct CountingWire {
    link: Link,
    sent: Arc<Mutex<Sent>>,
}

impl CountingWire {
    fn count<'a>(&self, commands: impl IntoIterator<Item = &'a Cmd>) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.add(commands);
    }
}

impl ConnectionLike for CountingWire {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        self.count([command]);
        self.link.req_packed_command(command)
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        self.count(pipeline.cmd_iter());
        self.link.req_packed_commands(pipeline, offset, count)
    }

    fn get_db(&self) -> i64 {
        self.link.get_db()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeline_is_one_trip_and_a_command_has_the_name_of_its_first_word() {
        let mut sent = Sent::default();
        sent.add([&redis::cmd("GET")]);
        let mut pipeline = redis::pipe();
        pipeline.cmd("LREM").arg("key").cmd("get");
        sent.add(pipeline.cmd_iter());
        assert_eq!(sent.trips, 2);
        assert_eq!((sent.commands["get"], sent.commands["lrem"]), (2, 1));
    }
}
