//! The conformance suite's cases of once keys, on each client. Its clock is a table in place of the view `queue_now`; cases
//! that need no exact clock play by the database's own time as well.

use std::{fmt, future::Future, pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_conformance::{Capabilities, Capability, Harness};
use queue_core::*;
use queue_sql::{OnceKeys, SqlxPostgres, SqlxSqlite, TokioPostgres};
use sqlx::{Executor, PgPool, SqlitePool};
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use super::support::*;

#[derive(Debug, Clone)]
enum Client {
    SqlxPostgres(PgPool),
    TokioPostgres(TokioPostgres, PgPool),
    SqlxSqlite(SqlitePool),
}

impl Client {
    async fn run(&self, text: &str) {
        match self {
            Self::SqlxPostgres(pool) | Self::TokioPostgres(_, pool) => {
                pool.execute(text).await.map(drop)
            }
            Self::SqlxSqlite(pool) => pool.execute(text).await.map(drop),
        }
        .unwrap();
    }
}

/// A backend with nothing but once keys.
#[async_trait]
impl Backend for Client {
    async fn open(&self, name: &QueueName, _: &QueueConfig) -> Result<AnyQueue> {
        panic!("{name}: the cases of once keys open no queue")
    }

    async fn queues(
        &self,
        _: Option<&QueueName>,
        _: std::num::NonZeroUsize,
    ) -> Result<Vec<QueueInfo>> {
        Ok(Vec::new())
    }

    async fn open_once(&self, name: &QueueName) -> Result<Arc<dyn OnceStore>> {
        let name = name.as_str();
        Ok(Arc::new(match self.clone() {
            Self::SqlxPostgres(pool) => OnceKeys::new(SqlxPostgres::new(pool), name)?,
            Self::TokioPostgres(store, _) => OnceKeys::new(store, name)?,
            Self::SqlxSqlite(pool) => OnceKeys::new(SqlxSqlite::new(pool), name)?,
        }))
    }
}

type Opens = fn() -> Pin<Box<dyn Future<Output = Client> + Send>>;

struct Database {
    opens: Opens,
    exact: bool,
    client: OnceCell<Client>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "once keys in SQL, exact clock: {}", self.exact)
    }
}

impl Database {
    async fn client(&self) -> &Client {
        let opens = async {
            let client = (self.opens)().await;
            if self.exact {
                let clock = "DROP VIEW queue_now; CREATE TABLE queue_now (now bigint); \
                     INSERT INTO queue_now VALUES (1700000000000)";
                client.run(clock).await;
            }
            match client {
                // Connections that are open know the tables as they were.
                Client::SqlxSqlite(pool) => {
                    let options = (*pool.connect_options()).clone();
                    pool.close().await;
                    Client::SqlxSqlite(SqlitePool::connect_with(options).await.unwrap())
                }
                other => other,
            }
        };
        self.client.get_or_init(|| opens).await
    }
}

#[async_trait]
impl Harness for Database {
    fn capabilities(&self) -> Capabilities {
        let all = match self.exact {
            true => Capabilities::all().without(Capability::VirtualTime),
            false => Capabilities::as_time_passes(),
        };
        all.only([]).without(Capability::Removal)
    }

    async fn connect(&self) -> Arc<dyn Backend> {
        Arc::new(self.client().await.clone())
    }

    async fn advance(&self, by: Duration) {
        match self.exact {
            true => {
                let by = by.as_millis();
                let text = format!("UPDATE queue_now SET now = now + {by}");
                self.client().await.run(&text).await;
            }
            false => tokio::time::sleep(by).await,
        }
    }
}

fn play(opens: Opens) {
    for exact in [true, false] {
        let database = || Database {
            opens,
            exact,
            client: OnceCell::new(),
        };
        let plan = queue_conformance::plan(&database().capabilities());
        let cases = plan
            .played
            .iter()
            .filter(|case| case.name().starts_with("once::"));
        let mut played = 0;
        for case in cases {
            let ending = case.run(&database());
            assert_eq!(ending, queue_conformance::Ending::Played, "{}", case.name());
            played += 1;
        }
        assert!(played >= if exact { 27 } else { 10 }, "{played} cases");
    }
}

#[test]
fn by_sqlx_postgres() {
    play(|| Box::pin(async { Client::SqlxPostgres(postgres().await.1) }));
}

#[test]
fn by_tokio_postgres() {
    play(|| {
        Box::pin(async {
            let (database, pool) = postgres().await;
            Client::TokioPostgres(TokioPostgres::new(config(&database), NoTls), pool)
        })
    });
}

#[test]
fn by_sqlx_sqlite() {
    play(|| Box::pin(async { Client::SqlxSqlite(sqlx_sqlite().await.0) }));
}
