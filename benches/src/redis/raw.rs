//! The other side: raw commands through the redis crate. They keep none of the contract's rules;
//! they show the limit of this client and this server.

use std::{sync::LazyLock, time::Instant};

use redis::{
    AsyncCommands, Direction, Script, ScriptInvocation, Value, aio::MultiplexedConnection,
};

use super::{
    fixture::{Fixture, Shape},
    ours::measured,
    plain::{ANSWERED, LATER, List, add_to_zset, fill_list, push_to_list},
};
use crate::{kinds::BODY, pairs::Work};

/// Our own scripts without their decisions: their commands alone, with the same number of keys and arguments.
static PUSH: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../../lua/raw/push.lua")));
static SETTLE_AND_LEASE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("../../lua/raw/settle_and_lease.lua")));

/// One `LPUSH`, or one `RPUSH` of many bodies.
pub fn list_push(fixture: &Fixture, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        let key = format!("{name}ready");
        fixture.runtime.block_on(shape.time(|| {
            let (mut raw, key) = (fixture.raw.clone(), key.clone());
            async move {
                for _ in 0..rounds {
                    if shape.batch == 1 {
                        let pushed: i64 = raw.lpush(&key, &BODY[..]).await.expect(ANSWERED);
                        assert!(pushed > 0);
                    } else {
                        push_to_list(&mut raw, &key, shape.batch).await;
                    }
                }
            }
        }))
    })
}

/// One `ZADD` and one `HSET` in one trip, each of the whole batch. The client makes the ids.
pub fn zset_push(fixture: &Fixture, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        let (line, bodies) = (format!("{name}line"), format!("{name}bodies"));
        let mut next_id = 0_u64;
        fixture.runtime.block_on(shape.time(|| {
            let (mut raw, line, bodies) = (fixture.raw.clone(), line.clone(), bodies.clone());
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

/// Removes bodies from the backup of a list and moves the next ones into it, in one trip.
pub fn list_settle_and_lease(fixture: &Fixture, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        fixture.runtime.block_on(async {
            let mut list = List::open(fixture.raw.clone(), name).await;
            list.fill((rounds as usize + 1) * shape.messages()).await;
            for _ in 0..shape.in_flight {
                list.take(shape.batch).await;
            }
            let pipeline = list.settle_and_lease_trip(shape.batch, 0);
            let caller = || {
                let (mut raw, pipeline) = (fixture.raw.clone(), pipeline.clone());
                async move {
                    for _ in 0..rounds {
                        let answers: Vec<Value> =
                            pipeline.query_async(&mut raw).await.expect(ANSWERED);
                        assert_eq!(answers[0], Value::Int(1));
                    }
                }
            };
            shape.time(caller).await
        })
    })
}

/// The commands of our push of one message, in a script that does nothing else.
pub fn bare_push(fixture: &Fixture) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        let queue = BareQueue::new(name);
        fixture.runtime.block_on(async {
            let mut raw = fixture.raw.clone();
            queue.prepare(&mut raw, 0).await;
            PUSH.load_async(&mut raw).await.expect(ANSWERED);
            let start = Instant::now();
            for _ in 0..rounds {
                let mut push = queue.call(&PUSH);
                push.arg("1").arg(&BODY[..]);
                let pushed: i64 = push.invoke_async(&mut raw).await.expect(ANSWERED);
                assert_eq!(pushed, 1);
            }
            start.elapsed()
        })
    })
}

/// The commands of our `settle_and_lease` that acks one message and leases the next, in a script that does nothing
/// else.
pub fn bare_settle_and_lease(fixture: &Fixture) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        let queue = BareQueue::new(name);
        fixture.runtime.block_on(async {
            let mut raw = fixture.raw.clone();
            queue.prepare(&mut raw, rounds as usize + 1).await;
            SETTLE_AND_LEASE.load_async(&mut raw).await.expect(ANSWERED);
            let start = Instant::now();
            for round in 0..rounds {
                let mut pipeline = queue.call(&SETTLE_AND_LEASE);
                let [acked, next] = [round, round + 1].map(|id| format!("{id:014}"));
                pipeline.arg("1").arg("600000").arg("").arg("1");
                pipeline.arg(acked).arg(next);
                let taken: (Value, i64, i64, Vec<u8>) =
                    pipeline.invoke_async(&mut raw).await.expect(ANSWERED);
                assert_eq!(taken.3.len(), BODY.len());
            }
            start.elapsed()
        })
    })
}

/// The keys of a reliable queue.
struct BareQueue(Vec<String>);

impl BareQueue {
    fn new(name: &str) -> Self {
        let keys = [
            "meta", "leases", "frames", "dead", "arrivals", "line", "delayed", "ready", "runs",
        ];
        Self(keys.map(|key| format!("qk:{{{name}}}:{key}")).to_vec())
    }

    async fn prepare(&self, raw: &mut MultiplexedConnection, messages: usize) {
        let fields = ["config", "accepted", "flags", "next_due", "token", "acked"];
        let fields = fields.map(|field| (field, "1000000000000"));
        let () = raw
            .hset_multiple(&self.0[0], &fields)
            .await
            .expect(ANSWERED);
        fill_list(raw, &self.0[7], messages).await;
    }

    fn call<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        for key in &self.0 {
            call.key(key);
        }
        call.arg("")
            .arg("kind=reliable layout=1 max_attempts=5 backoff=1000 60000");
        call
    }
}

/// Rotates a list of the given number of bodies: `LMOVE` from the head to the tail.
pub fn list_rotate(fixture: &Fixture, items: usize, shape: Shape) -> Work<'_> {
    measured(fixture, move |name, rounds| {
        let key = format!("{name}ring");
        fixture.runtime.block_on(async {
            fill_list(&mut fixture.raw.clone(), &key, items).await;
            let caller = || {
                let (mut raw, key) = (fixture.raw.clone(), key.clone());
                async move {
                    let mut pipeline = redis::pipe();
                    for _ in 0..shape.batch {
                        pipeline.lmove(&key, &key, Direction::Left, Direction::Right);
                    }
                    for _ in 0..rounds {
                        let bodies: Vec<Vec<u8>> =
                            pipeline.query_async(&mut raw).await.expect(ANSWERED);
                        assert_eq!(bodies.len(), shape.batch);
                    }
                }
            };
            shape.time(caller).await
        })
    })
}
