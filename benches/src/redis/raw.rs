//! The other side: raw commands through the redis crate. They keep none of the contract's rules;
//! they are the limit of what this client and this server can do.

use std::{ops::Range, sync::LazyLock};

use redis::{AsyncCommands, Direction, Pipeline, Script, aio::MultiplexedConnection};

use super::{
    ours::measured,
    stand::{Shape, Stand},
};
use crate::{kinds::BODY, pairs::Work};

/// Takes a batch: from one list to another, in one call.
static TAKE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../../lua/raw/take.lua")));

/// The most that one call puts in where it does not count.
const MOST: usize = 1_000;

/// A time that is due long after all measuring.
pub(super) const LATER: u64 = 4_000_000_000_000;

const ANSWERED: &str = "the server answers";

/// One `LPUSH` or, of many bodies, one `RPUSH`.
pub fn list_push(stand: &Stand, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        let key = format!("{name}ready");
        stand.runtime.block_on(shape.time(|| {
            let (mut raw, key) = (stand.raw.clone(), key.clone());
            async move {
                for _ in 0..rounds {
                    if shape.batch == 1 {
                        let pushed: i64 = raw.lpush(&key, &BODY[..]).await.expect(ANSWERED);
                        assert!(pushed > 0);
                    } else {
                        push_many(&mut raw, &key, shape.batch).await;
                    }
                }
            }
        }))
    })
}

/// One `ZADD` and one `HSET` in one trip, each of the whole batch. Ids are the client's own.
pub fn zset_push(stand: &Stand, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        let (line, bodies) = (format!("{name}line"), format!("{name}bodies"));
        let mut next_id = 0_u64;
        stand.runtime.block_on(shape.time(|| {
            let (mut raw, line, bodies) = (stand.raw.clone(), line.clone(), bodies.clone());
            let first = next_id;
            next_id += rounds * shape.batch as u64;
            async move {
                for round in 0..rounds {
                    let start = first + round * shape.batch as u64;
                    let ids = start..start + shape.batch as u64;
                    let trip = add_to_zset(&line, &bodies, LATER, ids);
                    trip.exec_async(&mut raw).await.expect(ANSWERED);
                }
            }
        }))
    })
}

/// Takes from a list into a backup and removes from there, in one trip or in two.
pub fn list_turn(stand: &Stand, shape: Shape, trips: usize) -> Work<'_> {
    measured(stand, move |name, rounds| {
        let (ready, backup) = (format!("{name}ready"), format!("{name}backup"));
        stand.runtime.block_on(async {
            let mut raw = stand.raw.clone();
            fill(&mut raw, &ready, (rounds as usize + 1) * shape.messages()).await;
            let mut take = redis::pipe();
            add_take(&mut take, &ready, &backup, shape.batch);
            let mut ack = redis::pipe();
            for _ in 0..shape.batch {
                ack.lrem(&backup, 1, &BODY[..]);
            }
            load(&mut raw).await;
            for _ in 0..shape.in_flight {
                take.exec_async(&mut raw).await.expect(ANSWERED);
            }
            let caller = || {
                let (mut raw, mut take, mut ack) = (stand.raw.clone(), take.clone(), ack.clone());
                let (ready, backup) = (ready.clone(), backup.clone());
                async move {
                    if trips == 1 {
                        add_take(&mut ack, &ready, &backup, shape.batch);
                    }
                    for _ in 0..rounds {
                        let answers: Vec<redis::Value> =
                            ack.query_async(&mut raw).await.expect(ANSWERED);
                        assert_eq!(answers[0], redis::Value::Int(1));
                        if trips == 2 {
                            take.exec_async(&mut raw).await.expect(ANSWERED);
                        }
                    }
                    take.clear();
                }
            };
            shape.time(caller).await
        })
    })
}

/// Turns a list of so many bodies: `LMOVE` from the head to the tail.
pub fn list_rotate(stand: &Stand, items: usize, shape: Shape) -> Work<'_> {
    measured(stand, move |name, rounds| {
        let key = format!("{name}ring");
        stand.runtime.block_on(async {
            fill(&mut stand.raw.clone(), &key, items).await;
            let caller = || {
                let (mut raw, key) = (stand.raw.clone(), key.clone());
                async move {
                    let mut turn = redis::pipe();
                    for _ in 0..shape.batch {
                        turn.lmove(&key, &key, Direction::Left, Direction::Right);
                    }
                    for _ in 0..rounds {
                        let bodies: Vec<Vec<u8>> =
                            turn.query_async(&mut raw).await.expect(ANSWERED);
                        assert_eq!(bodies.len(), shape.batch);
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// Puts bodies under these ids into a hash, and the ids with this score into a zset.
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

/// One `LMOVE`, or for many the script.
fn add_take(trip: &mut Pipeline, ready: &str, backup: &str, batch: usize) {
    if batch == 1 {
        trip.lmove(ready, backup, Direction::Left, Direction::Right);
    } else {
        trip.invoke_script(TAKE.key(ready).key(backup).arg(batch));
    }
}

async fn load(raw: &mut MultiplexedConnection) {
    TAKE.load_async(raw).await.expect(ANSWERED);
}

async fn fill(raw: &mut MultiplexedConnection, key: &str, messages: usize) {
    for start in (0..messages).step_by(MOST) {
        push_many(raw, key, MOST.min(messages - start)).await;
    }
}

async fn push_many(raw: &mut MultiplexedConnection, key: &str, batch: usize) {
    let body = BODY;
    let bodies = vec![&body[..]; batch];
    let pushed: i64 = raw.rpush(key, bodies).await.expect(ANSWERED);
    assert!(pushed > 0);
}
