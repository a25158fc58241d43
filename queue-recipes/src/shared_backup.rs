use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{Condition, Depth, Disposition, Guarantees, Pushed, QueueKind, Result, Settled};
use queue_core::{Running, Timestamp};
use redis::cmd;
use tokio::time;

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    lists::{self, Places},
    server::{Connection, TypedKey},
    settings::check_time,
    strategy::{NewEntry, Strategy, Taken},
};

/// Puts an entry that was in the backup for too long back into the list, in one step.
const PUT_BACK: &str = "\
if redis.call('lrem', KEYS[1], 1, ARGV[1]) == 1 then
  redis.call('rpush', KEYS[2], ARGV[1])
end";

/// The shortest pause between two rounds of the checker.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// A backup list for all clients: `RPOPLPUSH` into it, `LREM` from it. A checker puts back entries that stay there too
/// long.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the oldest last |
/// | `{…}:backup` | a list of the bodies that clients have taken and not settled; ours, not published |
/// | `{…}:dead` | a list of buried bodies; ours, not published |
///
/// It loses nothing (L5, L8) if one process runs the checker. The checker knows neither an entry's holder nor how long
/// it has been held. It notes when it first saw the entry, and forgets that when it restarts. So a slow holder's
/// message goes to another client while the first still works on it. The `LREM` of the first then removes the second's
/// entry (L1). `LREM` and the checker read the whole backup.
#[derive(Debug, Clone)]
pub struct SharedBackup {
    key: Option<String>,
    backup_key: Option<String>,
    dead_key: Option<String>,
    checker: Option<Duration>,
    poll: Duration,
}

impl Default for SharedBackup {
    fn default() -> Self {
        Self {
            key: None,
            backup_key: None,
            dead_key: None,
            checker: None,
            poll: Duration::from_secs(1),
        }
    }
}

impl SharedBackup {
    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The list of the bodies that all clients have taken, for programs that have their own name for it. By default
    /// `{jobs}:backup` for the list `jobs`.
    #[must_use]
    pub fn backup_key(mut self, key: impl Into<String>) -> Self {
        self.backup_key = Some(key.into());
        self
    }

    /// The list of dead letters. By default `{jobs}:dead` for the list `jobs`.
    #[must_use]
    pub fn dead_key(mut self, key: impl Into<String>) -> Self {
        self.dead_key = Some(key.into());
        self
    }

    /// Runs a checker in each handle. It puts back entries that it has seen in the backup for `after`: 1 ms to 7 days.
    /// Choose more than the longest lease. One process should run it.
    #[must_use]
    pub const fn with_checker(mut self, after: Duration) -> Self {
        self.checker = Some(after);
        self
    }

    /// The time between two polls: 1 ms to 7 days, 1 s by default.
    #[must_use]
    pub const fn poll(mut self, interval: Duration) -> Self {
        self.poll = interval;
        self
    }
}

impl Recipe for SharedBackup {
    fn guarantees(&self) -> Guarantees {
        const ONE_BY_ONE: &str = "a lease of several takes one by one: others come in between";
        const KNOWN: &str = "the checker knows an entry by its body: one taken again looks old";
        let (name, rule, because) = match self.checker {
            Some(_) => ("shared-backup with checker", "L1", KNOWN),
            None => (
                "shared-backup",
                "L7",
                "nobody puts back what a dead client had",
            ),
        };
        declared::uncounted(name, QueueKind::Reliable)
            .caveat("L11", Condition::NoFaults, "a retry has no delay")
            .caveat(rule, Condition::NoFaults, because)
            .caveat("F1", Condition::NoFaults, ONE_BY_ONE)
            .caveat("F2", Condition::NoFaults, ONE_BY_ONE)
    }

    fn check(&self) -> Result<()> {
        if let Some(after) = self.checker {
            check_time("with_checker", after)?;
        }
        check_time("poll", self.poll)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let places = Places::of(opening.key(self.key.as_ref()), self.dead_key.as_ref());
        let backup = companion(self.backup_key.as_ref(), &places.queue, "backup");
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

    fn keys(&self) -> Vec<TypedKey> {
        let lists = [&self.places.queue, &self.backup, &self.places.dead];
        lists.into_iter().map(TypedKey::list).collect()
    }

    fn dead(&self) -> Option<&str> {
        Some(&self.places.dead)
    }

    fn poll(&self) -> Duration {
        self.poll
    }

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        lists::push(server, self.places.ends.push, &self.places.queue, entries).await
    }

    async fn take(
        &self,
        server: &Connection,
        max: usize,
        _: Duration,
    ) -> Result<Vec<Taken<Bytes>>> {
        let mut take = cmd("RPOPLPUSH");
        take.arg(&self.places.queue).arg(&self.backup);
        let bodies: Vec<Option<Bytes>> = server.pipeline(vec![take; max]).await?;
        Ok(bodies.into_iter().flatten().map(lists::taken).collect())
    }

    async fn end(&self, server: &Connection, body: &Bytes, how: &Disposition) -> Result<Settled> {
        self.places.end_in(server, &self.backup, body, how).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        lists::two_lengths(server, &self.places.queue, &self.backup).await
    }
}

/// The task that puts back entries that stay in the backup.
struct Checker {
    server: Connection,
    queue: String,
    backup: String,
    after: Duration,
    /// When the checker first saw each entry.
    seen: HashMap<Bytes, Timestamp>,
}

impl Checker {
    async fn run(mut self) {
        loop {
            time::sleep((self.after / 4).max(LEAST_PAUSE)).await;
            // The next round repeats what this round could not do.
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
