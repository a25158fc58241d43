//! Databases, queues and relays of a test.

use std::{
    future::Future,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use queue_core::{Bytes, Delivery, Leasing, LeasingExt, Queues, ReliableConfig};
use queue_memory::MemoryBackend;
use queue_sql::{Outbox, Relay, RelayEvent, RelayReport, SqlxPostgres, SqlxSqlite, Store};
use real_postgres::Server;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions},
};
use tokio::sync::oneshot;

/// Far more than anything takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const LEASE: Duration = Duration::from_secs(60);

static SERVER: LazyLock<Server> =
    LazyLock::new(|| Server::start().unwrap_or_else(|error| panic!("{error}")));

/// The server that the tests of this process share.
pub(crate) fn server() -> &'static Server {
    &SERVER
}

pub(crate) fn options(database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(server().socket_folder())
        .username(Server::USER)
        .database(database)
}

pub(crate) fn config(database: &str) -> tokio_postgres::Config {
    let mut config = tokio_postgres::Config::new();
    config.host_path(server().socket_folder());
    config.user(Server::USER).dbname(database);
    config
}

/// A database with the tables.
pub(crate) async fn postgres() -> (String, PgPool) {
    let database = server().database().unwrap();
    let pool = PgPoolOptions::new().max_connections(8);
    let pool = pool.connect_with(options(&database)).await.unwrap();
    SqlxPostgres::new(pool.clone()).migrate().await.unwrap();
    (database, pool)
}

/// A database in a file, with the tables.
pub(crate) async fn sqlx_sqlite() -> (sqlx::SqlitePool, SqlxSqlite) {
    static FILES: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = FILES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    // Removed by the next run.
    let folder =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("queue-sql-{number}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(folder.join("shop.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new().max_connections(4);
    let pool = pool.connect_with(options).await.unwrap();
    let store = SqlxSqlite::new(pool.clone());
    store.migrate().await.unwrap();
    (pool, store)
}

pub(crate) fn mails() -> Outbox {
    Outbox::new()
        .queue("mails", ReliableConfig::default())
        .unwrap()
}

pub(crate) fn in_memory() -> Queues {
    Queues::new(MemoryBackend::new())
}

/// A relay at work in this process, and what it said.
pub(crate) struct Relaying {
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<queue_core::Result<RelayReport>>,
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Relaying {
    pub(crate) fn start(relay: Relay) -> Self {
        let (stop, stops) = oneshot::channel();
        let said = Arc::new(Mutex::new(Vec::new()));
        let says = Arc::clone(&said);
        let relay = relay.on_event(move |event| says.lock().unwrap().push(text(event)));
        let shutdown = async { stops.await.unwrap_or(()) };
        Self {
            stop,
            task: tokio::spawn(relay.run_until(shutdown)),
            said,
        }
    }

    pub(crate) fn with(outbox: &Outbox, store: impl Store, queues: &Queues) -> Self {
        Self::start(Relay::new(outbox, store, queues.clone()))
    }

    /// Waits until an event says this.
    pub(crate) async fn says(&self, what: &str) {
        until(what, async || {
            self.said
                .lock()
                .unwrap()
                .iter()
                .any(|said| said.contains(what))
        })
        .await;
    }

    pub(crate) async fn end(self) -> RelayReport {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap()
    }
}

fn text(event: &RelayEvent<'_>) -> String {
    match event {
        RelayEvent::Relayed { queue, rows } => format!("relayed {rows} to {queue}"),
        RelayEvent::Refused { queue, id, reason } => format!("refused {id} for {queue}: {reason}"),
        RelayEvent::Failed { queue, error } => format!("failed {queue:?}: {error}"),
        RelayEvent::Counted(counts) => format!(
            "counted {}: {} wait, {} refused",
            counts.queue, counts.waiting, counts.refused
        ),
        RelayEvent::Listening(listens) => format!("listening {listens}"),
        _ => String::new(),
    }
}

/// Waits for a cause.
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let start = std::time::Instant::now();
    while !holds().await {
        assert!(start.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Takes this many messages of a queue, and acks them.
pub(crate) async fn take(queue: &dyn Leasing, count: usize) -> Vec<Delivery> {
    let mut taken = Vec::new();
    while taken.len() < count {
        let most = (count - taken.len()).min(queue_core::limits::MAX_BATCH);
        let deliveries = queue.receive(most, LEASE, PATIENCE).await.unwrap();
        assert!(
            !deliveries.is_empty(),
            "{} of {count} messages",
            taken.len()
        );
        for delivery in deliveries {
            queue.ack(delivery.receipt).await.unwrap();
            taken.push(delivery);
        }
    }
    taken
}

pub(crate) async fn bodies(queue: &dyn Leasing, count: usize) -> Vec<Bytes> {
    let taken = take(queue, count).await;
    taken.into_iter().map(|delivery| delivery.body).collect()
}

pub(crate) async fn mail_queue(queues: &Queues) -> Arc<dyn queue_core::ReliableQueue> {
    let mails = queues.reliable("mails").open::<String>().await.unwrap();
    Arc::clone(mails.queue())
}

/// Fails instead of waiting for ever.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let ended = tokio::time::timeout(PATIENCE, work).await;
    ended.expect("an end within a minute")
}
