//! How a strategy uses the server: plain commands, pipelines, published scripts, and the client's clock.

use std::{
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
    time::Duration,
};

use queue_core::{Error, ErrorKind, MessageId, Outcome, QueueName, Result, Spawn, Timestamp};
use queue_redis::RedisBackend;
use redis::{Cmd, FromRedisValue, ToRedisArgs, Value};
use redis_link::{
    Client,
    cluster::slot_of,
    connection::{Link, Role},
};
use tokio::time;

/// The server, as a strategy sees it: on a cluster, the node that has the strategy's keys.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    redis: RedisBackend,
    client: Client,
    /// One key of the strategy, which selects the node.
    key: Arc<str>,
    seed: u64,
}

impl Connection {
    /// The backend's server that has `key`, for one handle.
    pub(crate) fn of(redis: &RedisBackend, key: String) -> Self {
        let client = redis.client().at(&key);
        let now = client.own_time().as_millis();
        Self {
            seed: hash(&(client.node().dialer().settings.seed, now)),
            client,
            key: key.into(),
            redis: redis.clone(),
        }
    }

    /// The time of this client's clock, which published strategies use.
    pub(crate) fn now(&self) -> Timestamp {
        self.client.own_time()
    }

    pub(crate) fn spawn(&self) -> Arc<dyn Spawn> {
        Arc::clone(&self.client.node().dialer().settings.spawn)
    }

    /// Opens a connection for blocking calls, to the server that has the keys.
    pub(crate) async fn connect(&self) -> Option<Link> {
        if self.client.is_clustered() {
            // A slot may have moved. This command finds its new node, and the following commands go there.
            let look = redis::cmd("TYPE").arg(&*self.key).take();
            self.client.command(&look).await.ok()?;
        }
        let node = self.client.node();
        let dialer = node.dialer();
        let connecting = dialer.connector.connect(Role::Waiter);
        let connected = time::timeout(dialer.settings.timeouts.connect, connecting).await;
        connected.ok()?.ok()
    }

    /// How long the server may be silent while it does not block.
    pub(crate) fn response_timeout(&self) -> Duration {
        self.client.response_timeout()
    }

    /// Sends a command.
    pub(crate) async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        self.read(self.client.command(command).await?)
    }

    /// Sends a published script in full, as its clients do.
    pub(crate) async fn eval<T: FromRedisValue>(
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
    /// The error of the first command that failed, of unknown outcome, because the others may have run.
    pub(crate) async fn pipeline<T: FromRedisValue>(&self, commands: Vec<Cmd>) -> Result<Vec<T>> {
        let answers = self.client.pipeline(commands).await?;
        let answers = answers.into_iter().map(|answer| self.read(answer?));
        let answers: Result<Vec<T>> = answers.collect();
        answers.map_err(|error| error.with_outcome(Outcome::Unknown))
    }

    /// Converts a reply to the expected type.
    fn read<T: FromRedisValue>(&self, answer: Value) -> Result<T> {
        read(answer).inspect_err(|_| self.client.mark_suspect())
    }

    /// Refuses keys that are not all in one slot of a cluster, including keys that only begin with `beginnings`.
    pub(crate) fn check_slots(&self, keys: &[TypedKey], beginnings: &[String]) -> Result<()> {
        if !self.client.is_clustered() {
            return Ok(());
        }
        let slots = keys.iter().map(|key| slot_of(key.name.as_bytes()));
        // If a beginning contains no hash tag, two different ends have two slots.
        let ends = beginnings
            .iter()
            .flat_map(|begin| ['a', 'b'].map(|end| format!("{begin}{end}")));
        let mut slots = slots.chain(ends.map(|key| slot_of(key.as_bytes())));
        let slot = slot_of(self.key.as_bytes());
        if slots.all(|other| other == slot) {
            return Ok(());
        }
        let names = keys.iter().map(|key| key.name.clone());
        let names = names.chain(beginnings.iter().map(|begin| format!("{begin}…")));
        let names = names.collect::<Vec<_>>().join(", ");
        let text = format!(
            "the keys of this strategy, {names}, are not in one slot of the cluster: set a key with a hash \
             tag, as {{jobs}}, where the strategy has one to set, or connect to one server, or open the \
             default queue"
        );
        Err(Error::new(ErrorKind::Configuration, text))
    }

    /// Refuses a key whose type is not the one that the strategy expects.
    pub(crate) async fn check_types(&self, name: &QueueName, keys: &[TypedKey]) -> Result<()> {
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
    pub(crate) fn uuid(&self) -> String {
        // Numbered by the backend: two handles that open within a millisecond have the same seed.
        let nth = self.redis.draw();
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
pub(crate) struct TypedKey {
    pub(crate) name: String,
    pub(crate) holds: &'static str,
}

impl TypedKey {
    pub(crate) fn list(name: impl Into<String>) -> Self {
        Self::new(name, "list")
    }

    pub(crate) fn zset(name: impl Into<String>) -> Self {
        Self::new(name, "zset")
    }

    pub(crate) fn set(name: impl Into<String>) -> Self {
        Self::new(name, "set")
    }

    pub(crate) fn new(name: impl Into<String>, holds: &'static str) -> Self {
        let name = name.into();
        Self { name, holds }
    }
}

/// The id of an entry: a hash of its name on the server, so it is the same for every client. Entries of equal names
/// have one id.
pub(crate) fn id_of(name: &[u8]) -> MessageId {
    // FNV-1a, which stays the same in all versions of the standard library.
    let hash = name.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    MessageId::new(hash)
}

/// Converts a part of a reply to the expected type.
pub(crate) fn read<T: FromRedisValue>(answer: Value) -> Result<T> {
    redis::from_redis_value(answer).map_err(|error| {
        let message = format!("the server's answer is not what this strategy expects: {error}");
        Error::new(ErrorKind::Internal, message).with_outcome(Outcome::Unknown)
    })
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}
