//! How a strategy talks to the server: plain commands, pipelines, published scripts, and the
//! client's own time.

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use queue_core::{Error, ErrorKind, MessageId, Outcome, QueueName, Result, Spawn, Timestamp};
use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};

use crate::{
    backend::RedisBackend,
    connection::{Connector, Timeouts},
    node::Node,
};

/// The server, as a strategy sees it.
#[derive(Debug, Clone)]
pub(super) struct Server {
    backend: RedisBackend,
    node: Arc<Node>,
    seed: u64,
}

impl Server {
    /// The backend's server, for one handle.
    pub(super) fn of(backend: &RedisBackend) -> Self {
        let now = backend.client().own_time().as_millis();
        Self {
            seed: hash(&(backend.seed(), now)),
            node: backend.client().node(),
            backend: backend.clone(),
        }
    }

    /// The time of this client, by which published strategies go.
    pub(super) fn now(&self) -> Timestamp {
        self.backend.client().own_time()
    }

    pub(super) fn spawn(&self) -> &dyn Spawn {
        &**self.backend.spawn()
    }

    pub(super) fn connector(&self) -> &dyn Connector {
        self.node.waiter().connector()
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        self.node.waiter().timeouts()
    }

    /// Sends a command.
    pub(super) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        let client = self.backend.client();
        self.read(client.command(command).await?)
    }

    /// Sends a published script in full, as its clients do.
    pub(super) async fn eval<T: FromRedisValue>(
        &self,
        text: &str,
        keys: &[&str],
        arguments: impl ToRedisArgs + Send,
    ) -> Result<T> {
        let mut eval = redis::cmd("EVAL");
        eval.arg(text).arg(keys.len()).arg(keys).arg(arguments);
        self.ask(&eval).await
    }

    /// Sends commands in one round trip; the server runs them one by one.
    ///
    /// # Errors
    ///
    /// The first one's that failed, of unknown outcome, since the others may have run.
    pub(super) async fn pipeline<T: FromRedisValue>(&self, commands: Vec<Cmd>) -> Result<Vec<T>> {
        let answers = self.backend.client().pipeline(commands).await?;
        let answers = answers.into_iter().map(|answer| self.read(answer?));
        let answers: Result<Vec<T>> = answers.collect();
        answers.map_err(|error| error.with_outcome(Outcome::Unknown))
    }

    /// Reads an answer as what it should be.
    fn read<T: FromRedisValue>(&self, answer: Value) -> Result<T> {
        read(answer).inspect_err(|_| self.backend.client().doubt())
    }

    /// Refuses a key that has another type than the strategy expects there.
    pub(super) async fn check_types(&self, name: &QueueName, keys: &[Key]) -> Result<()> {
        let types = keys.iter();
        let types = types.map(|key| redis::cmd("TYPE").arg(&key.name).take());
        let found: Vec<String> = self.pipeline(types.collect()).await?;
        for (key, found) in keys.iter().zip(found) {
            if found != "none" && found != key.holds {
                let message = format!(
                    "the key {} holds a {found}, and this strategy keeps a {} there: give it \
                     another key",
                    key.name, key.holds
                );
                return Err(Error::new(ErrorKind::Configuration, message).with_queue(name));
            }
        }
        Ok(())
    }

    /// A random UUID, hyphenated, of version 4.
    pub(super) fn uuid(&self) -> String {
        // Counted by the backend: two handles that open within a millisecond have one seed.
        let nth = self.backend.draw();
        let (high, low) = (hash(&(self.seed, nth, 'h')), hash(&(self.seed, nth, 'l')));
        let (time, version) = (high >> 32, (high & 0xfff) | 0x4000);
        let variant = (low >> 48 & 0x3fff) | 0x8000;
        format!(
            "{time:08x}-{:04x}-{version:04x}-{variant:04x}-{:012x}",
            high >> 16 & 0xffff,
            low & 0xffff_ffff_ffff
        )
    }
}

/// A key, and the type that the strategy keeps there.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) holds: &'static str,
}

impl Key {
    pub(super) fn list(name: impl Into<String>) -> Self {
        Self::new(name, "list")
    }

    pub(super) fn zset(name: impl Into<String>) -> Self {
        Self::new(name, "zset")
    }

    pub(super) fn set(name: impl Into<String>) -> Self {
        Self::new(name, "set")
    }

    pub(super) fn new(name: impl Into<String>, holds: &'static str) -> Self {
        let name = name.into();
        Self { name, holds }
    }
}

/// The id of an entry: a hash of what names it on the server, so it is the same for every client.
/// Entries of equal names have one id.
pub(super) fn id_of(name: &[u8]) -> MessageId {
    // FNV-1a, whose result no version of the standard library changes.
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    MessageId::new(hash)
}

/// Reads a part of an answer as what it should be.
pub(super) fn read<T: FromRedisValue>(answer: Value) -> Result<T> {
    redis::from_redis_value(answer).map_err(|error| {
        let message = format!("the server's answer is not what this strategy expects: {error}");
        Error::new(ErrorKind::Internal, message).with_outcome(Outcome::Unknown)
    })
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}
