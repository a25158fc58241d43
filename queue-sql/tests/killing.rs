//! Relays, workers and Postgres are killed again and again, and the tables account for each order.
//! `QUEUE_TEST_KILLING=600` kills for ten minutes.

#![cfg(unix)]

use std::{
    env,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use queue_core::{Queues, ReliableConfig};
use queue_redis::RedisBackend;
use queue_sql::{Inbox, Outbox, Plain, Relay, SqlxPostgres};
use queue_worker::{Backoff, Context, Failure, Worker};
use real_postgres::Server;
use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::{Instant, sleep};

const KILLING: &str = "QUEUE_TEST_KILLING";
const ROLE: &str = "QUEUE_SQL_TEST_ROLE";
const REDIS: &str = "QUEUE_SQL_TEST_REDIS";
const SOCKET: &str = "QUEUE_SQL_TEST_SOCKET";

const PATIENCE: Duration = Duration::from_secs(60);
const LEASE: Duration = Duration::from_millis(500);
/// Each order has this many mails, in one transaction.
const MAILS: i64 = 3;

fn outbox() -> Outbox {
    let config = ReliableConfig::default().with_max_attempts(10_000);
    Outbox::new().queue("mails", config).unwrap()
}

fn pool(socket: &Path) -> PgPool {
    let options = PgConnectOptions::new_without_pgpass();
    let options = options.socket(socket).username(Server::USER);
    let pool = PgPoolOptions::new().acquire_timeout(Duration::from_secs(2));
    pool.connect_lazy_with(options.database("postgres"))
}

async fn queues(url: &str) -> Queues {
    Queues::new(RedisBackend::connect(url).await.unwrap())
}

/// What a child process does until it is killed.
#[tokio::test]
#[ignore = "a process of the other test"]
async fn child() {
    let socket = env::var(SOCKET).unwrap();
    let (pool, queues) = (
        pool(Path::new(&socket)),
        queues(&env::var(REDIS).unwrap()).await,
    );
    if env::var(ROLE).unwrap() == "relay" {
        let relay = Relay::new(&outbox(), SqlxPostgres::new(pool), queues);
        relay
            .rows(7)
            .run_until(std::future::pending())
            .await
            .unwrap();
        return;
    }
    let mails = queues.reliable("mails").max_attempts(10_000);
    let worker = Worker::new(mails.open::<(i64, i64)>().await.unwrap());
    let worker = worker
        .lease(LEASE)
        .retry(Backoff::fixed(Duration::from_millis(50)));
    let send = move |mail: (i64, i64), cx: Context| {
        let pool = pool.clone();
        async move { send(&pool, mail, &cx).await }
    };
    worker.run(send).await.unwrap();
}

async fn send(pool: &PgPool, mail: (i64, i64), cx: &Context) -> Result<(), Failure> {
    let mut tx = pool.begin().await?;
    if Inbox::new().first(&mut *tx, cx).await? {
        let sent = sqlx::query("INSERT INTO sent VALUES ($1, $2)").bind(mail.0);
        sent.bind(mail.1).execute(&mut *tx).await?;
    }
    tx.commit().await?;
    Ok(())
}

struct Process(Child);

impl Process {
    fn start(role: &str, server: &Server, redis: &str) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored"])
            .env(ROLE, role)
            .env(REDIS, redis)
            .env(SOCKET, server.socket_folder())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        let _ = self.0.wait();
    }
}

/// Commits an order with its mails, or rolls both back.
async fn order(
    pool: &PgPool,
    outbox: &Outbox,
    order: i64,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut tx = pool.begin().await?;
    let insert = sqlx::query("INSERT INTO orders VALUES ($1)").bind(order);
    insert.execute(&mut *tx).await?;
    let mails: Vec<(i64, i64)> = (0..MAILS).map(|mail| (order, mail)).collect();
    outbox.push(&mut *tx, "mails", Plain(&mails[0])).await?;
    let rest = mails[1..].iter().map(Plain);
    outbox.push_many(&mut *tx, "mails", rest).await?;
    match order % 5 {
        0 => tx.rollback().await?,
        _ => tx.commit().await?,
    }
    Ok(())
}

async fn count(pool: &PgPool, text: &'static str) -> i64 {
    let start = Instant::now();
    loop {
        match sqlx::query_scalar(text).fetch_one(pool).await {
            Ok(count) => return count,
            Err(error) => assert!(start.elapsed() < PATIENCE, "{error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_relays_workers_and_servers_lose_and_double_nothing() {
    let killing = env::var(KILLING).map_or(4, |seconds| seconds.parse().unwrap());
    let redis = real_redis::Server::start().unwrap();
    let server = Server::start().unwrap();
    let tables =
        "CREATE TABLE orders (id bigint PRIMARY KEY); CREATE TABLE sent (id bigint, mail bigint)";
    server.psql("postgres", tables).unwrap();
    let pool = pool(server.socket_folder());
    SqlxPostgres::new(pool.clone()).migrate().await.unwrap();

    let producer = tokio::spawn({
        let pool = pool.clone();
        async move {
            let (outbox, mut next) = (outbox(), 0);
            loop {
                next += 1;
                // The table knows which of those that failed have committed.
                let _ = order(&pool, &outbox, next).await;
                sleep(Duration::from_millis(1)).await;
            }
        }
    });
    let url = redis.url();
    let roles = ["relay", "worker", "relay", "worker"];
    let mut processes = roles.map(|role| Process::start(role, &server, &url));
    let begin = Instant::now();
    let mut kills = 0;
    while begin.elapsed() < Duration::from_secs(killing) {
        // Times that are not a multiple of anything that a process waits for.
        sleep(Duration::from_millis(100 + kills * 37 % 400)).await;
        let victim = (kills % 5) as usize;
        match roles.get(victim) {
            Some(role) => processes[victim] = Process::start(role, &server, &url),
            None => {
                server.kill().unwrap();
                server.start_again().unwrap();
            }
        }
        kills += 1;
    }
    producer.abort();
    let _ = producer.await;

    let queues = queues(&url).await;
    let mails = queues.reliable("mails").max_attempts(10_000);
    let mails = mails.open::<(i64, i64)>().await.unwrap();
    let start = Instant::now();
    loop {
        let waiting = count(&pool, "SELECT count(*) FROM queue_outbox").await;
        let left = mails.queue().depth().await.unwrap().occupied();
        if waiting == 0 && left == 0 {
            break;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{waiting} rows and {left} messages are left"
        );
        sleep(Duration::from_millis(20)).await;
    }
    drop(processes);
    let orders = count(&pool, "SELECT count(*) FROM orders").await;
    println!("{orders} orders, {kills} kills");
    assert!(orders > 10, "only {orders} orders");
    let sent = count(&pool, "SELECT count(*) FROM sent").await;
    let distinct = "SELECT count(DISTINCT (s.id, s.mail)) FROM sent s JOIN orders o ON o.id = s.id";
    let distinct = count(&pool, distinct).await;
    assert_eq!(
        (sent, distinct),
        (orders * MAILS, orders * MAILS),
        "effects, and those of orders"
    );
    let counters = mails.queue().counters().await.unwrap();
    let accepted = i64::try_from(counters.accepted).unwrap();
    assert_eq!(
        (accepted, counters.died),
        (orders * MAILS, 0),
        "one message a row"
    );
}
