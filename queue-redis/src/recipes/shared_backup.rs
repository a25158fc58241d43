use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Depth, Disposition, Guarantees, Pushed, QueueKind, Result, Settled, When};
use queue_core::{Running, Timestamp};
use redis::cmd;
use tokio::time;

use super::{
    declared,
    lists::{self, Places},
    published::{Opened, Opening, Recipe},
    server::{Key, Server},
    strategy::{Entry, Strategy, Taken},
};

/// Puts an entry that was too long in the backup back, in one step.
const PUT_BACK: &str = "\
if redis.call('lrem', KEYS[1], 1, ARGV[1]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[1])
end";

/// Faults after which an entry stays in the backup, whose consumer is dead or never heard of it.
const UNHEARD: [&str; 9] = [
    "request lost",
    "reply lost",
    "delayed",
    "late",
    "cut",
    "partition",
    "cancelled",
    "crashed",
    "stalled",
];

/// A backup list for all clients: `RPOPLPUSH` into it, `LREM` from it. A checker puts back what stays
/// there too long.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the oldest last |
/// | `{name}:backup` | a list: what all clients have taken and not ended |
/// | `{name}:dead` | a list of buried bodies; ours, not published |
///
/// It loses nothing (L5, L8) if one process runs the checker. The checker knows neither who holds an
/// entry nor since when: it notes when it first saw the entry, and forgets that when it restarts. So
/// a slow holder's message goes to another while the first still works, and the first one's `LREM`
/// then removes the other's entry (L1). `LREM` and the checker read the whole backup.
#[derive(Debug, Clone)]
pub struct SharedBackup {
    key: Option<String>,
    checker: Option<Duration>,
    poll: Duration,
}

impl Default for SharedBackup {
    fn default() -> Self {
        Self {
            key: None,
            checker: None,
            poll: Duration::from_secs(1),
        }
    }
}

impl SharedBackup {
    /// The list of this name, in place of the queue's.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Runs the checker in each handle, which puts back what it has seen in the backup for so long;
    /// 60 s as published. One process should.
    #[must_use]
    pub const fn with_checker(mut self, after: Duration) -> Self {
        self.checker = Some(after);
        self
    }

    /// The time between two looks. 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for SharedBackup {
    fn guarantees(&self) -> Guarantees {
        const LATER: &str = "what the checker puts back comes later";
        const ONE_BY_ONE: &str = "a lease of several takes one by one: others come in between";
        const KNOWN: &str = "the checker knows an entry by its body: one taken again looks old";
        let name = match self.checker {
            Some(_) => "shared-backup with checker",
            None => "shared-backup",
        };
        let guarantees = declared::uncounted(name, QueueKind::Reliable).weaker(
            "L11",
            When::Alone,
            "a retry has no delay",
        );
        if self.checker.is_none() {
            return guarantees
                .weaker("L7", When::Alone, "nobody puts back what a dead client had")
                .weaker("F1", When::Fault("stalled"), ONE_BY_ONE)
                .weaker("F2", When::Fault("delayed"), ONE_BY_ONE);
        }
        let mut guarantees =
            guarantees
                .weaker("L1", When::Alone, KNOWN)
                .weaker("F2", When::Alone, ONE_BY_ONE);
        for fault in UNHEARD {
            guarantees = guarantees.weaker("F1", When::Fault(fault), LATER);
        }
        guarantees
    }

    fn open<'a>(&'a self, opening: Opening<'a>) -> Opened<'a> {
        let places = Places::of(opening.key(self.key.as_ref()));
        let backup = format!("{}:backup", places.queue);
        opening.shell(self.guarantees(), places.queue.clone(), move |server| {
            let checker = self.checker.map(|after| Checker {
                server: server.clone(),
                queue: places.queue.clone(),
                backup: backup.clone(),
                after,
                seen: HashMap::new(),
            });
            Lists {
                _checker: checker.map(|checker| server.spawn().spawn(Box::pin(checker.run()))),
                poll: self.poll,
                places,
                backup,
            }
        })
    }
}

#[derive(Debug)]
struct Lists {
    places: Places,
    backup: String,
    poll: Duration,
    _checker: Option<Running>,
}

#[async_trait]
impl Strategy for Lists {
    type Held = Bytes;

    fn keys(&self) -> Vec<Key> {
        let lists = [&self.places.queue, &self.backup, &self.places.dead];
        lists.into_iter().map(Key::list).collect()
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.places.dead)
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn put(&self, server: &Server, entries: &[Entry<'_>]) -> Result<Vec<Pushed>> {
        lists::push(server, &self.places.queue, entries).await
    }

    async fn take(&self, server: &Server, max: usize, _: Duration) -> Result<Vec<Taken<Bytes>>> {
        let mut take = cmd("RPOPLPUSH");
        take.arg(&self.places.queue).arg(&self.backup);
        let bodies: Vec<Option<Bytes>> = server.pipeline(vec![take; max]).await?;
        Ok(bodies.into_iter().flatten().map(lists::taken).collect())
    }

    async fn end(&self, server: &Server, body: &Bytes, how: &Disposition) -> Result<Settled> {
        self.places.end_in(server, &self.backup, body, how).await
    }

    async fn depth(&self, server: &Server) -> Result<Depth> {
        lists::two_lengths(server, &self.places.queue, &self.backup).await
    }
}

/// The task that puts back what stays in the backup.
struct Checker {
    server: Server,
    queue: String,
    backup: String,
    after: Duration,
    /// When it first saw each entry.
    seen: HashMap<Bytes, Timestamp>,
}

impl Checker {
    async fn run(mut self) {
        loop {
            time::sleep(self.after / 4).await;
            // What one round cannot do, the next one does.
            let _ = self.round().await;
        }
    }

    async fn round(&mut self) -> Result<()> {
        let mut range = cmd("LRANGE");
        range.arg(&self.backup).arg(0).arg(-1);
        let there: Vec<Bytes> = self.server.ask(&range).await?;
        let now = self.server.now();
        self.seen.retain(|body, _| there.contains(body));
        for body in there {
            let first = *self.seen.entry(body.clone()).or_insert(now);
            if now.since(first) >= self.after {
                let keys = [&*self.backup, &self.queue];
                let () = self.server.eval(PUT_BACK, &keys, &body[..]).await?;
                self.seen.remove(&body);
            }
        }
        Ok(())
    }
}
