use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use queue_core::{
    Condition, Depth, Disposition, Feature, Guarantees, Outcome, Pushed, QueueKind, Result, Settled,
};
use redis::cmd;
use tokio::{
    sync::{Mutex, Notify},
    time,
};

use crate::{
    backend::{OpenTarget, Opened, Recipe},
    companions::companion,
    declared,
    lists::{self, Places},
    pops::{BlockingPop, Pops},
    server::{Connection, TypedKey, read},
    settings::check_time,
    strategy::{NewEntry, Strategy, Taken},
};

/// A backup list for each client: `RPOPLPUSH` into it, `LREM` from it. A client that restarts finds there the message
/// that it was handling when it died.
///
/// | key | holds |
/// | --- | --- |
/// | `{name}` | a list of bodies, the oldest last |
/// | `{…}:backup:{client}` | a list of the bodies that this client has taken and not settled; ours, not published |
/// | `{…}:dead` | a list of buried bodies; ours, not published |
///
/// It loses nothing (L5, L8) as long as every client comes back under its own name: a client that stays away keeps its
/// message (L7). A client has one message in flight, because nobody could tell which of several in the backup it still
/// works on. A client that restarts takes its message again before the reported lease time is over (L1).
#[derive(Debug, Clone)]
pub struct PrivateBackup {
    client: String,
    key: Option<String>,
    backup_key: Option<String>,
    dead_key: Option<String>,
    timeout: Duration,
}

impl PrivateBackup {
    /// The strategy for the client of this name. The name must be unique to the client, and the same after a restart.
    pub fn of_client(client: impl Into<String>) -> Self {
        Self {
            client: client.into(),
            key: None,
            backup_key: None,
            dead_key: None,
            timeout: Duration::from_secs(5),
        }
    }

    /// Uses the list of this name instead of the queue's name.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The list of the bodies that this client has taken, for programs that have their own name for it. By default
    /// `{jobs}:backup:client` for the list `jobs`.
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

    /// How long the server blocks a pop: 1 ms to 7 days, 5 s by default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl Recipe for PrivateBackup {
    fn guarantees(&self) -> Guarantees {
        const LATER: &str = "what a pop got waits in the backup for the client's next take";
        declared::uncounted("private-backup", QueueKind::Reliable)
            .without(Feature::Several)
            .caveat(
                "L1",
                Condition::NoFaults,
                "a client that restarts has its message at once",
            )
            .caveat(
                "L7",
                Condition::NoFaults,
                "a client that stays away keeps its message",
            )
            .caveat("L11", Condition::NoFaults, "a retry has no delay")
            .caveat("F1", Condition::NoFaults, LATER)
            .caveat("F2", Condition::NoFaults, LATER)
    }

    fn check(&self) -> Result<()> {
        check_time("timeout", self.timeout)
    }

    fn open<'a>(&'a self, opening: OpenTarget<'a>) -> Opened<'a> {
        let places = Places::of(opening.key(self.key.as_ref()), self.dead_key.as_ref());
        let end = format!("backup:{}", self.client);
        let backup = companion(self.backup_key.as_ref(), &places.queue, &end);
        let pop = BlockingPop {
            command: cmd("BRPOPLPUSH").arg(&places.queue).arg(&backup).take(),
            longest: self.timeout,
            read,
        };
        opening.shell(self.guarantees(), places.queue.clone(), |server| Lists {
            pops: Pops::new(server, pop),
            taking: Mutex::default(),
            in_flight: AtomicBool::new(false),
            ended: Notify::new(),
            places,
            backup,
        })
    }
}

#[derive(Debug)]
struct Lists {
    places: Places,
    backup: String,
    pops: Pops<Bytes>,
    taking: Mutex<()>,
    /// Whether this handle has taken a message and not settled it.
    in_flight: AtomicBool,
    /// Notified when the message is settled.
    ended: Notify,
}

/// Ends the hold, even if the caller drops the settlement half-way.
struct SettleLists<'a>(&'a Lists);

impl Drop for SettleLists<'_> {
    fn drop(&mut self) {
        self.0.in_flight.store(false, Ordering::Release);
        self.0.ended.notify_waiters();
    }
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

    async fn put(&self, server: &Connection, entries: &[NewEntry<'_>]) -> Result<Vec<Pushed>> {
        lists::push(server, self.places.ends.push, &self.places.queue, entries).await
    }

    async fn take(&self, server: &Connection, _: usize, _: Duration) -> Result<Vec<Taken<Bytes>>> {
        let _taking = self.taking.lock().await;
        if self.in_flight.load(Ordering::Acquire) {
            return Ok(Vec::new());
        }
        // The backup holds everything that a blocked pop got.
        self.pops.forget();
        let backup = &self.backup;
        let left: Option<Bytes> = rotate(server, backup, backup).await?;
        let body = match left {
            Some(body) => Some(body),
            None => rotate(server, &self.places.queue, backup).await?,
        };
        self.in_flight.store(body.is_some(), Ordering::Release);
        Ok(body.map(lists::taken).into_iter().collect())
    }

    async fn end(&self, server: &Connection, body: &Bytes, how: &Disposition) -> Result<Settled> {
        let ending = SettleLists(self);
        let ended = self.places.end_in(server, &self.backup, body, how).await;
        if matches!(&ended, Err(error) if error.outcome() == Outcome::NotApplied) {
            std::mem::forget(ending);
        }
        ended
    }

    async fn wait(&self, _: &Connection, timeout: Duration) -> Result<()> {
        let ended = self.ended.notified();
        if self.in_flight.load(Ordering::Acquire) {
            // Only the end of the message in flight makes room for another.
            let _ = time::timeout(timeout.min(self.poll()), ended).await;
            return Ok(());
        }
        self.pops.wait(timeout).await
    }

    async fn depth(&self, server: &Connection) -> Result<Depth> {
        lists::two_lengths(server, &self.places.queue, &self.backup).await
    }
}

async fn rotate(server: &Connection, from: &str, to: &str) -> Result<Option<Bytes>> {
    server.ask(cmd("RPOPLPUSH").arg(from).arg(to)).await
}
