//! The parameters of calls: windows, delays, leases, times to wait, pages; and the pauses that errors ask
//! for.

use std::{
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_trait::async_trait;
use queue_core::{
    call::{Answer, Call, Front, Service},
    *,
};
use queue_memory::MemoryBackend;
use tokio::time::{sleep, timeout};

use crate::row::{Refuse, Row, Serve, in_time, row, times};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn rows() -> Vec<Row> {
    let parts = [
        pushes(),
        builders(),
        due_times(),
        settlements(),
        waits(),
        other_waits(),
        pages(),
        others(),
    ];
    parts.into_iter().flatten().collect()
}

fn queues() -> Queues {
    Queues::new(MemoryBackend::new())
}

/// Pushes the message to a reliable queue.
fn pushed(push: Push) -> Result<()> {
    in_time(async {
        let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
        jobs.queue().push_one(push).await.map(drop)
    })
}

/// Sends a message that `set` has changed.
fn sent(
    set: impl for<'a> FnOnce(
        MessageBuilder<'a, dyn ReliableQueue>,
    ) -> MessageBuilder<'a, dyn ReliableQueue>,
) -> Result<()> {
    in_time(async {
        let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
        set(jobs.message(&1)).send().await.map(drop)
    })
}

fn pushes() -> Vec<Row> {
    let window = Refuse("a dedup window of");
    let longest = Refuse("a unique key's window of");
    let life = Refuse("a time to live of");
    let far = Refuse("too long: at most 2^47 ms");
    let wait = Refuse("the longest wait of a distinct key of");
    vec![
        times("message: with_dedup", window, window, |window| {
            pushed(Push::new("x").with_dedup("key", window))
        }),
        times("message: with_unique", longest, longest, |longest| {
            pushed(Push::new("x").with_unique("key", longest))
        }),
        times("message: with_due", Serve, far, |delay| {
            pushed(Push::new("x").with_due(delay))
        }),
        times("message: at_latest", wait, wait, |longest| {
            pushed(Push::new("x").with_distinct(Distinct::new("key").at_latest(longest)))
        }),
        times("lives: drop_after", life, life, |limit| {
            pushed(Push::new("x").with_time_to_live(TimeToLive::drop_after(limit)))
        }),
        times("lives: bury_after", life, life, |limit| {
            pushed(Push::new("x").with_time_to_live(TimeToLive::bury_after(limit)))
        }),
    ]
}

/// The same by the builder of a typed message.
fn builders() -> Vec<Row> {
    let window = Refuse("a dedup window of");
    let longest = Refuse("a unique key's window of");
    let life = Refuse("a time to live of");
    let far = Refuse("too long: at most 2^47 ms");
    let wait = Refuse("the longest wait of a distinct key of");
    vec![
        times("builder: dedup", window, window, |window| {
            sent(|message| message.dedup("key", window))
        }),
        times("builder: unique", longest, longest, |longest| {
            sent(|message| message.unique("key", longest))
        }),
        times("builder: at_latest", wait, wait, |longest| {
            sent(|message| message.distinct("key").at_latest(longest))
        }),
        times("builder: debounce", Serve, far, |delay| {
            sent(|message| message.debounce("key", delay))
        }),
        times("builder: drop_after", life, life, |limit| {
            sent(|message| message.drop_after(limit))
        }),
        times("builder: bury_after", life, life, |limit| {
            sent(|message| message.bury_after(limit))
        }),
        times("builder: delay", Serve, far, |delay| {
            sent(|message| message.delay(delay))
        }),
        row(
            "builder: due",
            (0, Serve),
            (u64::MAX, Refuse("beyond the year 9999")),
            |millis| sent(|message| message.due(Timestamp::from_millis(millis))),
        ),
    ]
}

/// Due times on a delay queue.
fn due_times() -> Vec<Row> {
    let far = Refuse("too long: at most 2^47 ms");
    vec![
        times("delay: push", Serve, far, |delay| {
            scheduled(async move |queue| queue.push(&1, delay).await.map(drop))
        }),
        times("delay: push_all", Serve, far, |delay| {
            scheduled(async move |queue| queue.push_all(&[(1, delay.into())]).await.map(drop))
        }),
        times("delay: debounce", Serve, far, |delay| {
            scheduled(async move |queue| {
                queue
                    .message(&1)
                    .debounce("key", delay)
                    .send()
                    .await
                    .map(drop)
            })
        }),
        times("queue: reschedule", Serve, far, |delay| {
            scheduled(async move |queue| {
                let id = queue.push(&1, SECOND).await?;
                queue.reschedule(id, delay).await.map(drop)
            })
        }),
        times("delay: delay", Serve, far, |delay| {
            scheduled(async move |queue| queue.message(&1).delay(delay).send().await.map(drop))
        }),
        row(
            "delay: due",
            (0, Serve),
            (u64::MAX, Refuse("beyond the year 9999")),
            |millis| {
                let due = Timestamp::from_millis(millis);
                scheduled(async move |queue| queue.message(&1).due(due).send().await.map(drop))
            },
        ),
    ]
}

fn scheduled(call: impl AsyncFnOnce(Delay<u64>) -> Result<()>) -> Result<()> {
    in_time(async { call(queues().delay("reminders").open().await?).await })
}

/// Leases a message, and makes this call of it.
fn leased(call: impl AsyncFnOnce(TypedDelivery<u64>) -> Result<()>) -> Result<()> {
    in_time(async {
        let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
        jobs.push(&1).await?;
        let delivery = jobs.receive(SECOND, SECOND).await?;
        call(delivery.expect("it is there")).await
    })
}

fn settlements() -> Vec<Row> {
    let far = Refuse("too long: at most 2^47 ms");
    let lease = Refuse("a lease of");
    let settled = |settlement: fn(Receipt, Duration) -> Settlement, delay| {
        in_time(async {
            let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
            let receipt = Receipt::new(MessageId::new(1), Token::new(1));
            jobs.queue()
                .settle(&[settlement(receipt, delay)])
                .await
                .map(drop)
        })
    };
    vec![
        times(
            "settlement: new",
            Refuse("the time of a result"),
            Refuse("the time of a result"),
            move |time| {
                settled(
                    |receipt, time| Settlement::ack_with(receipt, KeptResult::new("done", time)),
                    time,
                )
            },
        ),
        times("settlement: retry", Serve, far, move |delay| {
            settled(Settlement::retry, delay)
        }),
        times("settlement: retry_because", Serve, far, move |delay| {
            settled(
                |receipt, delay| Settlement::retry_because(receipt, delay, "why"),
                delay,
            )
        }),
        times("settlement: defer", Serve, far, move |delay| {
            settled(Settlement::defer, delay)
        }),
        times("delivery: retry", Serve, far, |delay| {
            leased(async move |delivery| delivery.retry(delay).await.map(drop))
        }),
        times("delivery: retry_because", Serve, far, |delay| {
            leased(async move |delivery| delivery.retry_because(delay, "why").await.map(drop))
        }),
        times("delivery: defer", Serve, far, |delay| {
            leased(async move |delivery| delivery.defer(delay).await)
        }),
        times("delivery: extend", lease, lease, |lease_time| {
            leased(async move |delivery| delivery.extend(lease_time).await)
        }),
    ]
}

/// Lets a caller wait for `time` on an empty queue to which a message comes after a second; a caller with
/// zero time finds nothing.
async fn waited<T: Send>(
    time: Duration,
    come: impl Future<Output = Result<()>> + Send,
    wait: impl Future<Output = Result<T>> + Send,
    came: impl FnOnce(T) -> bool + Send,
) -> Result<()> {
    let come = async {
        sleep(SECOND).await;
        come.await
    };
    let (answer, come) = tokio::join!(timeout(100 * SECOND, wait), come);
    come?;
    assert_eq!(came(answer.expect("it ends")?), !time.is_zero());
    Ok(())
}

fn waits() -> Vec<Row> {
    let lease = Refuse("a lease of");
    vec![
        times("consumer: receive", lease, lease, |lease_time| {
            received(lease_time, 3 * SECOND, 1)
        }),
        times("consumer: receive", Serve, Serve, |timeout| {
            received(SECOND, timeout, 1)
        }),
        row(
            "consumer: receive_batch",
            (0, Refuse("max is 0")),
            (usize::MAX, Refuse("messages")),
            |max| received(SECOND, 3 * SECOND, max),
        ),
        times("result: wait_for_result", Serve, Serve, |timeout| {
            in_time(async {
                let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
                let id = jobs.push(&1).await?;
                let cancelled = async {
                    sleep(SECOND).await;
                    jobs.queue().cancel_one(id).await
                };
                let waited = jobs.wait_for_result::<u64>(id, timeout);
                tokio::try_join!(waited, cancelled).map(drop)
            })
        }),
    ]
}

/// Waits for room, for a visit, and after errors.
fn other_waits() -> Vec<Row> {
    vec![
        times("bounded: wait", Serve, Serve, |time| {
            in_time(async {
                let jobs: Bounded<u64> = queues().bounded("jobs", 1).open().await?;
                let _pushed = jobs.message(&1).wait(SECOND).send().await?;
                let taken = jobs
                    .receive(10 * SECOND, SECOND)
                    .await?
                    .expect("it is there");
                let wait = jobs.message(&2).wait(time).send();
                let come = async { taken.ack().await };
                waited(time, come, wait, |pushed| pushed != Pushed::Full).await
            })
        }),
        times("ring: visit", Serve, Serve, |time| {
            in_time(async {
                let ring: Rotating<u64> = queues().rotating("ring").open().await?;
                let come = async { ring.push(&1).await.map(drop) };
                waited(time, come, ring.visit(time), |item| item.is_some()).await
            })
        }),
        row(
            "ring: visit_batch",
            (0, Refuse("max is 0")),
            (usize::MAX, Refuse("in one call: at most 128")),
            |max| {
                in_time(async {
                    let ring: Rotating<u64> = queues().rotating("ring").open().await?;
                    ring.visit_batch(max, SECOND).await.map(drop)
                })
            },
        ),
        times("queue: with_retry_after", Serve, Serve, |pause| {
            in_time(async {
                // Polls fail, then waits fail.
                for leases in [false, true] {
                    let queue = Front::of(Arc::new(Failing { leases, pause }));
                    let waited = queue.receive(1, SECOND, 3 * SECOND);
                    let ended = timeout(100 * SECOND, waited).await.expect("it ends");
                    assert_eq!(ended.is_ok(), leases);
                }
                Ok(())
            })
        }),
    ]
}

/// Waits for a message that comes after a second.
fn received(lease_time: Duration, time: Duration, max: usize) -> Result<()> {
    in_time(async {
        let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
        let come = async { jobs.push(&1).await.map(drop) };
        let wait = async {
            if max == 1 {
                return Ok(jobs.receive(lease_time, time).await?.into_iter().count());
            }
            Ok(jobs.receive_batch(max, lease_time, time).await?.len())
        };
        waited(time, come, wait, |messages| messages == 1).await
    })
}

/// A queue whose waits fail, and whose polls fail unless they should find nothing.
#[derive(Debug)]
struct Failing {
    leases: bool,
    pause: Duration,
}

#[async_trait]
impl Service for Failing {
    async fn call(&self, call: Call) -> Result<Answer> {
        let nothing = Leased::nothing(Some(Duration::from_millis(10)));
        match call {
            Call::Lease(..) if self.leases => Ok(Answer::Leased(nothing)),
            Call::SettleAndLease(..) if self.leases => {
                Ok(Answer::SettledAndLeased(Vec::new(), nothing))
            }
            _ => Err(Error::new(ErrorKind::Unavailable, "down").with_retry_after(self.pause)),
        }
    }
}

fn pages() -> Vec<Row> {
    let entries = Refuse("entries asked for");
    let page = |page| {
        in_time(async move {
            let jobs: Reliable<u64> = queues().reliable("jobs").open().await?;
            jobs.queue().dead_letters(page).await.map(drop)
        })
    };
    vec![
        row(
            "page: first",
            (0, entries),
            (usize::MAX, entries),
            move |limit| page(Page::first(limit)),
        ),
        row(
            "page: after",
            (0, entries),
            (usize::MAX, entries),
            move |limit| page(Page::after(Cursor::new(0), limit)),
        ),
        row(
            "page: after",
            (0, Serve),
            (u64::MAX, Serve),
            move |position| page(Page::after(Cursor::new(position), 1)),
        ),
    ]
}

/// Bounded queues, and times in headers.
fn others() -> Vec<Row> {
    let entries = Refuse("entries asked for");
    vec![
        row(
            "opening: bounded",
            (0, Refuse("capacity of 0")),
            (usize::MAX, Refuse("a capacity of")),
            |capacity| {
                in_time(async {
                    queues()
                        .bounded("jobs", capacity)
                        .open::<u64>()
                        .await
                        .map(drop)
                })
            },
        ),
        row(
            "bounded: recent",
            (0, entries),
            (usize::MAX, entries),
            |n| {
                in_time(async {
                    let jobs: Bounded<u64> = queues()
                        .bounded("jobs", NonZeroUsize::MIN.get())
                        .open()
                        .await?;
                    jobs.recent(n).await.map(drop)
                })
            },
        ),
        times("stamp: with_due_at", Serve, Serve, |delay| {
            let headers = Headers::new().with_due_at(delay, SystemTime::now());
            headers
                .due_at()
                .map(drop)
                .ok_or_else(|| Error::invalid("no due time"))
        }),
        row(
            "stamp: with_pushed_at",
            (0, Serve),
            (u64::from(u32::MAX) << 24, Serve),
            |seconds| {
                let now = UNIX_EPOCH + Duration::from_secs(seconds);
                let headers = Headers::new().with_pushed_at(now);
                headers
                    .pushed_at()
                    .map(drop)
                    .ok_or_else(|| Error::invalid("no push time"))
            },
        ),
    ]
}
