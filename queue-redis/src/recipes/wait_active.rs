use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    DeadLetter, Depth, Disposition, Due, Error, Feature, Guarantees, MessageId, Pushed, QueueKind,
    Result, Running, Settled, When,
};
use redis::cmd;
use tokio::time;

use super::{
    declared,
    lists::{popped, settled},
    pops::{BlockingPop, Pops},
    published::{Opened, Place, Recipe},
    server::{Key, Server, id_of},
    strategy::{Entry, Strategy, Taken, buried, half_done},
    topic_message::{self, TopicMessage},
};

/// The registry of the sets of waiting messages: a set of their keys.
const WAITING_TOPICS: &str = "delay:meta:topic:wait";
/// The registry of the lists of active messages.
const ACTIVE_TOPICS: &str = "delay:meta:topic:active";
const WAITING: &str = "delay:wait";
const ACTIVE: &str = "delay:active";

const PUSH: &str = "\
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[3])
return 1";
const DISTRIBUTE: &str = "\
local val = redis.call('zrangebyscore', KEYS[1], '-inf', ARGV[1], 'limit', 0, ARGV[3])
if next(val) == nil then return 0 end
redis.call('sadd', KEYS[2], ARGV[2])
redis.call('zremrangebyrank', KEYS[1], 0, #val - 1)
for i = 1, #val, 100 do
  redis.call('rpush', KEYS[3], unpack(val, i, math.min(i + 99, #val)))
end
return 1";

/// A sorted set of waiting messages and a list of active ones for each topic; a distributor moves what
/// is due from one to the other.
///
/// | key | holds |
/// | --- | --- |
/// | `delay:meta:topic:wait` | a set of the keys of the sorted sets |
/// | `delay:wait:{topic}` | a sorted set of messages (JSON objects) by due time, in ms |
/// | `delay:meta:topic:active` | a set of the keys of the lists |
/// | `delay:active:{topic}` | a list of messages that are due, the oldest first |
/// | `delay:active:{topic}:dead` | a list of buried messages; ours, not published |
///
/// The topic is the queue's name; the published default is `default`. A message is an object with the
/// fields `body` (a string), `createTime`, `delayTime`, `id` and `topic`; only `body` is needed to
/// read one, and what is no such object is delivered whole. Each handle runs the distributor, unless
/// told not to: one message for each topic and tick, as published, or a [`batch`](Self::batch).
///
/// What a consumer has popped is gone from the server (L5, L8). Messages wait for a tick (D2: one at a
/// time). A push that comes between the distributor's `EXISTS` and `SREM` is forgotten until the next
/// push of its topic (L7).
#[derive(Debug, Clone)]
pub struct WaitActive {
    topic: Option<String>,
    tick: Duration,
    batch: usize,
    distributes: bool,
    timeout: Duration,
}

impl Default for WaitActive {
    fn default() -> Self {
        Self {
            topic: None,
            tick: Duration::from_secs(5),
            batch: 1,
            distributes: true,
            timeout: Duration::from_secs(5),
        }
    }
}

impl WaitActive {
    /// The topic of this name, in place of the queue's.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = Some(topic.into());
        self
    }

    /// The time between two rounds of the distributor. 5 s by default.
    #[must_use]
    pub const fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// The most messages of a topic that one round moves. 1 by default.
    #[must_use]
    pub const fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// Leaves the distributor to another process.
    #[must_use]
    pub const fn without_distributor(mut self) -> Self {
        self.distributes = false;
        self
    }

    /// How long the server blocks a pop. 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for WaitActive {
    fn guarantees(&self) -> Guarantees {
        declared::at_most_once("wait-active", QueueKind::Delay)
            .without(Feature::AtOnce)
            .weaker(
                "L7",
                When::Alone,
                "a push between EXISTS and SREM is forgotten",
            )
            .weaker("D1", When::ClockAhead, "clients' clocks decide")
            .weaker(
                "D2",
                When::Alone,
                "ties go by the bytes of the messages, one a tick",
            )
    }

    fn open<'a>(&'a self, place: Place<'a>) -> Opened<'a> {
        if self.batch == 0 {
            let error = "a batch of 0 would never move anything: at least 1";
            return place.refuse(Error::invalid(error));
        }
        let topic = place.key(self.topic.as_ref());
        let active = format!("{ACTIVE}:{topic}");
        let mut command = cmd("BLPOP");
        command.arg(&active);
        let pop = BlockingPop {
            command,
            longest: self.timeout,
            read: |answer| popped(answer).map(|(_, message)| message),
        };
        place.shell(self.guarantees(), move |server| {
            let distributor = Distributor {
                server: server.clone(),
                tick: self.tick,
                batch: self.batch,
            };
            let distributes = self.distributes;
            Topic {
                waiting: format!("{WAITING}:{topic}"),
                dead: format!("{active}:dead"),
                pops: Pops::new(server, pop),
                _distributor: distributes
                    .then(|| server.spawn().spawn(Box::pin(distributor.run()))),
                active,
                topic,
            }
        })
    }
}

#[derive(Debug)]
struct Topic {
    topic: String,
    waiting: String,
    active: String,
    dead: String,
    pops: Pops<Bytes>,
    _distributor: Option<Running>,
}

impl Topic {
    async fn push(&self, server: &Server, member: &[u8], due: u64) -> Result<()> {
        let arguments = (&self.waiting, due, member);
        server
            .eval(PUSH, &[WAITING_TOPICS, &self.waiting], arguments)
            .await
    }
}

#[async_trait]
impl Strategy for Topic {
    /// The message as it was in the list.
    type Held = Bytes;

    fn keys(&self) -> Vec<Key> {
        vec![
            Key::set(WAITING_TOPICS),
            Key::zset(&self.waiting),
            Key::set(ACTIVE_TOPICS),
            Key::list(&self.active),
            Key::list(&self.dead),
        ]
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.dead)
    }

    async fn dead_letters(
        &self,
        server: &Server,
        from: usize,
        most: usize,
    ) -> Result<Vec<DeadLetter>> {
        let mut range = cmd("LRANGE");
        range.arg(&self.dead).arg(from).arg(from + most - 1);
        let messages: Vec<Bytes> = server.ask(&range).await?;
        let letters = messages.iter().map(read);
        Ok(letters.map(|(id, body)| buried(id, body)).collect())
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        let now = server.now();
        // All of them before anything is sent: a body may be none that JSON can hold.
        let messages = entries.iter().map(|entry| {
            let due = entry.due.resolve(now);
            TopicMessage::new(&self.topic, server.uuid(), entry.body(), now, due)
        });
        let messages: Vec<TopicMessage> = messages.collect::<Result<_>>()?;
        for (nth, message) in messages.iter().enumerate() {
            let member = message.to_json();
            let pushed = self.push(server, member.as_bytes(), message.due()).await;
            pushed.map_err(|error| half_done(nth, error))?;
        }
        let ids = messages.iter().map(TopicMessage::id);
        Ok(ids.map(Pushed::Accepted).collect())
    }

    async fn take(&self, server: &Server, max: usize, _: Duration) -> Result<Vec<Taken<Bytes>>> {
        let mut pop = cmd("LPOP");
        pop.arg(&self.active).arg(max);
        let server = server.clone();
        let pop = async move {
            let messages: Option<Vec<Bytes>> = server.ask(&pop).await?;
            Ok(messages.unwrap_or_default())
        };
        let messages = self.pops.take(max, pop).await?;
        Ok(messages.into_iter().map(taken).collect())
    }

    async fn end(&self, server: &Server, message: &Bytes, how: &Disposition) -> Result<Settled> {
        match how {
            Disposition::Ack => {}
            Disposition::Bury { .. } => {
                let mut bury = cmd("RPUSH");
                bury.arg(&self.dead).arg(&message[..]);
                let _length: u64 = server.ask(&bury).await?;
            }
            Disposition::Release => {
                let mut back = cmd("LPUSH");
                back.arg(&self.active).arg(&message[..]);
                let _length: u64 = server.ask(&back).await?;
            }
            Disposition::Retry { delay } | Disposition::Defer { delay } => {
                let due = Due::After(*delay).resolve(server.now());
                let again = topic_message::again(message, due);
                self.push(server, &again, due.as_millis()).await?;
            }
        }
        Ok(settled(how))
    }

    async fn wait(&self, _: &Server, timeout: Duration) -> Result<()> {
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        let (mut ready, mut delayed) = (cmd("LLEN"), cmd("ZCARD"));
        ready.arg(&self.active);
        delayed.arg(&self.waiting);
        let counts: Vec<u64> = server.pipeline(vec![ready, delayed]).await?;
        Ok(Depth {
            ready: counts[0],
            delayed: counts[1],
            ..Depth::default()
        })
    }
}

/// The id and the body of a message of the list where it is an object that has them; else all of it.
fn read(message: &Bytes) -> (MessageId, Bytes) {
    match TopicMessage::read(message) {
        Some(read) => (read.id(), read.body()),
        None => (id_of(message), message.clone()),
    }
}

fn taken(message: Bytes) -> Taken<Bytes> {
    let (id, body) = read(&message);
    Taken {
        id,
        attempt: 1,
        held: message,
        body,
    }
}

/// The task that moves what is due, of all topics, from the sets to the lists.
struct Distributor {
    server: Server,
    tick: Duration,
    batch: usize,
}

impl Distributor {
    async fn run(self) {
        loop {
            time::sleep(self.tick).await;
            // What one round cannot do, the next one does.
            let _ = self.round().await;
        }
    }

    async fn round(&self) -> Result<()> {
        let topics: Vec<String> = self.server.ask(cmd("SMEMBERS").arg(WAITING_TOPICS)).await?;
        for waiting in topics {
            // One topic's error, a key of another type say, is not the others'.
            let _ = self.distribute(&waiting).await;
        }
        Ok(())
    }

    async fn distribute(&self, waiting: &str) -> Result<()> {
        let there: bool = self.server.ask(cmd("EXISTS").arg(waiting)).await?;
        if !there {
            let mut forget = cmd("SREM");
            forget.arg(WAITING_TOPICS).arg(waiting);
            let _removed: u64 = self.server.ask(&forget).await?;
            return Ok(());
        }
        // Without the prefix the list would be the set itself, and the script would lose what it
        // takes out of it.
        let Some(topic) = waiting.strip_prefix(WAITING) else {
            return Ok(());
        };
        let active = format!("{ACTIVE}{topic}");
        let now = self.server.now().as_millis();
        let keys = [waiting, ACTIVE_TOPICS, &active];
        let arguments = (now, &active, self.batch);
        let _moved: u64 = self.server.eval(DISTRIBUTE, &keys, arguments).await?;
        Ok(())
    }
}
