//! Both backends under real threads, in real time. This tests locks and sockets, which one thread in
//! virtual time cannot. Nobody knows the order in which the calls took effect, so the rules check only the
//! callers' answers.

mod asleep;
mod client;
#[path = "../support/ledger.rs"]
#[allow(dead_code, reason = "each program uses a part")]
mod ledger;
#[cfg(all(unix, feature = "redis"))]
mod many_queues;
mod nap;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{
    Backend, Counters, GroupedConfig, Layered, QueueConfig, QueueKind, QueueName, Timestamp,
};
use queue_memory::MemoryBackend;
use tokio::{runtime::Runtime, sync::Barrier, task::JoinSet};

use self::{client::Client, ledger::Ledger};

const PROCESSES: u8 = 8;
const STEPS: u32 = 60;
const ROUNDS: u64 = 4;
/// A round takes milliseconds. A client that hangs fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Clients of one backend.
#[async_trait]
trait Clients: Send + Sync + 'static {
    async fn connect(&self) -> Arc<dyn Backend>;
}

struct OneProcess(MemoryBackend);

#[async_trait]
impl Clients for OneProcess {
    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.0.clone())
    }
}

#[test]
fn threads_on_the_memory_backend() {
    let backend = MemoryBackend::starting_at(Timestamp::from_millis(1_000));
    stress(&Arc::new(OneProcess(backend)));
}

#[test]
fn on_the_memory_backend_nobody_sleeps_while_there_is_something_to_do() {
    watch(&Arc::new(OneProcess(MemoryBackend::new())));
}

#[cfg(all(unix, feature = "redis"))]
mod redis {
    use queue_redis::RedisBackend;
    use real_redis::Server;

    use super::{Arc, Backend, Clients, Duration, PATIENCE, async_trait, stress, watch};

    struct Connections(Server);

    #[async_trait]
    impl Clients for Connections {
        async fn connect(&self) -> Arc<dyn Backend> {
            let builder = RedisBackend::builder(&self.0.url()).expect("a good URL");
            // Only a wake-up ends a wait, and a busy machine ends no call.
            let builder = builder
                .fall_back(Duration::from_secs(3_600))
                .connect_timeout(PATIENCE)
                .response_timeout(PATIENCE);
            Arc::new(builder.connect().await.expect("the server takes us"))
        }
    }

    fn connections() -> Arc<Connections> {
        Arc::new(Connections(Server::start().expect("a server")))
    }

    #[test]
    fn sockets_on_a_redis_server() {
        stress(&connections());
    }

    #[test]
    fn on_a_redis_server_nobody_sleeps_while_there_is_something_to_do() {
        watch(&connections());
    }
}

/// Each kind with clients that wait for one another.
fn watch(clients: &Arc<impl Clients>) {
    let runtime = runtime(2);
    for kind in QueueKind::ALL {
        for pairs in [2, 4] {
            asleep::nobody(runtime.handle(), clients, &QueueConfig::of(kind, 6), pairs);
        }
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(threads).enable_all();
    builder.build().expect("a runtime")
}

fn stress(clients: &Arc<impl Clients>) {
    let runtime = runtime(4);
    for round in 0..ROUNDS {
        for kind in QueueKind::ALL {
            let mut config = QueueConfig::of(kind, 6);
            if let QueueConfig::Grouped(grouped) = &mut config {
                *grouped = match round % 2 {
                    0 => GroupedConfig::default(),
                    _ => GroupedConfig::loose(2),
                };
            }
            let clients = Arc::clone(clients);
            let ledger = runtime.block_on(async {
                let played = tokio::time::timeout(PATIENCE, play(clients, &config, round));
                played.await.expect("a round comes to its end")
            });
            ledger.judge();
        }
    }
}

/// All processes at once, then one that empties the queue.
async fn play(clients: Arc<impl Clients>, config: &QueueConfig, round: u64) -> Ledger {
    let name = QueueName::new(format!("stress-{}-{round}", config.kind())).expect("a good name");
    let guarantees = clients.connect().await.guarantees(config.kind());
    let ledger = Ledger::new(
        name.clone(),
        config.clone(),
        guarantees,
        Counters::default(),
    );
    let open = async |number: u8| {
        let backend = clients.connect().await;
        let backend = Layered::new(ledger.recorder(number.into()), backend);
        backend.open(&name, config).await.expect("the queue")
    };
    let start = Arc::new(Barrier::new(PROCESSES.into()));
    let receipts = Arc::default();
    let mut processes = JoinSet::new();
    for process in 1..=PROCESSES {
        let queue = open(process).await;
        let seed = round << 8 | u64::from(process);
        let client = Client::new(queue, process, seed, Arc::clone(&receipts));
        let start = Arc::clone(&start);
        processes.spawn(async move {
            start.wait().await;
            client.play(STEPS).await;
        });
    }
    while let Some(ended) = processes.join_next().await {
        ended.expect("a process comes to its end");
    }
    let queue = open(PROCESSES + 1).await;
    let last = Client::new(queue, PROCESSES + 1, 0, receipts);
    last.drain().await;
    ledger
}
