//! The promises that every client keeps.

use std::time::Duration;

use queue_core::{
    Distinct, Due, Headers, Job, PriorityConfig, Push, QueueConfig, ReliableConfig, TimeToLive,
    TraceParent,
};
use queue_sql::{Inbox, InboxKey, Outbox, Plain, SqlxPostgres, SqlxSqlite, Store, TokioPostgres};
use queue_worker::{Batch, Context};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use tokio_postgres::NoTls;

use super::support::*;

#[derive(Serialize, Deserialize)]
struct Welcome {
    user: u64,
}

impl Job for Welcome {
    const NAME: &'static str = "welcome";
}

/// Makes the tests for one client: `$open` is a client, `$begin` its transaction, and `$commit` commits.
macro_rules! client {
    ($name:ident, $open:expr, |$client:ident, $tx:ident| $begin:expr) => {
        mod $name {
            #![allow(unused_mut, reason = "a pool begins a transaction without")]

            use super::*;

            #[tokio::test]
            async fn a_committed_row_arrives_and_a_rolled_back_one_does_not() {
                let (mut $client, store) = $open.await;
                let (outbox, queues) = (mails(), in_memory());
                {
                    let mut $tx = $begin.await.unwrap();
                    outbox
                        .push(&mut *$tx, "mails", Push::new("never"))
                        .await
                        .unwrap();
                    $tx.rollback().await.unwrap();
                }
                let mut $tx = $begin.await.unwrap();
                for mail in ["1", "2"] {
                    outbox
                        .push(&mut *$tx, "mails", Push::new(mail))
                        .await
                        .unwrap();
                }
                let many = (3..=300).map(|mail| Push::new(mail.to_string()));
                outbox.push_many(&mut *$tx, "mails", many).await.unwrap();
                let relaying = Relaying::with(&outbox, store, &queues);
                $tx.commit().await.unwrap();
                let arrived = bodies(&*mail_queue(&queues).await, 300).await;
                let expected: Vec<String> = (1..=300).map(|mail| mail.to_string()).collect();
                assert_eq!(arrived, expected);
                // The last rows are gone by its end.
                assert_eq!(relaying.end().await.relayed, 300);
            }

            #[tokio::test]
            async fn a_message_keeps_its_type_headers_and_options() {
                let (mut $client, store) = $open.await;
                let queues = in_memory();
                let outbox = Outbox::new()
                    .queue("mails", PriorityConfig::default())
                    .unwrap();
                let hour = Duration::from_secs(3600);
                let trace = TraceParent::new(7, 8, true).unwrap();
                let mut $tx = $begin.await.unwrap();
                outbox
                    .push(&mut *$tx, "mails", &Welcome { user: 7 })
                    .headers(Headers::new().with_trace_parent(trace))
                    .priority(3)
                    .unique("welcome-7", hour)
                    .distinct(Distinct::new("d").at_latest(hour))
                    .time_to_live(TimeToLive::drop_after(2 * hour))
                    .due(Due::After(Duration::ZERO))
                    .await
                    .unwrap();
                outbox
                    .push(&mut *$tx, "mails", Plain("later"))
                    .due_in(hour)
                    .await
                    .unwrap();
                $tx.commit().await.unwrap();
                let relaying = Relaying::with(&outbox, store, &queues);
                let mails = queues.priority("mails").open::<String>().await.unwrap();
                let [first] = take(&**mails.queue(), 1).await.try_into().unwrap();
                assert_eq!(
                    (first.priority, &first.body[..]),
                    (Some(3), &b"{\"user\":7}"[..])
                );
                assert_eq!(first.headers.job(), Some("welcome"));
                assert_eq!(first.headers.trace_parent(), Some(trace));
                until("the delayed one", async || {
                    mails.queue().depth().await.unwrap().delayed == 1
                })
                .await;
                relaying.end().await;
            }

            #[tokio::test]
            async fn the_outbox_refuses_what_the_queue_would_refuse_before_it_inserts() {
                let (mut $client, store) = $open.await;
                let queues = in_memory();
                let small = QueueConfig::from(ReliableConfig::default()).with_max_body(10);
                let outbox = mails().queue("small", small).unwrap();
                let mut $tx = $begin.await.unwrap();
                let large = outbox
                    .push(&mut *$tx, "small", Push::new("0123456789a"))
                    .await;
                let urgent = outbox
                    .push(&mut *$tx, "mails", Push::new(""))
                    .priority(1)
                    .await;
                let unknown = outbox.push(&mut *$tx, "males", Push::new("")).await;
                for (refused, reason) in [
                    (large, "at most 10"),
                    (urgent, "priority"),
                    (unknown, "does not know"),
                ] {
                    let error = refused.unwrap_err().to_string();
                    assert!(error.contains(reason), "{error}");
                }
                // The transaction goes on.
                outbox
                    .push(&mut *$tx, "small", Push::new("0123456789"))
                    .await
                    .unwrap();
                $tx.commit().await.unwrap();
                let relaying = Relaying::with(&outbox, store, &queues);
                relaying.says("relayed 1 to small").await;
                assert_eq!(relaying.end().await.relayed, 1);
            }

            #[tokio::test]
            async fn a_batch_of_jobs_is_one_message() {
                let (mut $client, store) = $open.await;
                let (outbox, queues) = (mails(), in_memory());
                let rows = queues.reliable("rows").open::<u64>().await.unwrap();
                let batch = Batch::new("import").jobs(&rows, 1..=3_u64).unwrap();
                let mut $tx = $begin.await.unwrap();
                outbox.push(&mut *$tx, "mails", &batch).await.unwrap();
                $tx.commit().await.unwrap();
                let relaying = Relaying::with(&outbox, store, &queues);
                let [first] = take(&*mail_queue(&queues).await, 1)
                    .await
                    .try_into()
                    .unwrap();
                assert_eq!(first.headers.job(), Some(Batch::NAME));
                relaying.end().await;
            }

            #[tokio::test]
            async fn an_effect_and_its_mark_commit_together() {
                let (mut $client, store) = $open.await;
                let inbox = Inbox::new();
                let cx = Context::for_test().named("mails").build();
                let key = || InboxKey::new("mails", "order 7");
                {
                    let mut $tx = $begin.await.unwrap();
                    assert!(inbox.first(&mut *$tx, &cx).await.unwrap());
                    $tx.rollback().await.unwrap();
                }
                for first in [true, false] {
                    let mut $tx = $begin.await.unwrap();
                    assert_eq!(inbox.first(&mut *$tx, &cx).await.unwrap(), first);
                    assert_eq!(inbox.first(&mut *$tx, key()).await.unwrap(), first);
                    $tx.commit().await.unwrap();
                }
                assert_eq!(
                    inbox.sweep(&store).await.unwrap(),
                    0,
                    "both are younger than 30 days"
                );
                assert_eq!(inbox.keep(Duration::ZERO).sweep(&store).await.unwrap(), 2);
                let mut $tx = $begin.await.unwrap();
                assert!(inbox.first(&mut *$tx, key()).await.unwrap());
            }

            #[tokio::test]
            async fn migrations_can_run_again_and_at_once() {
                let (_, store) = $open.await;
                let outbox = store.outbox().await.unwrap();
                let (one, two) = tokio::join!(store.migrate(), store.migrate());
                one.and(two).unwrap();
                assert_eq!(store.outbox().await.unwrap(), outbox);
            }
        }
    };
}

async fn sqlx_postgres() -> (sqlx::PgPool, SqlxPostgres) {
    let (_, pool) = postgres().await;
    (pool.clone(), SqlxPostgres::new(pool))
}

async fn tokio_postgres() -> (Tokio, TokioPostgres) {
    let database = server().database().unwrap();
    let mut config = tokio_postgres::Config::new();
    config.host_path(server().socket_folder());
    config.user(real_postgres::Server::USER).dbname(&database);
    let store = TokioPostgres::new(config.clone(), NoTls);
    store.migrate().await.unwrap();
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    (Tokio(client), store)
}

/// A client whose transaction is behind a pointer, as sqlx's are.
struct Tokio(tokio_postgres::Client);

impl Tokio {
    async fn begin(
        &mut self,
    ) -> Result<Box<tokio_postgres::Transaction<'_>>, tokio_postgres::Error> {
        self.0.transaction().await.map(Box::new)
    }
}

async fn sqlx_sqlite() -> (sqlx::SqlitePool, SqlxSqlite) {
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

client!(by_sqlx_postgres, sqlx_postgres(), |client, tx| client
    .begin());
client!(by_tokio_postgres, tokio_postgres(), |client, tx| client
    .begin());
client!(by_sqlx_sqlite, sqlx_sqlite(), |client, tx| client.begin());

/// Any client can run a statement with its values.
#[tokio::test]
async fn a_statement_and_its_values_serve_other_clients() {
    use queue_sql::Value;

    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    let statement = outbox
        .statement("mails", Push::new("body").with_header("a", "b"))
        .unwrap();
    let mut insert = sqlx::query(statement.postgres);
    for value in &statement.values {
        insert = match value {
            Value::Text(text) => insert.bind(text),
            Value::Bytes(bytes) => insert.bind(&bytes[..]),
        };
    }
    insert.execute(&pool).await.unwrap();
    let relaying = Relaying::with(&outbox, SqlxPostgres::new(pool), &queues);
    let [first] = take(&*mail_queue(&queues).await, 1)
        .await
        .try_into()
        .unwrap();
    assert_eq!(first.headers.get("a"), Some("b"));
    relaying.end().await;
}
