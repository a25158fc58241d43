//! Each role with the rights that docs/sql.md lists, and no more.

use queue_core::{Once, OnceRun, Push};
use queue_sql::{Inbox, InboxKey, OnceKeys, SqlxPostgres, Store};
use sqlx::{PgPool, postgres::PgPoolOptions};

use super::support::*;

/// The statements of the page, for these roles.
fn grants() -> String {
    let page = include_str!("../../../docs/sql.md");
    let blocks = page.split("```sql").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let grants: String = blocks.filter(|text| text.contains("GRANT")).collect();
    assert!(!grants.is_empty(), "the page has the statements");
    grants
}

async fn pool_as(role: &'static str, database: &str) -> PgPool {
    let pool = PgPoolOptions::new().max_connections(3);
    pool.connect_with(options(database).username(role))
        .await
        .unwrap()
}

#[tokio::test]
async fn the_rights_of_the_page_are_enough_and_not_too_many() {
    let (database, _) = postgres().await;
    for role in ["ops", "relay", "shop", "worker"] {
        server()
            .psql(&database, &format!("CREATE ROLE {role} LOGIN"))
            .unwrap();
    }
    server().psql(&database, &grants()).unwrap();
    let (outbox, queues, inbox) = (mails(), in_memory(), Inbox::new());
    let shop = pool_as("shop", &database).await;
    let mut tx = shop.begin().await.unwrap();
    outbox
        .push(&mut *tx, "mails", Push::new("a"))
        .await
        .unwrap();
    outbox
        .push_many(&mut *tx, "mails", ["b", "c"].map(Push::new))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let refused = sqlx::query("SELECT body FROM queue_outbox")
        .execute(&shop)
        .await;
    assert!(refused.is_err(), "a producer cannot read rows");

    let relay = pool_as("relay", &database).await;
    sqlx::query("INSERT INTO queue_outbox (queue, body) VALUES ('mails', 'x')")
        .execute(&relay)
        .await
        .expect_err("a relay cannot push");
    let strict =
        queue_core::QueueConfig::from(queue_core::ReliableConfig::default()).with_max_body(1);
    let strict = queue_sql::Outbox::new().queue("mails", strict).unwrap();
    let mut tx = shop.begin().await.unwrap();
    outbox
        .push(&mut *tx, "mails", Push::new("too large"))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let relaying = Relaying::with(&strict, SqlxPostgres::new(relay.clone()), &queues);
    relaying.says("listening true").await;
    bodies(&*mail_queue(&queues).await, 3).await;
    relaying.says("refused").await;
    relaying.end().await;

    let ops = SqlxPostgres::new(pool_as("ops", &database).await);
    assert_eq!(ops.counts().await.unwrap()[0].refused, 1);
    assert_eq!(ops.retry(None).await.unwrap().len(), 1);

    let worker = pool_as("worker", &database).await;
    let mut tx = worker.begin().await.unwrap();
    assert!(
        inbox
            .first(&mut *tx, InboxKey::new("mails", "1"))
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    let keys = OnceKeys::new(SqlxPostgres::new(worker.clone()), "charges").unwrap();
    let once = Once::new(std::sync::Arc::new(keys));
    let ran = once
        .run("1", async |_| Ok::<_, queue_core::Error>(()))
        .await;
    assert!(matches!(ran, Ok(OnceRun::Ran(()))), "{ran:?}");
    assert_eq!(once.store().counts().await.unwrap().done, 1);
    let mut tx = worker.begin().await.unwrap();
    let error = outbox
        .push(&mut *tx, "mails", Push::new(""))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("docs/sql.md"), "{error}");
    assert_eq!(
        inbox
            .keep(std::time::Duration::ZERO)
            .sweep(&SqlxPostgres::new(relay))
            .await
            .unwrap(),
        1
    );
}
