use std::{
    error::Error,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use queue_core::{Backend, LeasingExt, Push, QueueName, ReliableConfig, ReliableQueue};
use queue_redis::RedisBackend;
use real_redis::{Direction, Proxy, Server};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{Barrier, watch},
    task::JoinSet,
    time,
};

use crate::{arguments::Arguments, tally::Tally};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;
type Queue = Arc<dyn ReliableQueue>;

const LEASE: Duration = Duration::from_secs(120);
const PATIENCE: Duration = Duration::from_secs(60);
const LARGE: usize = 1_000_000;
/// A producer polls one in this many pushes once, and gives it up.
const GIVEN_UP: u64 = 50;

/// The state that the threads of a round share.
struct Round {
    arguments: Arguments,
    url: String,
    start: Instant,
    tally: Mutex<Tally>,
    /// Waits until both sides have come this far.
    together: Barrier,
    over: watch::Sender<bool>,
}

/// Plays one round: half of the consumers on one runtime, half on another, and producers on both.
pub(crate) fn play(arguments: &Arguments) -> Result<Tally> {
    let server = Server::start()?;
    let line = runtime()?;
    let proxy = line.block_on(async { Proxy::before(&server) })?;
    for direction in [Direction::Requests, Direction::Replies] {
        proxy.lengthen(direction, arguments.line / 2);
    }
    let round = Arc::new(Round {
        arguments: arguments.clone(),
        url: proxy.url(),
        start: Instant::now(),
        tally: Mutex::default(),
        together: Barrier::new(2),
        over: watch::Sender::new(false),
    });
    let sides: Vec<_> = (0..2)
        .map(|side| {
            let round = Arc::clone(&round);
            thread::spawn(move || runtime()?.block_on(round.side(side)))
        })
        .collect();
    for side in sides {
        side.join().map_err(|_| "a side panicked")??;
    }
    let round = Arc::into_inner(round).ok_or("a side is not over")?;
    Ok(round.tally.into_inner()?)
}

fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    Ok(builder.worker_threads(1).enable_all().build()?)
}

impl Round {
    async fn side(self: Arc<Self>, side: usize) -> Result<()> {
        let backend = RedisBackend::connect(&self.url).await?;
        let mut queues = Vec::new();
        let mut consumers = JoinSet::new();
        for number in 0..self.arguments.queues {
            let name = QueueName::new(format!("q{number}"))?;
            let config = ReliableConfig::default();
            let queue = backend.open_reliable(&name, &config).await?;
            if number % 2 == side {
                let (round, queue) = (Arc::clone(&self), Arc::clone(&queue));
                consumers.spawn(async move { round.consume(&queue).await });
            }
            queues.push(queue);
        }
        self.together.wait().await;
        self.produce(side, &queues).await;
        self.together.wait().await;
        self.finish().await;
        self.together.wait().await;
        self.over.send_replace(true);
        consumers.shutdown().await;
        Ok(())
    }

    /// Pushes at one side's rate, whatever the outcome of each push.
    async fn produce(self: &Arc<Self>, side: usize, queues: &[Queue]) {
        let every = Duration::from_secs(2) / self.arguments.rate;
        let mut ticks = time::interval(every);
        let mut pushes = JoinSet::new();
        let until = time::Instant::now() + self.arguments.duration;
        let mut number = side as u64;
        while time::Instant::now() < until {
            ticks.tick().await;
            // A large step, so that each side also pushes to the other's queues.
            let queue = Arc::clone(&queues[(number * 7_919) as usize % queues.len()]);
            let round = Arc::clone(self);
            pushes.spawn(async move { round.push(&queue, number).await });
            number += 2;
            while pushes.try_join_next().is_some() {}
        }
        while pushes.join_next().await.is_some() {}
    }

    async fn push(&self, queue: &Queue, number: u64) {
        let large = self.arguments.large;
        let is_large = large > 0 && number.is_multiple_of(large);
        let size = if is_large { LARGE } else { 100 };
        let mut body = vec![b'.'; size];
        body[..8].copy_from_slice(&number.to_be_bytes());
        let since = self.start.elapsed().as_nanos() as u64;
        body[8..16].copy_from_slice(&since.to_be_bytes());
        let batch = [Push::new(body)];
        let mut push = pin!(queue.push(&batch));
        if number % GIVEN_UP == 7 {
            // Polls the push once, keeps it for a while, and drops it.
            let _ = time::timeout(Duration::ZERO, &mut push).await;
            time::sleep(Duration::from_millis(50)).await;
            self.tally(|tally| tally.given_up += 1);
            return;
        }
        let pushed = push.await;
        self.tally(|tally| match &pushed {
            Ok(_) => tally.push(number),
            Err(_) => tally.failed += 1,
        });
        if let Err(error) = pushed {
            eprintln!("push {number}: {error}");
        }
    }

    async fn consume(&self, queue: &Queue) {
        let mut over = self.over.subscribe();
        while !*over.borrow() {
            let received = tokio::select! {
                _ = over.changed() => return,
                received = queue.receive_one(LEASE, PATIENCE) => received,
            };
            match received {
                Ok(Some(delivery)) => {
                    let word =
                        |at: usize| delivery.body[at..at + 8].try_into().map(u64::from_be_bytes);
                    if let (Ok(number), Ok(since)) = (word(0), word(8)) {
                        let took = self
                            .start
                            .elapsed()
                            .saturating_sub(Duration::from_nanos(since));
                        self.tally(|tally| tally.receive(number, took));
                    }
                    if let Err(error) = queue.ack(delivery.receipt).await {
                        self.failed(&error);
                    }
                }
                Ok(None) => {}
                Err(error) => self.failed(&error),
            }
        }
    }

    /// Waits until all pushed messages have come, or no more are to be expected.
    async fn finish(&self) {
        let end = time::Instant::now() + PATIENCE / 2;
        while !self.tally(|tally| tally.is_complete()) && time::Instant::now() < end {
            time::sleep(Duration::from_millis(10)).await;
        }
        // Pushes that were given up may still come.
        time::sleep(Duration::from_millis(500)).await;
    }

    fn failed(&self, error: &queue_core::Error) {
        eprintln!("a consumer: {error}");
        self.tally(|tally| tally.failed += 1);
    }

    fn tally<T>(&self, work: impl FnOnce(&mut Tally) -> T) -> T {
        work(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
