//! Rows that cannot go, rows that wait, and several relays, on Postgres.

use std::time::Duration;

use queue_core::{BoundedConfig, Push, QueueConfig, ReliableConfig};
use queue_sql::{Outbox, Plain, Relay, SqlxPostgres, Store, Wish};
use sqlx::PgPool;

use super::support::*;

async fn push(pool: &PgPool, outbox: &Outbox, queue: &str, bodies: &[&str]) {
    let mut tx = pool.begin().await.unwrap();
    let pushes = bodies
        .iter()
        .map(|body| Push::new(body.as_bytes().to_vec()));
    outbox.push_many(&mut *tx, queue, pushes).await.unwrap();
    tx.commit().await.unwrap();
}

async fn scalar(pool: &PgPool, text: &'static str) -> i64 {
    sqlx::query_scalar(text).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn refused_rows_are_kept_with_their_reason_and_not_in_the_way() {
    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    let small = QueueConfig::from(ReliableConfig::default()).with_max_body(4);
    let strict = Outbox::new().queue("mails", small).unwrap();
    push(&pool, &outbox, "mails", &["one", "too large", "two"]).await;
    // Another program writes rows in its own way.
    for statement in [
        "INSERT INTO queue_outbox (queue, options, body) VALUES ('mails', '{\"colour\":\"red\"}', 'x')",
        "INSERT INTO queue_outbox (queue, headers, body) VALUES ('mails', 'no JSON', 'x')",
        "INSERT INTO queue_outbox (queue, options, body) VALUES ('mails', '{\"priority\":1}', 'x')",
        "INSERT INTO queue_outbox (queue, created, body) VALUES ('mails', now() - interval '7 days', 'old')",
        "INSERT INTO queue_outbox (queue, body) VALUES ('nobody', 'x')",
    ] {
        sqlx::query(statement).execute(&pool).await.unwrap();
    }
    push(&pool, &outbox, "mails", &["end"]).await;
    let relaying = Relaying::with(&strict, SqlxPostgres::new(pool.clone()), &queues);
    let arrived = bodies(&*mail_queue(&queues).await, 3).await;
    assert_eq!(arrived, ["one", "two", "end"]);
    let report = relaying.end().await;
    assert_eq!((report.relayed, report.refused), (3, 5));
    let reasons = "SELECT refused FROM queue_outbox WHERE queue = 'mails' ORDER BY id";
    let reasons: Vec<String> = sqlx::query_scalar(reasons).fetch_all(&pool).await.unwrap();
    let expected = [
        "at most 4",
        "unknown field",
        "JSON",
        "priority",
        "held: the row is 604800 s old",
    ];
    for (reason, part) in reasons.iter().zip(expected) {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(reasons.len(), expected.len());
    let others = "SELECT count(*) FROM queue_outbox WHERE queue = 'nobody' AND refused IS NULL";
    assert_eq!(scalar(&pool, others).await, 1, "its relay may come yet");
}

#[tokio::test]
async fn a_full_queue_holds_its_rows_and_no_others() {
    let (_, pool) = postgres().await;
    let outbox = mails().queue("few", BoundedConfig::new(2)).unwrap();
    let queues = in_memory();
    push(&pool, &outbox, "few", &["1", "2", "3", "4", "5"]).await;
    push(&pool, &outbox, "mails", &["mail"]).await;
    let relaying = Relaying::with(&outbox, SqlxPostgres::new(pool.clone()), &queues);
    assert_eq!(bodies(&*mail_queue(&queues).await, 1).await, ["mail"]);
    let few = queues.bounded("few", 2).open::<String>().await.unwrap();
    let arrived = bodies(&**few.queue(), 5).await;
    assert_eq!(arrived, ["1", "2", "3", "4", "5"]);
    assert_eq!(relaying.end().await.relayed, 6);
}

#[tokio::test]
async fn no_relay_overtakes_an_earlier_row_of_the_same_transaction() {
    let (_, pool) = postgres().await;
    let outbox = mails();
    push(&pool, &outbox, "mails", &["1", "2", "3"]).await;
    push(&pool, &outbox, "mails", &["another"]).await;
    let store = SqlxPostgres::new(pool);
    let wish = |rows| Wish {
        queues: vec!["mails".to_owned()],
        from: 0,
        rows,
        bytes: 1 << 20,
    };
    let first = store.take(&wish(2)).await.unwrap();
    assert!(first.rows().iter().all(|row| !row.behind));
    let second = store.take(&wish(10)).await.unwrap();
    let behind: Vec<bool> = second.rows().iter().map(|row| row.behind).collect();
    assert_eq!(behind, [true, false]);
    second.settle(&[], &[]).await.unwrap();
    let ids: Vec<i64> = first.rows().iter().map(|row| row.id).collect();
    first.settle(&ids, &[]).await.unwrap();
    let third = store.take(&wish(10)).await.unwrap();
    assert_eq!(third.rows().len(), 2);
    assert!(third.rows().iter().all(|row| !row.behind));
}

#[tokio::test]
async fn several_relays_share_the_work_and_keep_the_order_of_each_transaction() {
    const TRANSACTIONS: u32 = 60;
    const ROWS: u32 = 7;
    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    for transaction in 0..TRANSACTIONS {
        let mut tx = pool.begin().await.unwrap();
        let rows = (0..ROWS).map(|row| Push::new(format!("{transaction} {row}")));
        outbox.push_many(&mut *tx, "mails", rows).await.unwrap();
        tx.commit().await.unwrap();
    }
    let relays: Vec<Relaying> = (0..4)
        .map(|_| {
            let relay = Relay::new(&outbox, SqlxPostgres::new(pool.clone()), queues.clone());
            Relaying::start(relay.rows(10))
        })
        .collect();
    let mut next = vec![0; TRANSACTIONS as usize];
    for body in bodies(&*mail_queue(&queues).await, (TRANSACTIONS * ROWS) as usize).await {
        let text = String::from_utf8(body.to_vec()).unwrap();
        let (transaction, row) = text.split_once(' ').unwrap();
        let next = &mut next[transaction.parse::<usize>().unwrap()];
        assert_eq!(row.parse::<u32>().unwrap(), *next, "{text}");
        *next += 1;
    }
    let mut relayed = 0;
    for relay in relays {
        relayed += relay.end().await.relayed;
    }
    assert_eq!(relayed, u64::from(TRANSACTIONS * ROWS), "each row once");
}

#[tokio::test]
async fn a_late_commit_with_a_lower_id_is_not_skipped() {
    let (_, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    let relaying = Relaying::with(&outbox, SqlxPostgres::new(pool.clone()), &queues);
    let mails = mail_queue(&queues).await;
    let mut late = pool.begin().await.unwrap();
    outbox
        .push(&mut *late, "mails", Plain("late"))
        .await
        .unwrap();
    // The relay looks where its scan may begin, each second.
    for round in 0..3 {
        push(&pool, &outbox, "mails", &["early"]).await;
        assert_eq!(bodies(&*mails, 1).await, ["early"], "round {round}");
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    late.commit().await.unwrap();
    assert_eq!(bodies(&*mails, 1).await, ["\"late\""]);
    relaying.end().await;
}

/// Deleted rows stay as long as a reader might see them. The relay passes over them once, and not at each poll.
#[tokio::test]
async fn dead_rows_of_an_open_reader_do_not_slow_the_relay_down() {
    const ROWS: i64 = 5_000;
    let (database, pool) = postgres().await;
    let (outbox, queues) = (mails(), in_memory());
    let mut reader = pool.begin().await.unwrap();
    sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        .execute(&mut *reader)
        .await
        .unwrap();
    let count = "SELECT count(*) FROM queue_outbox";
    assert_eq!(
        sqlx::query_scalar::<_, i64>(count)
            .fetch_one(&mut *reader)
            .await
            .unwrap(),
        0
    );
    let mut tx = pool.begin().await.unwrap();
    let rows = (0..ROWS).map(|row| Push::new(row.to_string()));
    outbox.push_many(&mut *tx, "mails", rows).await.unwrap();
    tx.commit().await.unwrap();
    let relaying = Relaying::with(&outbox, SqlxPostgres::new(pool.clone()), &queues);
    until("all rows are gone", async || {
        scalar(&pool, count).await == 0
    })
    .await;
    let read = async || {
        let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'queue_outbox_pkey'";
        server()
            .psql(&database, read)
            .unwrap()
            .parse::<i64>()
            .unwrap()
    };
    until(
        "a second of polls reads less than the dead rows",
        async || {
            let before = read().await;
            push(&pool, &outbox, "mails", &["another"]).await;
            // Statistics of a connection come with a delay of up to a second.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            read().await - before < ROWS / 2
        },
    )
    .await;
    drop(reader);
    relaying.end().await;
}

#[tokio::test]
async fn missing_tables_and_other_versions_are_errors_that_name_the_way_out() {
    let database = server().database().unwrap();
    let pool = PgPool::connect_with(options(&database)).await.unwrap();
    let (outbox, queues) = (mails(), in_memory());
    let relay = || Relay::new(&outbox, SqlxPostgres::new(pool.clone()), queues.clone());
    let missing = relay().run_until(std::future::pending()).await.unwrap_err();
    assert!(missing.to_string().contains("`migrate()`"), "{missing}");
    let mut tx = pool.begin().await.unwrap();
    let missing = outbox.push(&mut *tx, "mails", Plain("")).await.unwrap_err();
    assert!(missing.to_string().contains("`migrate()`"), "{missing}");
    drop(tx);
    SqlxPostgres::new(pool.clone()).migrate().await.unwrap();
    sqlx::query("UPDATE queue_sql SET version = 2")
        .execute(&pool)
        .await
        .unwrap();
    let newer = relay().run_until(std::future::pending()).await.unwrap_err();
    assert!(newer.to_string().contains("newer queue-sql"), "{newer}");
}

#[tokio::test]
async fn a_shutdown_ends_a_relay_that_waits() {
    let (_, pool) = postgres().await;
    let relay = Relay::new(&mails(), SqlxPostgres::new(pool), in_memory());
    let report = soon(relay.run_until(std::future::ready(()))).await.unwrap();
    assert_eq!(report.relayed, 0);
}
