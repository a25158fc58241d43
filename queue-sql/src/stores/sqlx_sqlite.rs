//! SQLite by sqlx.

use std::time::Duration;

use async_trait::async_trait;
use queue_core::{Error, Result};
use sqlx::{Executor, Row, SqliteConnection, SqlitePool, sqlite::SqliteRow};

use super::error::{check_version, missing, unavailable};
use crate::{
    Inserting, NewRow, OutboxRow, SQLITE_MIGRATIONS, Statement, Store, Taken, Transaction, Value,
    Wish,
    statement::{INSERT, MARK},
};

const VERSION: &str = "SELECT version, outbox FROM queue_sql";

/// `$1` queues as JSON, `$2` the first id, `$3` rows, `$4` bytes.
const TAKE: &str = "
    WITH next AS (
        SELECT *, sum(length(body) + coalesce(length(headers), 0)) OVER (ORDER BY id) AS bytes FROM (
            SELECT * FROM queue_outbox
            WHERE id >= $2 AND refused IS NULL AND queue IN (SELECT value FROM json_each($1)) ORDER BY id LIMIT $3)
    )
    SELECT id, created, CAST(unixepoch('subsec') * 1000 AS integer) - created / 1000, queue, options, headers, body
    FROM next WHERE bytes <= $4 OR id = (SELECT min(id) FROM next) ORDER BY id";

/// `$1`: ids as JSON.
const DELETE: &str = "DELETE FROM queue_outbox WHERE id IN (SELECT value FROM json_each($1))";
const REFUSE: &str = "UPDATE queue_outbox SET refused = $2 WHERE id = $1";

/// `$1` milliseconds, `$2` rows.
const SWEEP: &str = "DELETE FROM queue_inbox WHERE (queue, key) IN (
    SELECT queue, key FROM queue_inbox WHERE done / 1000 < unixepoch('subsec') * 1000 - $1 ORDER BY done LIMIT $2)";

/// A SQLite that sqlx reaches, for relays and sweeps.
///
/// A relay locks nothing while it pushes: only one transaction can write to SQLite at a time, and producers come first.
/// One relay is enough. Several are correct and do each other's work again.
///
/// SQLite has no wake-ups: call [`Waker::wake`](crate::Waker::wake) after a commit, or let the relay poll, 50 ms to 1 s.
#[derive(Debug, Clone)]
pub struct SqlxSqlite {
    pool: SqlitePool,
}

impl SqlxSqlite {
    /// Uses this pool.
    pub const fn new(pool: SqlitePool) -> Self {
        Self { pool }
    }

    /// Creates the tables, or brings them to this version. Two programs may call it at once, and again at each start.
    ///
    /// # Errors
    ///
    /// `Configuration` if the tables have a newer version; the database's.
    pub async fn migrate(&self) -> Result<()> {
        // It reads before it writes, so another writer in between would be an error.
        let tx = self.pool.begin_with("BEGIN IMMEDIATE").await;
        let mut tx = tx.map_err(failed)?;
        for (_, text) in SQLITE_MIGRATIONS {
            // In this order, since a future of `raw_sql` is not `Send` for every lifetime.
            tx.execute(text).await.map_err(failed)?;
        }
        version(&mut tx).await?;
        tx.commit().await.map_err(failed)
    }
}

/// Checks the version, and returns the name of the outbox.
async fn version(connection: &mut SqliteConnection) -> Result<String> {
    let row = sqlx::query(VERSION).fetch_one(connection).await;
    let row = row.map_err(failed)?;
    check_version(row.try_get(0).map_err(failed)?)?;
    row.try_get(1).map_err(failed)
}

#[async_trait]
impl Transaction for SqliteConnection {
    async fn insert(&mut self, rows: &[NewRow], _: Inserting) -> Result<()> {
        for row in rows {
            let insert = sqlx::query(INSERT).bind(&row.queue).bind(&row.options);
            let insert = insert.bind(&row.headers).bind(&row.body[..]);
            insert.execute(&mut *self).await.map_err(failed)?;
        }
        Ok(())
    }

    async fn mark(&mut self, queue: &str, key: &[u8]) -> Result<bool> {
        let mark = sqlx::query(MARK).bind(queue).bind(key);
        let marked = mark.execute(self).await.map_err(failed)?;
        Ok(marked.rows_affected() == 1)
    }
}

#[async_trait]
impl Store for SqlxSqlite {
    async fn outbox(&self) -> Result<String> {
        let mut connection = self.pool.acquire().await.map_err(failed)?;
        version(&mut connection).await
    }

    async fn take(&self, wish: &Wish) -> Result<Box<dyn Taken>> {
        let queues = json(&wish.queues);
        let take = sqlx::query(TAKE).bind(queues).bind(wish.from);
        let bytes = i64::try_from(wish.bytes).unwrap_or(i64::MAX);
        let take = take.bind(wish.rows).bind(bytes);
        let rows = take.fetch_all(&self.pool).await.map_err(failed)?;
        let rows = rows.iter().map(read).collect::<Result<_, _>>();
        Ok(Box::new(SqliteTaken {
            pool: self.pool.clone(),
            rows: rows.map_err(failed)?,
        }))
    }

    async fn run(&self, statement: &Statement) -> Result<Vec<Vec<Option<String>>>> {
        // If its statements write, the first one does. `begin_with` would leave a transaction open if it were dropped.
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let mut query = sqlx::query(statement.sqlite);
        for value in &statement.values {
            query = match value {
                Value::Text(text) => query.bind(text),
                Value::Bytes(bytes) => query.bind(&bytes[..]),
            };
        }
        let rows = query.fetch_all(&mut *tx).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        let cells = |row: &SqliteRow| (0..row.len()).map(|at| row.try_get(at)).collect();
        let rows = rows.iter().map(cells).collect::<Result<_, _>>();
        rows.map_err(failed)
    }

    async fn sweep(&self, keep: Duration, most: u32) -> Result<u64> {
        let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let sweep = sqlx::query(SWEEP).bind(keep).bind(most);
        let swept = sweep.execute(&self.pool).await.map_err(failed)?;
        Ok(swept.rows_affected())
    }
}

struct SqliteTaken {
    pool: SqlitePool,
    rows: Vec<OutboxRow>,
}

#[async_trait]
impl Taken for SqliteTaken {
    fn rows(&self) -> &[OutboxRow] {
        &self.rows
    }

    async fn settle(self: Box<Self>, delete: &[i64], refuse: &[(i64, String)]) -> Result<()> {
        if delete.is_empty() && refuse.is_empty() {
            return Ok(());
        }
        // Its first statement writes, so it never waits for a lock that another writer holds back.
        let mut tx = self.pool.begin().await.map_err(failed)?;
        let deletes = sqlx::query(DELETE).bind(json(delete));
        deletes.execute(&mut *tx).await.map_err(failed)?;
        for (id, reason) in refuse {
            let refuse = sqlx::query(REFUSE).bind(id).bind(reason);
            refuse.execute(&mut *tx).await.map_err(failed)?;
        }
        tx.commit().await.map_err(failed)
    }
}

fn json<T: serde::Serialize>(values: &[T]) -> String {
    serde_json::json!(values).to_string()
}

fn read(row: &SqliteRow) -> Result<OutboxRow, sqlx::Error> {
    let age: i64 = row.try_get(2)?;
    Ok(OutboxRow {
        id: row.try_get(0)?,
        created: row.try_get(1)?,
        age: Duration::from_millis(u64::try_from(age).unwrap_or(0)),
        queue: row.try_get(3)?,
        options: row.try_get(4)?,
        headers: row.try_get(5)?,
        body: row.try_get::<Vec<u8>, _>(6)?.into(),
        behind: false,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives a value")]
fn failed(error: sqlx::Error) -> Error {
    let said = error.to_string();
    match said.contains("no such table") || said.contains("no column named") {
        true => missing(&said),
        false => unavailable(&said),
    }
}
