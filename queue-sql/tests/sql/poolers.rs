//! PgBouncer in transaction mode.

use queue_core::Push;
use queue_sql::{Inbox, InboxKey, Relay, SqlxPostgres, TokioPostgres};
use real_postgres::{Pooler, Server};
use sqlx::postgres::PgPoolOptions;
use tokio_postgres::NoTls;

use super::support::*;

#[tokio::test]
async fn outbox_relay_and_inbox_work_through_a_pooler_in_transaction_mode() {
    let (database, direct) = postgres().await;
    let pooler = Pooler::before(server()).unwrap();
    let options = options(&database).socket(pooler.socket_folder()).port(6432);
    let pool = PgPoolOptions::new().max_connections(6);
    let pool = pool.connect_with(options).await.unwrap();
    let (outbox, queues, inbox) = (mails(), in_memory(), Inbox::new());
    let relays = [(); 2].map(|()| {
        let relay = Relay::new(&outbox, SqlxPostgres::new(pool.clone()), queues.clone());
        Relaying::start(relay.without_listening())
    });
    for order in 0..50 {
        let mut tx = pool.begin().await.unwrap();
        let key = InboxKey::new("orders", format!("order {order}"));
        assert!(inbox.first(&mut *tx, key).await.unwrap());
        outbox
            .push(&mut *tx, "mails", Push::new("a"))
            .await
            .unwrap();
        let more = ["b", "c"].map(Push::new);
        outbox.push_many(&mut *tx, "mails", more).await.unwrap();
        tx.commit().await.unwrap();
    }
    bodies(&*mail_queue(&queues).await, 150).await;
    for relay in relays {
        relay.end().await;
    }
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM queue_outbox")
        .fetch_one(&direct)
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn tokio_postgres_works_through_a_pooler_in_transaction_mode() {
    let (database, _) = postgres().await;
    let pooler = Pooler::before(server()).unwrap();
    let mut config = tokio_postgres::Config::new();
    config.host_path(pooler.socket_folder()).port(6432);
    config.user(Server::USER).dbname(&database);
    let (outbox, queues) = (mails(), in_memory());
    let store = TokioPostgres::new(config.clone(), NoTls);
    let relay = Relay::new(&outbox, store, queues.clone());
    let relaying = Relaying::start(relay.without_listening());
    let (mut client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..20 {
        let mut tx = client.transaction().await.unwrap();
        outbox.push(&mut tx, "mails", Push::new("a")).await.unwrap();
        tx.commit().await.unwrap();
    }
    bodies(&*mail_queue(&queues).await, 20).await;
    relaying.end().await;
}

/// LISTEN would stay on a connection that others get.
#[tokio::test]
async fn a_relay_finds_the_pooler_and_does_not_listen() {
    let (database, direct) = postgres().await;
    let pooler = Pooler::before(server()).unwrap();
    let options = options(&database).socket(pooler.socket_folder()).port(6432);
    let pool = PgPoolOptions::new().connect_with(options).await.unwrap();
    let mut config = tokio_postgres::Config::new();
    config.host_path(pooler.socket_folder()).port(6432);
    config.user(Server::USER).dbname(&database);
    let (outbox, queues) = (mails(), in_memory());
    let by_sqlx = Relaying::with(&outbox, SqlxPostgres::new(pool), &queues);
    by_sqlx.says("listening false").await;
    by_sqlx.end().await;
    let store = TokioPostgres::new(config, NoTls);
    let by_tokio = Relaying::with(&outbox, store, &queues);
    by_tokio.says("listening false").await;
    by_tokio.end().await;
    drop(direct);
}

/// A lost wake-up costs a poll.
#[tokio::test]
async fn a_relay_without_wake_ups_polls() {
    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails().without_notify(), in_memory());
    let relay = Relay::new(&outbox, SqlxPostgres::new(pool.clone()), queues.clone());
    let relaying = Relaying::start(relay.without_listening());
    let mut tx = pool.begin().await.unwrap();
    outbox
        .push(&mut *tx, "mails", Push::new("a"))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bodies(&*mail_queue(&queues).await, 1).await, ["a"]);
    assert!(
        relaying
            .said
            .lock()
            .unwrap()
            .iter()
            .all(|said| !said.contains("listening"))
    );
    relaying.end().await;
}

#[tokio::test]
async fn a_direct_relay_hears_wake_ups() {
    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    let relaying = Relaying::with(&outbox, SqlxPostgres::new(pool), &queues);
    relaying.says("listening true").await;
    relaying.end().await;
}
