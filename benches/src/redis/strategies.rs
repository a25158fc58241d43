//! Candidate structures for a reliable queue, each as small as works: with fencing, expiry and ids
//! where the structure allows them, and without the rest of the contract.

use std::{
    collections::HashMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

use redis::{AsyncCommands, Direction, Script, Value, aio::MultiplexedConnection};

use super::{
    cost::Cost,
    fixture::Fixture,
    ours::{LEASE, measured},
};
use crate::{kinds::BODY, pairs::Work};

const ANSWERED: &str = "the server answers";
const GROUP: &str = "group";

/// A structure, and the way it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// A list of frames; in flight, a zset of leases and a hash of bodies.
    Frames,
    /// A list of ids and a hash of bodies; in flight, a zset of leases.
    Ids,
    /// One zset by the time a message may be taken, and a hash of bodies.
    Visibility,
    /// A stream with a consumer group; `XACK` and `XDEL`. Not fenced.
    Stream,
    /// `LMOVE` to a backup that is the consumer's own; `LREM`. Not fenced, and leases never end.
    Backup,
}

/// The scripts of a strategy that needs them.
#[derive(Debug)]
struct Scripts {
    push: Script,
    take: Script,
    ack: Script,
}

macro_rules! scripts {
    ($push:literal, $take:literal, $ack:literal) => {
        LazyLock::new(|| Scripts {
            push: Script::new(include_str!(concat!("../../lua/", $push))),
            take: Script::new(include_str!(concat!("../../lua/", $take))),
            ack: Script::new(include_str!(concat!("../../lua/", $ack))),
        })
    };
}

static FRAMES: LazyLock<Scripts> = scripts!("frames/push.lua", "frames/take.lua", "frames/ack.lua");
static IDS: LazyLock<Scripts> = scripts!("ids/push.lua", "ids/take.lua", "ids/ack.lua");
static VISIBILITY: LazyLock<Scripts> =
    scripts!("visibility/push.lua", "visibility/take.lua", "ids/ack.lua");

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Frames,
        Self::Ids,
        Self::Visibility,
        Self::Stream,
        Self::Backup,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frames => "list of frames",
            Self::Ids => "ids + bodies",
            Self::Visibility => "visibility zset",
            Self::Stream => "stream",
            Self::Backup => "LMOVE to a backup",
        }
    }

    /// The commands that it sends; their server time is its cost.
    pub const fn commands(self) -> &'static [&'static str] {
        match self {
            Self::Frames | Self::Ids | Self::Visibility => &["evalsha"],
            Self::Stream => &["xadd", "xreadgroup", "xack", "xdel"],
            Self::Backup => &["rpush", "lmove", "lrem"],
        }
    }

    fn scripts(self) -> Option<(&'static Scripts, &'static [&'static str])> {
        match self {
            Self::Frames => Some((&FRAMES, &["numbers", "ready", "leases", "flight"])),
            Self::Ids => Some((&IDS, &["numbers", "ready", "leases", "bodies"])),
            Self::Visibility => Some((&VISIBILITY, &["numbers", "line", "line", "bodies"])),
            Self::Stream | Self::Backup => None,
        }
    }
}

/// A queue of such a structure.
#[derive(Debug)]
pub struct Structure {
    strategy: Strategy,
    raw: MultiplexedConnection,
    keys: Vec<String>,
}

impl Structure {
    /// Makes a queue whose keys begin with this name.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn new(strategy: Strategy, mut raw: MultiplexedConnection, name: &str) -> Self {
        let mut keys = vec![format!("{name}ready"), format!("{name}backup")];
        if let Some((scripts, suffixes)) = strategy.scripts() {
            keys = suffixes.iter().map(|key| format!("{name}{key}")).collect();
            for script in [&scripts.push, &scripts.take, &scripts.ack] {
                script.load_async(&mut raw).await.expect(ANSWERED);
            }
        }
        if strategy == Strategy::Stream {
            let mut create = redis::cmd("XGROUP");
            create.arg(&["CREATE", &keys[0], GROUP, "0", "MKSTREAM"]);
            create.exec_async(&mut raw).await.expect(ANSWERED);
        }
        Self {
            strategy,
            raw,
            keys,
        }
    }

    /// Pushes a batch.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn push(&mut self, batch: usize) {
        let body = BODY;
        let bodies = vec![&body[..]; batch];
        if let Some((scripts, _)) = self.strategy.scripts() {
            let mut call = scripts.push.key(&self.keys);
            call.arg(bodies);
            let _: i64 = call.invoke_async(&mut self.raw).await.expect(ANSWERED);
        } else if self.strategy == Strategy::Stream {
            let mut trip = redis::pipe();
            for body in bodies {
                trip.cmd("XADD").arg(&self.keys[0]).arg("*");
                trip.arg("b").arg(body).ignore();
            }
            trip.exec_async(&mut self.raw).await.expect(ANSWERED);
        } else {
            let _: i64 = self.raw.rpush(&self.keys[0], bodies).await.expect(ANSWERED);
        }
    }

    /// Takes a batch, under a lease if the structure has leases. Returns the receipts.
    ///
    /// # Panics
    ///
    /// If there are fewer messages.
    pub async fn take(&mut self, batch: usize) -> Vec<Vec<u8>> {
        let receipts: Vec<Vec<u8>> = if let Some((scripts, _)) = self.strategy.scripts() {
            let mut call = scripts.take.key(&self.keys);
            call.arg(batch).arg(LEASE.as_millis() as u64);
            let taken: Vec<Vec<u8>> = call.invoke_async(&mut self.raw).await.expect(ANSWERED);
            taken.into_iter().step_by(2).collect()
        } else if self.strategy == Strategy::Stream {
            let mut read = redis::cmd("XREADGROUP");
            read.arg(&["GROUP", GROUP, "consumer", "COUNT"]).arg(batch);
            read.arg(&["STREAMS", &self.keys[0], ">"]);
            // The entries of each stream: the id and the fields.
            type Streams = HashMap<String, Vec<(Vec<u8>, Value)>>;
            let read: Option<Streams> = read.query_async(&mut self.raw).await.expect(ANSWERED);
            let entries = read.into_iter().flatten().flat_map(|(_, entries)| entries);
            entries.map(|(id, _)| id).collect()
        } else {
            let mut trip = redis::pipe();
            for _ in 0..batch {
                let (ready, backup) = (&self.keys[0], &self.keys[1]);
                trip.lmove(ready, backup, Direction::Left, Direction::Right);
            }
            trip.query_async(&mut self.raw).await.expect(ANSWERED)
        };
        assert_eq!(receipts.len(), batch);
        receipts
    }

    /// Acks a batch.
    ///
    /// # Panics
    ///
    /// If a message was not in flight.
    pub async fn ack(&mut self, receipts: &[Vec<u8>]) {
        let acked: i64 = if let Some((scripts, _)) = self.strategy.scripts() {
            let mut call = scripts.ack.key(&self.keys);
            call.arg(receipts);
            call.invoke_async(&mut self.raw).await.expect(ANSWERED)
        } else if self.strategy == Strategy::Stream {
            let mut trip = redis::pipe();
            let (stream, group) = (&self.keys[0], GROUP);
            trip.cmd("XACK")
                .arg(stream)
                .arg(group)
                .arg(receipts)
                .ignore();
            trip.cmd("XDEL").arg(stream).arg(receipts);
            let acked: (i64,) = trip.query_async(&mut self.raw).await.expect(ANSWERED);
            acked.0
        } else {
            let mut trip = redis::pipe();
            for body in receipts {
                trip.lrem(&self.keys[1], 1, body);
            }
            let removed: Vec<i64> = trip.query_async(&mut self.raw).await.expect(ANSWERED);
            removed.into_iter().sum()
        };
        assert_eq!(acked, receipts.len() as i64);
    }
}

/// Pushes, takes and acks one batch after the other.
pub fn cycle<'a>(
    fixture: &'a Fixture,
    strategy: Strategy,
    batch: usize,
    cost: &'a Cost,
) -> Work<'a> {
    measured(fixture, move |name, rounds| {
        let structure = Structure::new(strategy, fixture.raw.clone(), name);
        let mut structure = fixture.runtime.block_on(structure);
        cost.of(fixture, strategy.commands(), rounds * batch as u64, || {
            fixture
                .runtime
                .block_on(cycles(&mut structure, batch, rounds))
        })
    })
}

async fn cycles(structure: &mut Structure, batch: usize, rounds: u64) -> Duration {
    let start = Instant::now();
    for _ in 0..rounds {
        structure.push(batch).await;
        let receipts = structure.take(batch).await;
        structure.ack(&receipts).await;
    }
    start.elapsed()
}
