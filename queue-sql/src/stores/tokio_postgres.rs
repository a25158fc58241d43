//! Postgres by tokio-postgres.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ::tokio_postgres::{
    AsyncMessage, Client, Config, Row, Socket, Transaction as PgTransaction,
    tls::MakeTlsConnect,
    types::{ToSql, Type},
};
use async_trait::async_trait;
use queue_core::{Error, Result};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{
    error::{check_version, from_state, unavailable},
    postgres as sql,
};
use crate::{
    Inserting, Listener, NewRow, OutboxRow, POSTGRES_MIGRATIONS, Seen, Statement, Store, Taken,
    Transaction, Value, Wish,
    statement::{INSERT, INSERT_AND_NOTIFY, MARK},
};

type Connecting =
    std::pin::Pin<Box<dyn Future<Output = Result<(Client, UnboundedReceiver<String>)>> + Send>>;

/// A Postgres that tokio-postgres reaches, for relays and sweeps.
///
/// It opens a connection for each round at work, keeps it for the next one, and one more for wake-ups. It prepares no
/// statements, so the configuration may lead to a pooler in transaction mode.
#[derive(Clone)]
pub struct TokioPostgres {
    connect: Arc<dyn Fn() -> Connecting + Send + Sync>,
    idle: Arc<Mutex<Option<Client>>>,
}

impl fmt::Debug for TokioPostgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokioPostgres").finish_non_exhaustive()
    }
}

type Values<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl TokioPostgres {
    /// Connects by this configuration and TLS (`NoTls` for none), when there is something to do.
    pub fn new<T>(config: Config, tls: T) -> Self
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
        <T::TlsConnect as ::tokio_postgres::tls::TlsConnect<Socket>>::Future: Send,
    {
        let connect = move || -> Connecting {
            let (config, tls) = (config.clone(), tls.clone());
            Box::pin(async move {
                let (client, mut connection) = config.connect(tls).await.map_err(failed)?;
                let (heard, hears) = unbounded_channel();
                tokio::spawn(async move {
                    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                        if let AsyncMessage::Notification(wake_up) = message {
                            // Nobody listens on a connection for rounds.
                            let _ = heard.send(wake_up.payload().to_owned());
                        }
                    }
                });
                Ok((client, hears))
            })
        };
        Self {
            connect: Arc::new(connect),
            idle: Arc::default(),
        }
    }

    /// Creates the tables, or brings them to this version. Two programs may call it at once, and again at each start.
    ///
    /// # Errors
    ///
    /// `Configuration` if the tables have a newer version, or the role may not create tables; the database's.
    pub async fn migrate(&self) -> Result<()> {
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        query(&tx, sql::MIGRATION_LOCK, &[]).await?;
        for (_, text) in POSTGRES_MIGRATIONS {
            tx.batch_execute(text).await.map_err(failed)?;
        }
        version(&tx).await?;
        tx.commit().await.map_err(failed)?;
        self.keep(client);
        Ok(())
    }

    async fn client(&self) -> Result<Client> {
        let idle = self.lock().take();
        match idle.filter(|client| !client.is_closed()) {
            Some(client) => Ok(client),
            None => Ok((self.connect)().await?.0),
        }
    }

    /// Keeps a connection without a transaction for the next call.
    fn keep(&self, client: Client) {
        *self.lock() = Some(client);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one statement in a transaction of its own.
    async fn once(&self, text: &str, values: Values<'_>) -> Result<Vec<Row>> {
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let rows = query(&tx, text, values).await?;
        tx.commit().await.map_err(failed)?;
        self.keep(client);
        Ok(rows)
    }
}

async fn query(tx: &PgTransaction<'_>, text: &str, values: Values<'_>) -> Result<Vec<Row>> {
    tx.query_typed(text, values).await.map_err(failed)
}

/// Checks the version, and returns the name of the outbox.
async fn version(tx: &PgTransaction<'_>) -> Result<String> {
    let rows = query(tx, sql::VERSION, &[]).await?;
    named(&rows)
}

fn named(rows: &[Row]) -> Result<String> {
    let row = rows.first().ok_or_else(Error::unanswered)?;
    check_version(row.try_get(0).map_err(failed)?)?;
    row.try_get(1).map_err(failed)
}

#[async_trait]
impl Transaction for PgTransaction<'_> {
    async fn insert(&mut self, rows: &[NewRow], how: Inserting) -> Result<()> {
        if let [row] = rows {
            let text = if how.notify {
                INSERT_AND_NOTIFY
            } else {
                INSERT
            };
            let body = &row.body[..];
            let values: Values<'_> = &[
                (&row.queue, Type::TEXT),
                (&row.options, Type::TEXT),
                (&row.headers, Type::TEXT),
                (&body, Type::BYTEA),
            ];
            return query(self, text, values).await.map(drop);
        }
        let queues: Vec<&str> = rows.iter().map(|row| row.queue.as_str()).collect();
        let options: Vec<Option<&str>> = rows.iter().map(|row| row.options.as_deref()).collect();
        let headers: Vec<Option<&str>> = rows.iter().map(|row| row.headers.as_deref()).collect();
        let bodies: Vec<&[u8]> = rows.iter().map(|row| &row.body[..]).collect();
        let values: Values<'_> = &[
            (&queues, Type::TEXT_ARRAY),
            (&options, Type::TEXT_ARRAY),
            (&headers, Type::TEXT_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
        ];
        let text = match how.notify {
            true => sql::INSERT_MANY_AND_NOTIFY,
            false => sql::INSERT_MANY,
        };
        query(self, text, values).await.map(drop)
    }

    async fn mark(&mut self, queue: &str, key: &[u8]) -> Result<bool> {
        let values: Values<'_> = &[(&queue, Type::TEXT), (&key, Type::BYTEA)];
        let marked = self.execute_typed(MARK, values).await.map_err(failed)?;
        Ok(marked == 1)
    }
}

#[async_trait]
impl Store for TokioPostgres {
    async fn outbox(&self) -> Result<String> {
        named(&self.once(sql::VERSION, &[]).await?)
    }

    async fn take(&self, wish: &Wish) -> Result<Box<dyn Taken>> {
        let client = self.client().await?;
        client.batch_execute("BEGIN").await.map_err(failed)?;
        let bytes = i64::try_from(wish.bytes).unwrap_or(i64::MAX);
        let most = i64::from(wish.rows);
        let values: Values<'_> = &[
            (&wish.queues, Type::TEXT_ARRAY),
            (&wish.from, Type::INT8),
            (&most, Type::INT8),
            (&bytes, Type::INT8),
        ];
        let rows = client.query_typed(sql::TAKE, values).await;
        let rows = rows.map_err(failed)?;
        let rows = rows.iter().map(read).collect::<Result<_, _>>();
        Ok(Box::new(PgTaken {
            rows: rows.map_err(failed)?,
            store: self.clone(),
            client,
        }))
    }

    async fn look(&self, queues: &[String], from: i64) -> Result<Option<Seen>> {
        let values: Values<'_> = &[(&queues, Type::TEXT_ARRAY), (&from, Type::INT8)];
        let rows = self.once(sql::LOOK, values).await?;
        let row = rows.first().ok_or_else(Error::unanswered)?;
        let seen = || {
            Ok(Seen {
                least: row.try_get(0)?,
                last: row.try_get(1)?,
                running: row.try_get::<_, i64>(2)?.cast_unsigned(),
                next: row.try_get::<_, i64>(3)?.cast_unsigned(),
            })
        };
        seen().map(Some).map_err(failed)
    }

    async fn listen(&self) -> Result<Option<Box<dyn Listener>>> {
        let (client, hears) = (self.connect)().await?;
        for _ in 0..sql::COMPARISONS {
            let listening = client.query_typed(sql::PROCESS, &[]).await;
            let other = self.once(sql::PROCESS, &[]).await?;
            let process = |rows: &[Row]| rows.first().map(|row| row.get::<_, i32>(0));
            if process(&listening.map_err(failed)?) == process(&other) {
                return Ok(None);
            }
        }
        let listen = format!("LISTEN {}", sql::CHANNEL);
        client.batch_execute(&listen).await.map_err(failed)?;
        Ok(Some(Box::new(WakeUps {
            hears,
            _client: client,
        })))
    }

    async fn notify(&self, text: &str) -> Result<()> {
        self.once(sql::NOTIFY, &[(&text, Type::TEXT)]).await?;
        Ok(())
    }

    async fn run(&self, statement: &Statement) -> Result<Vec<Vec<Option<String>>>> {
        let bytes = statement.values.iter().map(|value| match value {
            Value::Bytes(bytes) => &bytes[..],
            Value::Text(_) => &[],
        });
        let bytes: Vec<&[u8]> = bytes.collect();
        let values = statement.values.iter().zip(&bytes);
        let values: Vec<(&(dyn ToSql + Sync), Type)> = values
            .map(|(value, bytes)| match value {
                Value::Text(text) => (text as &(dyn ToSql + Sync), Type::TEXT),
                Value::Bytes(_) => (bytes as &(dyn ToSql + Sync), Type::BYTEA),
            })
            .collect();
        let rows = self.once(statement.postgres, &values).await?;
        let cells = |row: &Row| (0..row.len()).map(|at| row.try_get(at)).collect();
        let rows = rows.iter().map(cells).collect::<Result<_, _>>();
        rows.map_err(failed)
    }

    async fn sweep(&self, keep: Duration, most: u32) -> Result<u64> {
        let (keep, most) = (keep.as_secs_f64() * 1e3, i64::from(most));
        let mut client = self.client().await?;
        let tx = client.transaction().await.map_err(failed)?;
        let values: Values<'_> = &[(&keep, Type::FLOAT8), (&most, Type::INT8)];
        let swept = tx.execute_typed(sql::SWEEP, values).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        self.keep(client);
        Ok(swept)
    }
}

/// Rows, and the connection with the transaction that locks them. Dropped, the connection closes, and the server rolls
/// back.
struct PgTaken {
    client: Client,
    store: TokioPostgres,
    rows: Vec<OutboxRow>,
}

#[async_trait]
impl Taken for PgTaken {
    fn rows(&self) -> &[OutboxRow] {
        &self.rows
    }

    async fn settle(self: Box<Self>, delete: &[i64], refuse: &[(i64, String)]) -> Result<()> {
        if !delete.is_empty() {
            let values: Values<'_> = &[(&delete, Type::INT8_ARRAY)];
            let deleted = self.client.execute_typed(sql::DELETE, values).await;
            deleted.map_err(failed)?;
        }
        if !refuse.is_empty() {
            let ids: Vec<i64> = refuse.iter().map(|(id, _)| *id).collect();
            let reasons: Vec<&str> = refuse.iter().map(|(_, reason)| reason.as_str()).collect();
            let values: Values<'_> = &[(&ids, Type::INT8_ARRAY), (&reasons, Type::TEXT_ARRAY)];
            let refused = self.client.execute_typed(sql::REFUSE, values).await;
            refused.map_err(failed)?;
        }
        let committed = self.client.batch_execute("COMMIT").await;
        committed.map_err(failed)?;
        self.store.keep(self.client);
        Ok(())
    }
}

struct WakeUps {
    hears: UnboundedReceiver<String>,
    /// The connection ends with it.
    _client: Client,
}

#[async_trait]
impl Listener for WakeUps {
    async fn next(&mut self) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        match self.hears.recv_many(&mut texts, usize::MAX).await {
            0 => Err(unavailable("the connection for wake-ups was lost")),
            _ => Ok(texts),
        }
    }
}

fn read(row: &Row) -> Result<OutboxRow, ::tokio_postgres::Error> {
    let age: i64 = row.try_get(2)?;
    Ok(OutboxRow {
        id: row.try_get(0)?,
        created: row.try_get(1)?,
        age: Duration::from_millis(u64::try_from(age).unwrap_or(0)),
        queue: row.try_get(3)?,
        options: row.try_get(4)?,
        headers: row.try_get(5)?,
        body: row.try_get::<_, Vec<u8>>(6)?.into(),
        behind: row.try_get(7)?,
    })
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives a value")]
fn failed(error: ::tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(database) => from_state(database.code().code(), database.message()),
        None => unavailable(&queue_core::with_sources(&error)),
    }
}
