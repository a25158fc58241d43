//! The promises that every client keeps.

use std::time::Duration;

use queue_core::{
    Distinct, Due, Headers, Job, PriorityConfig, Push, QueueConfig, ReliableConfig, TimeToLive,
    TraceParent,
};
use queue_sql::{Inbox, InboxKey, Outbox, Plain, SqlxPostgres, Store, TokioPostgres};
use queue_worker::{Batch, Context};
use serde::{Deserialize, Serialize};
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
            async fn refused_rows_are_listed_and_tried_again() {
                let (mut $client, store) = $open.await;
                let queues = in_memory();
                let mut $tx = $begin.await.unwrap();
                let rows = ["a", "bb", "cc"].map(Push::new);
                mails().push_many(&mut *$tx, "mails", rows).await.unwrap();
                $tx.commit().await.unwrap();
                let strict = QueueConfig::from(ReliableConfig::default()).with_max_body(1);
                let strict = Outbox::new().queue("mails", strict).unwrap();
                let relaying = Relaying::with(&strict, store.clone(), &queues);
                relaying.says("counted mails: 0 wait, 2 refused").await;
                relaying.end().await;

                let refused = store.refused(0, 10).await.unwrap();
                let ids: Vec<i64> = refused.iter().map(|row| row.id).collect();
                assert_eq!((refused[0].bytes, &*refused[0].queue), (2, "mails"));
                assert!(refused[0].reason.contains("at most 1"), "{refused:?}");
                assert_eq!(store.refused(ids[0], 10).await.unwrap()[0].id, ids[1]);
                assert_eq!(store.refused(0, 1).await.unwrap().len(), 1);

                assert!(store.retry(Some(&[ids[1] + 1])).await.unwrap().is_empty());
                assert_eq!(store.retry(Some(&ids[..1])).await.unwrap(), ids[..1]);
                let counts = store.counts().await.unwrap();
                assert_eq!((counts[0].waiting, counts[0].refused), (1, 1));
                assert!(counts[0].oldest.unwrap() < PATIENCE);
                assert_eq!(store.retry(None).await.unwrap(), ids[1..]);
                let relaying = Relaying::with(&mails(), store, &in_memory());
                relaying.says("relayed 2 to mails").await;
                relaying.end().await;
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
    let config = config(&database);
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
