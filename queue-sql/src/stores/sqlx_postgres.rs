//! Postgres by sqlx.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{Error, Result};
use sqlx::{
    Executor, PgConnection, PgPool, Postgres, Row,
    postgres::{PgListener, PgPoolOptions, PgRow},
};

use super::{
    error::{check_version, from_state, unavailable},
    postgres as sql,
};
use crate::{
    Inserting, Listener, NewRow, OutboxRow, POSTGRES_MIGRATIONS, Seen, Statement, Store, Taken,
    Transaction, Value, Wish,
    statement::{INSERT, INSERT_AND_NOTIFY, MARK},
};

/// A Postgres that sqlx reaches, for relays and sweeps.
///
/// A relay needs one connection of the pool in each round, and opens one more, with the pool's settings, for wake-ups.
/// No statement that it prepares outlives its transaction, so the pool may lead to a pooler in transaction mode.
#[derive(Debug, Clone)]
pub struct SqlxPostgres {
    pool: PgPool,
}

impl SqlxPostgres {
    /// Uses this pool.
    pub const fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Creates the tables, or brings them to this version. Two programs may call it at once, and again at each start.
    ///
    /// # Errors
    ///
    /// `Configuration` if the tables have a newer version, or the role may not create tables; the database's.
    pub async fn migrate(&self) -> Result<()> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        sqlx::query(sql::MIGRATION_LOCK)
            .persistent(false)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
        for (_, text) in POSTGRES_MIGRATIONS {
            // In this order, since a future of `raw_sql` is not `Send` for every lifetime.
            tx.execute(text).await.map_err(failed)?;
        }
        version(&mut tx).await?;
        tx.commit().await.map_err(failed)
    }
}

/// Checks the version, and returns the name of the outbox.
async fn version(connection: &mut PgConnection) -> Result<String> {
    let row = sqlx::query(sql::VERSION)
        .persistent(false)
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    check_version(row.try_get(0).map_err(failed)?)?;
    row.try_get(1).map_err(failed)
}

#[async_trait]
impl Transaction for PgConnection {
    async fn insert(&mut self, rows: &[NewRow], how: Inserting) -> Result<()> {
        let inserted = if let [row] = rows {
            let insert = sqlx::query(if how.notify {
                INSERT_AND_NOTIFY
            } else {
                INSERT
            });
            let insert = insert
                .persistent(how.prepared)
                .bind(&row.queue)
                .bind(&row.options);
            let insert = insert.bind(&row.headers).bind(&row.body[..]);
            insert.execute(self).await
        } else {
            let (mut queues, mut options) = (Vec::new(), Vec::new());
            let (mut headers, mut bodies) = (Vec::new(), Vec::new());
            for row in rows {
                queues.push(row.queue.as_str());
                options.push(row.options.as_deref());
                headers.push(row.headers.as_deref());
                bodies.push(&row.body[..]);
            }
            let insert = sqlx::query(match how.notify {
                true => sql::INSERT_MANY_AND_NOTIFY,
                false => sql::INSERT_MANY,
            });
            let insert = insert.persistent(how.prepared).bind(queues).bind(options);
            insert.bind(headers).bind(bodies).execute(self).await
        };
        inserted.map(drop).map_err(failed)
    }

    async fn mark(&mut self, queue: &str, key: &[u8]) -> Result<bool> {
        let mark = sqlx::query(MARK).persistent(false).bind(queue).bind(key);
        let marked = mark.execute(self).await.map_err(failed)?;
        Ok(marked.rows_affected() == 1)
    }
}

#[async_trait]
impl Store for SqlxPostgres {
    async fn outbox(&self) -> Result<String> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        version(&mut tx).await
    }

    async fn take(&self, wish: &Wish) -> Result<Box<dyn Taken>> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let take = sqlx::query(sql::TAKE).persistent(false);
        let take = take.bind(&wish.queues).bind(wish.from);
        let bytes = i64::try_from(wish.bytes).unwrap_or(i64::MAX);
        let take = take.bind(i64::from(wish.rows)).bind(bytes);
        let rows = take.fetch_all(&mut *tx).await.map_err(failed)?;
        let rows = rows.iter().map(read).collect::<Result<_, _>>();
        let rows = rows.map_err(failed)?;
        Ok(Box::new(PgTaken { tx, rows }))
    }

    async fn look(&self, queues: &[String], from: i64) -> Result<Option<Seen>> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let look = sqlx::query(sql::LOOK).persistent(false);
        let look = look.bind(queues).bind(from);
        let row = look.fetch_one(&mut *tx).await.map_err(failed)?;
        let seen = || {
            Ok::<_, sqlx::Error>(Seen {
                least: row.try_get(0)?,
                last: row.try_get(1)?,
                running: row.try_get::<i64, _>(2)?.cast_unsigned(),
                next: row.try_get::<i64, _>(3)?.cast_unsigned(),
            })
        };
        seen().map(Some).map_err(failed)
    }

    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        // Of its own, because a pool of one connection has none to spare.
        let options = (*self.pool.connect_options()).clone();
        let pool = PgPoolOptions::new().max_connections(1);
        let pool = pool.connect_lazy_with(options);
        let mut held = pool.acquire().await.map_err(failed)?;
        for _ in 0..sql::COMPARISONS {
            let mut tx = sqlx::Connection::begin(&mut *held).await.map_err(failed)?;
            let listening = process(&mut tx).await?;
            tx.commit().await.map_err(failed)?;
            let mut tx = self.pool.begin().await.map_err(failed)?;
            if process(&mut tx).await? == listening {
                return Ok(None);
            }
        }
        drop(held);
        let mut listener = PgListener::connect_with(&pool).await.map_err(failed)?;
        listener.listen(sql::CHANNEL).await.map_err(failed)?;
        Ok(Some(Box::new(PgWakeUps(listener))))
    }

    async fn notify(&self, text: &str) -> Result<()> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let notify = sqlx::query(sql::NOTIFY).persistent(false).bind(text);
        notify.execute(&mut *tx).await.map_err(failed)?;
        tx.commit().await.map_err(failed)
    }

    async fn run(&self, statement: &Statement) -> Result<Vec<Vec<Option<String>>>> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let mut query = sqlx::query(statement.postgres).persistent(false);
        for value in &statement.values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Bytes(bytes) => query.bind(&bytes[..]),
            };
        }
        let rows = query.fetch_all(&mut *tx).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        let cells = |row: &PgRow| (0..row.len()).map(|at| row.try_get(at)).collect();
        let rows = rows.iter().map(cells).collect::<Result<_, _>>();
        rows.map_err(failed)
    }

    async fn sweep(&self, keep: Duration, most: u32) -> Result<u64> {
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let sweep = sqlx::query(sql::SWEEP).persistent(false);
        let sweep = sweep.bind(keep.as_secs_f64() * 1e3).bind(i64::from(most));
        let swept = sweep.execute(&mut *tx).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(swept.rows_affected())
    }
}

/// Rows, and the transaction that locks them. Dropped, it rolls back.
struct PgTaken {
    tx: sqlx::Transaction<'static, Postgres>,
    rows: Vec<OutboxRow>,
}

#[async_trait]
impl Taken for PgTaken {
    fn rows(&self) -> &[OutboxRow] {
        &self.rows
    }

    async fn settle(mut self: Box<Self>, delete: &[i64], refuse: &[(i64, String)]) -> Result<()> {
        let tx = &mut self.tx;
        if !delete.is_empty() {
            let delete = sqlx::query(sql::DELETE).persistent(false).bind(delete);
            delete.execute(&mut **tx).await.map_err(failed)?;
        }
        if !refuse.is_empty() {
            let ids: Vec<i64> = refuse.iter().map(|(id, _)| *id).collect();
            let reasons: Vec<&str> = refuse.iter().map(|(_, reason)| reason.as_str()).collect();
            let refuse = sqlx::query(sql::REFUSE).persistent(false);
            let refuse = refuse.bind(ids).bind(reasons);
            refuse.execute(&mut **tx).await.map_err(failed)?;
        }
        self.tx.commit().await.map_err(failed)
    }
}

async fn process(connection: &mut PgConnection) -> Result<i32> {
    let process = sqlx::query_scalar(sql::PROCESS).persistent(false);
    process.fetch_one(connection).await.map_err(failed)
}

struct PgWakeUps(PgListener);

#[async_trait]
impl Listener for PgWakeUps {
    async fn next(&mut self) -> Result<Vec<String>> {
        // `None` is a connection that was lost: the relay tests the next one.
        let Some(first) = self.0.try_recv().await.map_err(failed)? else {
            return Err(unavailable("the connection for wake-ups was lost"));
        };
        let mut texts = vec![first.payload().to_owned()];
        while let Some(next) = self.0.next_buffered() {
            texts.push(next.payload().to_owned());
        }
        Ok(texts)
    }
}

fn read(row: &PgRow) -> Result<OutboxRow, sqlx::Error> {
    let age: i64 = row.try_get(2)?;
    Ok(OutboxRow {
        id: row.try_get(0)?,
        created: row.try_get(1)?,
        age: Duration::from_millis(u64::try_from(age).unwrap_or(0)),
        queue: row.try_get(3)?,
        options: row.try_get(4)?,
        headers: row.try_get(5)?,
        body: row.try_get::<Vec<u8>, _>(6)?.into(),
        behind: row.try_get(7)?,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives a value")]
fn failed(error: sqlx::Error) -> Error {
    match &error {
        sqlx::Error::Database(database) => {
            from_state(&database.code().unwrap_or_default(), database.message())
        }
        _ => unavailable(&error.to_string()),
    }
}
