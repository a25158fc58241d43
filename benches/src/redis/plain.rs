//! The raw side: structures without leases, which show the limit of this client and this server.

use std::{ops::Range, sync::LazyLock};

use redis::{AsyncCommands, Direction, Pipeline, Script, Value, aio::MultiplexedConnection};

use crate::kinds::BODY;

/// A time that was due long ago.
pub(super) const PAST: u64 = 1_500_000_000_000;
/// A due time long after all measurements.
pub(crate) const LATER: u64 = 4_000_000_000_000;
/// The bodies of one call while a structure is filled.
const MOST: usize = 1_000;
pub(super) const ANSWERED: &str = "the server answers";

/// Moves a batch from one list to another, in one call.
static TAKE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../../lua/raw/take.lua")));
static TAKE_DUE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../../lua/raw/take_due.lua")));

/// A list of bodies, and a backup of what is taken.
#[derive(Debug, Clone)]
pub struct List {
    link: MultiplexedConnection,
    ready: String,
    backup: String,
}

impl List {
    /// A list of this name.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn open(mut link: MultiplexedConnection, name: &str) -> Self {
        TAKE.load_async(&mut link).await.expect(ANSWERED);
        Self {
            link,
            ready: format!("{name}ready"),
            backup: format!("{name}backup"),
        }
    }

    /// Pushes a batch: one `RPUSH`.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn push(&mut self, batch: usize) {
        push_to_list(&mut self.link, &self.ready, batch).await;
    }

    /// Pushes any number of bodies.
    pub async fn fill(&mut self, messages: usize) {
        fill_list(&mut self.link, &self.ready, messages).await;
    }

    /// Pushes any number of bodies, in batches of this size.
    pub async fn fill_by(&mut self, batch: usize, messages: usize) {
        for start in (0..messages).step_by(batch) {
            self.push(batch.min(messages - start)).await;
        }
    }

    /// Takes a batch: one `LMOVE`, or a script.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn take(&mut self, batch: usize) {
        let mut trip = redis::pipe();
        self.add_take(&mut trip, batch);
        trip.exec_async(&mut self.link).await.expect(ANSWERED);
    }

    /// Deletes a batch that was taken, and takes the next, in one trip.
    ///
    /// # Panics
    ///
    /// If there is nothing to delete.
    pub async fn settle_and_lease(&mut self, batch: usize) {
        self.settle_and_lease_with(batch, 0).await;
    }

    /// [`settle_and_lease`](Self::settle_and_lease), but the first few bodies of the batch go to the list's tail.
    ///
    /// # Panics
    ///
    /// If there is nothing to delete.
    pub async fn settle_and_lease_with(&mut self, batch: usize, again: usize) {
        let trip = self.settle_and_lease_trip(batch, again);
        let answers: Vec<Value> = trip.query_async(&mut self.link).await.expect(ANSWERED);
        assert_eq!(answers[0], Value::Int(1));
    }

    /// The commands of [`settle_and_lease_with`](Self::settle_and_lease_with).
    pub(super) fn settle_and_lease_trip(&self, batch: usize, again: usize) -> Pipeline {
        let mut trip = redis::pipe();
        self.add_delete(&mut trip, batch);
        for _ in 0..again {
            trip.rpush(&self.ready, &BODY[..]);
        }
        self.add_take(&mut trip, batch);
        trip
    }

    /// Deletes a batch that was taken.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn delete(&mut self, batch: usize) {
        let mut trip = redis::pipe();
        self.add_delete(&mut trip, batch);
        trip.exec_async(&mut self.link).await.expect(ANSWERED);
    }

    /// Takes one body and puts it back, as a reaper would put back a body of a dead consumer.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn take_and_give_back(&mut self) {
        let (left, right) = (Direction::Left, Direction::Right);
        let mut trip = redis::pipe();
        trip.lmove(&self.ready, &self.backup, left, right);
        let (left, right) = (Direction::Left, Direction::Right);
        trip.lmove(&self.backup, &self.ready, right, left);
        trip.exec_async(&mut self.link).await.expect(ANSWERED);
    }

    fn add_delete(&self, trip: &mut Pipeline, batch: usize) {
        for _ in 0..batch {
            trip.lrem(&self.backup, 1, &BODY[..]);
        }
    }

    fn add_take(&self, trip: &mut Pipeline, batch: usize) {
        if batch == 1 {
            let (from, to) = (Direction::Left, Direction::Right);
            trip.lmove(&self.ready, &self.backup, from, to);
        } else {
            trip.invoke_script(TAKE.key(&self.ready).key(&self.backup).arg(batch));
        }
    }
}

/// A sorted set of ids and a hash of bodies. Messages that are taken are deleted at once.
#[derive(Debug, Clone)]
pub struct Zset {
    link: MultiplexedConnection,
    line: String,
    bodies: String,
    next: u64,
}

impl Zset {
    /// A sorted set whose bodies are all due.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn open(mut link: MultiplexedConnection, name: &str) -> Self {
        TAKE_DUE.load_async(&mut link).await.expect(ANSWERED);
        Self {
            link,
            line: format!("{name}line"),
            bodies: format!("{name}bodies"),
            next: 0,
        }
    }

    /// Pushes a batch: one `ZADD` and one `HSET` in one trip.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn push(&mut self, batch: usize) {
        self.push_at(PAST, batch).await;
    }

    /// Pushes any number of bodies with this score.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn fill_at(&mut self, score: u64, messages: usize) {
        for start in (0..messages).step_by(MOST) {
            self.push_at(score, MOST.min(messages - start)).await;
        }
    }

    async fn push_at(&mut self, score: u64, batch: usize) {
        let ids = self.next..self.next + batch as u64;
        self.next = ids.end;
        let trip = add_to_zset(&self.line, &self.bodies, score, ids);
        trip.exec_async(&mut self.link).await.expect(ANSWERED);
    }

    /// Takes a batch of due messages, and deletes it, by a script.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub async fn take(&mut self, batch: usize) {
        assert_eq!(self.take_up_to(batch).await, batch);
    }

    /// [`take`](Self::take), but fewer if there are no more. Returns their number.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub async fn take_up_to(&mut self, most: usize) -> usize {
        let mut call = TAKE_DUE.key(&self.line);
        let call = call.key(&self.bodies).arg(most);
        let taken = call.invoke_async::<Vec<Vec<u8>>>(&mut self.link).await;
        taken.expect(ANSWERED).len()
    }
}

/// Pushes a batch to a list: one `RPUSH`.
pub(super) async fn push_to_list(link: &mut MultiplexedConnection, key: &str, batch: usize) {
    let body = BODY;
    let bodies = vec![&body[..]; batch];
    let _: i64 = link.rpush(key, bodies).await.expect(ANSWERED);
}

/// Pushes any number of bodies to a list.
pub(super) async fn fill_list(link: &mut MultiplexedConnection, key: &str, messages: usize) {
    for start in (0..messages).step_by(MOST) {
        push_to_list(link, key, MOST.min(messages - start)).await;
    }
}

/// Puts bodies into a hash under these ids, and the ids into a zset with this score.
pub(super) fn add_to_zset(line: &str, bodies: &str, score: u64, ids: Range<u64>) -> Pipeline {
    let mut trip = redis::pipe();
    trip.cmd("ZADD").arg(line);
    for id in ids.clone() {
        trip.arg(score).arg(&id.to_be_bytes()[1..]);
    }
    trip.ignore().cmd("HSET").arg(bodies);
    for id in ids {
        trip.arg(&id.to_be_bytes()[1..]).arg(&BODY[..]);
    }
    trip.ignore();
    trip
}
