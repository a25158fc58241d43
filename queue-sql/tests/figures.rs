//! Figures of the outbox on a real Postgres and a real Redis, in a release build:
//! `cargo test --release -p queue-sql --all-features --test figures -- --ignored --nocapture`

#![cfg(unix)]

use std::time::{Duration, Instant};

use queue_core::{LeasingExt, Push, Queues, ReliableConfig};
use queue_redis::RedisBackend;
use queue_sql::{Outbox, Relay, SqlxPostgres};
use real_postgres::Server;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{sync::oneshot, task::JoinHandle};

const BODY: usize = 100;

struct Bench {
    _redis: real_redis::Server,
    server: Server,
    pool: PgPool,
    queues: Queues,
    outbox: Outbox,
}

impl Bench {
    async fn start() -> Self {
        let redis = real_redis::Server::start().unwrap();
        let server = Server::start().unwrap();
        let options = PgConnectOptions::new_without_pgpass();
        let options = options
            .socket(server.socket_folder())
            .username(Server::USER);
        let pool = PgPoolOptions::new().max_connections(16);
        let pool = pool
            .connect_with(options.database("postgres"))
            .await
            .unwrap();
        SqlxPostgres::new(pool.clone()).migrate().await.unwrap();
        let backend = RedisBackend::connect(&redis.url()).await.unwrap();
        let outbox = Outbox::new()
            .queue("mails", ReliableConfig::default())
            .unwrap();
        Self {
            _redis: redis,
            server,
            pool,
            queues: Queues::new(backend),
            outbox: outbox.with_prepared_statements(),
        }
    }

    /// Pushes rows by transactions of `at_once` rows.
    async fn fill(&self, rows: usize, at_once: usize) {
        for _ in 0..rows / at_once {
            let mut tx = self.pool.begin().await.unwrap();
            let pushes = (0..at_once).map(|_| Push::new(vec![b'x'; BODY]));
            self.outbox
                .push_many(&mut *tx, "mails", pushes)
                .await
                .unwrap();
            tx.commit().await.unwrap();
        }
    }

    fn relay(&self) -> (oneshot::Sender<()>, JoinHandle<u64>) {
        let (stop, stops) = oneshot::channel();
        let relay = Relay::new(
            &self.outbox,
            SqlxPostgres::new(self.pool.clone()),
            self.queues.clone(),
        );
        let task = tokio::spawn(async move {
            let report = relay.run_until(async { stops.await.unwrap_or(()) }).await;
            report.unwrap().relayed
        });
        (stop, task)
    }

    async fn count(&self, text: &'static str) -> i64 {
        sqlx::query_scalar(text)
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// Rows a second of this many relays.
    async fn rate(&self, relays: usize, rows: usize, at_once: usize) -> f64 {
        self.fill(rows, at_once).await;
        let start = Instant::now();
        let relays: Vec<_> = (0..relays).map(|_| self.relay()).collect();
        while self
            .count("SELECT count(*) FROM (SELECT 1 FROM queue_outbox LIMIT 1) q")
            .await
            > 0
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let rate = rows as f64 / start.elapsed().as_secs_f64();
        for (stop, task) in relays {
            stop.send(()).unwrap();
            task.await.unwrap();
        }
        rate
    }

    /// INSERTs a second, each in a transaction of its own.
    async fn inserts(&self, text: Option<&'static str>, times: usize) -> f64 {
        let mut connection = self.pool.acquire().await.unwrap();
        let start = Instant::now();
        for _ in 0..times {
            let mut tx = sqlx::Connection::begin(&mut *connection).await.unwrap();
            let body = vec![b'x'; BODY];
            match text {
                Some(text) => {
                    let insert = sqlx::query(text).bind("mails");
                    let insert = insert.bind(None::<&str>).bind(None::<&str>);
                    insert.bind(body).execute(&mut *tx).await.unwrap();
                }
                None => self
                    .outbox
                    .push(&mut *tx, "mails", Push::new(body))
                    .await
                    .unwrap(),
            }
            tx.commit().await.unwrap();
        }
        times as f64 / start.elapsed().as_secs_f64()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it measures"]
async fn figures() {
    let bench = Bench::start().await;
    let mails = bench
        .queues
        .reliable("mails")
        .open::<String>()
        .await
        .unwrap();
    let mails = mails.queue();

    let (stop, task) = bench.relay();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut times = Vec::new();
    for _ in 0..500 {
        let mut tx = bench.pool.begin().await.unwrap();
        bench
            .outbox
            .push(&mut *tx, "mails", Push::new("x"))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let start = Instant::now();
        let minute = Duration::from_secs(60);
        let taken = mails.receive(1, minute, minute).await.unwrap();
        times.push(start.elapsed());
        mails.ack(taken[0].receipt).await.unwrap();
    }
    stop.send(()).unwrap();
    task.await.unwrap();
    times.sort();
    println!(
        "commit to handler: p50 {:?}, p99 {:?}",
        times[250], times[495]
    );

    for (relays, at_once) in [(1, 1_000), (4, 1_000), (1, 10), (4, 10)] {
        let mut rates = Vec::new();
        for _ in 0..3 {
            rates.push(bench.rate(relays, 50_000, at_once).await as u64);
        }
        println!("{relays} relays, transactions of {at_once}: {rates:?} rows a second");
    }

    let plain = "CREATE TABLE plain (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, queue text NOT NULL, \
                 options text, headers text, body bytea NOT NULL)";
    sqlx::query(plain).execute(&bench.pool).await.unwrap();
    let insert = "INSERT INTO plain (queue, options, headers, body) VALUES ($1, $2, $3, $4)";
    for _ in 0..3 {
        let plain = bench.inserts(Some(insert), 4_000).await;
        let ours = bench.inserts(None, 4_000).await;
        println!(
            "a plain INSERT {plain:.0}/s, a push {ours:.0}/s: {:.2}",
            ours / plain
        );
    }
    let quiet = Bench {
        outbox: bench.outbox.clone().without_notify(),
        ..bench
    };
    for _ in 0..3 {
        let plain = quiet.inserts(Some(insert), 4_000).await;
        let ours = quiet.inserts(None, 4_000).await;
        println!(
            "without NOTIFY: a plain INSERT {plain:.0}/s, a push {ours:.0}/s: {:.2}",
            ours / plain
        );
    }
    sqlx::query("DELETE FROM queue_outbox")
        .execute(&quiet.pool)
        .await
        .unwrap();
    quiet
        .server
        .psql("postgres", "VACUUM queue_outbox")
        .unwrap();

    let mut reader = quiet.pool.begin().await.unwrap();
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .execute(&mut *reader)
        .await
        .unwrap();
    sqlx::query("SELECT count(*) FROM queue_outbox")
        .execute(&mut *reader)
        .await
        .unwrap();
    for _ in 0..4 {
        println!(
            "an open reader: {:.0} rows a second",
            quiet.rate(1, 50_000, 1_000).await
        );
    }
    let dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'queue_outbox'";
    println!("dead rows: {}", quiet.count(dead).await);
}
