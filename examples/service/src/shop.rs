//! Orders in Postgres, each with its mail: both in one transaction. The environment says where the database is
//! (`DATABASE_URL`); without it there is no shop.

use std::{env, error::Error, time::Duration};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::put,
};
use queue_kit::{
    Context, Failure, Queues, ReliableConfig, Worker,
    sql::{
        Inbox, Outbox, Plain, Relay, SqlxPostgres,
        sqlx::{self, PgPool},
    },
};

/// The queue of mails that confirm orders.
const CONFIRMATIONS: &str = "confirmations";

#[derive(Clone)]
pub(crate) struct Shop {
    pool: PgPool,
    outbox: Outbox,
}

impl Shop {
    pub(crate) async fn open() -> Result<Option<Self>, Box<dyn Error>> {
        let Ok(url) = env::var("DATABASE_URL") else {
            return Ok(None);
        };
        let pool = PgPool::connect(&url).await?;
        SqlxPostgres::new(pool.clone()).migrate().await?;
        let orders = "CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, mails integer NOT NULL DEFAULT 0)";
        sqlx::query(orders).execute(&pool).await?;
        let outbox = Outbox::new().queue(CONFIRMATIONS, ReliableConfig::default())?;
        Ok(Some(Self { pool, outbox }))
    }

    /// The order and its mail commit together. A client that missed the answer may ask again.
    async fn place(&self, order: i64) -> Result<(), Failure> {
        let mut tx = self.pool.begin().await?;
        let insert = sqlx::query("INSERT INTO orders (id) VALUES ($1) ON CONFLICT DO NOTHING");
        if insert.bind(order).execute(&mut *tx).await?.rows_affected() == 1 {
            let mail = self.outbox.push(&mut *tx, CONFIRMATIONS, Plain(&order));
            mail.await?;
        }
        Ok(tx.commit().await?)
    }

    /// The effect and its mark commit together, so a mail counts once, however often it is delivered.
    async fn confirm(&self, order: i64, cx: &Context) -> Result<(), Failure> {
        let mut tx = self.pool.begin().await?;
        if Inbox::new().first(&mut *tx, cx).await? {
            let sent = sqlx::query("UPDATE orders SET mails = mails + 1 WHERE id = $1");
            sent.bind(order).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }
}

pub(crate) fn endpoints(shop: Option<Shop>) -> Router {
    let Some(shop) = shop else {
        return Router::new();
    };
    let place = put(async |State(shop): State<Shop>, Path(order): Path<i64>| {
        match shop.place(order).await {
            Ok(()) => (StatusCode::OK, "accepted".to_owned()),
            Err(failure) => (StatusCode::SERVICE_UNAVAILABLE, failure.reason().to_owned()),
        }
    });
    Router::new().route("/shop/{order}", place).with_state(shop)
}

/// Relays the outbox and confirms the orders, each until its shutdown.
pub(crate) async fn run(
    shop: Option<Shop>,
    queues: Queues,
    [first, second]: [impl Future<Output = ()> + Send; 2],
) -> queue_kit::Result<()> {
    let Some(shop) = shop else { return Ok(()) };
    let relay = Relay::new(
        &shop.outbox,
        SqlxPostgres::new(shop.pool.clone()),
        queues.clone(),
    );
    let mails = queues.reliable(CONFIRMATIONS).open::<i64>().await?;
    let worker = Worker::new(mails)
        .concurrency(8)
        .lease(Duration::from_secs(5));
    let confirm = move |order: i64, cx: Context| {
        let shop = shop.clone();
        async move { shop.confirm(order, &cx).await }
    };
    tokio::try_join!(
        relay.sweep(Inbox::new()).run_until(first),
        worker.run_until(second, confirm),
    )?;
    Ok(())
}
