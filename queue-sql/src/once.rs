//! Once keys in the database, for effects that happen outside of it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use queue_core::{Bytes, Claim, Error, OnceCounts, OnceStore, QueueName, Result, Token, limits};

use crate::{Statement, Store, Value};

/// A store of once keys in the database: effects outside of SQL, such as a call of a payment service, each once under
/// its key (O1 to O5).
///
/// An effect in the same database belongs into the transaction of an [`Inbox`](crate::Inbox) mark instead, and then
/// happens exactly once. An effect elsewhere gets what [`OnceStore`]s promise, as with a store on Redis.
///
/// ```
/// # #[cfg(feature = "sqlx-postgres")]
/// # async fn example(pool: sqlx::PgPool) -> queue_core::Result<()> {
/// use std::sync::Arc;
/// use queue_core::{Once, OnceRun};
/// use queue_sql::{OnceKeys, SqlxPostgres};
///
/// let charges = Once::new(Arc::new(OnceKeys::new(SqlxPostgres::new(pool), "charges")?));
/// let ran = charges.run("order-7", |claim| async move {
///     // … ask the payment service, with `claim.token()` for it to check
///     let _ = claim;
///     Ok::<_, queue_core::Error>(())
/// });
/// let _: OnceRun<()> = ran.await?;
/// # Ok(())
/// # }
/// ```
///
/// A verb is one transaction, by the database's clock. The claims of one store take their tokens one after the other, each
/// for the time of a commit. Stores of other names do not wait for them.
#[derive(Debug, Clone)]
pub struct OnceKeys {
    store: Arc<dyn Store>,
    name: QueueName,
}

// The row with the empty key has the last token of its store. `$1` is the store, `$2` the key; times are in ms.

/// `$3` claim_time. Returns 0 and the token, or 1 and the time left, or 2 for a key that is done. Returns nothing if
/// another claim of the key was first since the snapshot: the next try sees it.
///
/// It waits for a call of the key's holder that is under way, also one that was dropped. It reads the time once the store's
/// row is locked, so that is never before the time of the claim before.
const CLAIM: &str = "
    WITH live AS MATERIALIZED (
        SELECT done, ends - now AS rest FROM queue_once, queue_now WHERE store = $1 AND key = $2 AND ends > now
        FOR UPDATE OF queue_once
    ), next AS (
        INSERT INTO queue_once AS o (store, key, token) SELECT $1, ''::bytea, 1000 * now FROM queue_now
        WHERE NOT EXISTS (SELECT FROM live)
        ON CONFLICT (store, key) DO UPDATE SET token = greatest(o.token + 1, 1000 * (SELECT now FROM queue_now))
        RETURNING token, (SELECT now FROM queue_now) AS now
    ), claimed AS (
        INSERT INTO queue_once AS o (store, key, token, ends) SELECT $1, $2, token, now + $3::bigint FROM next
        ON CONFLICT (store, key) DO UPDATE SET token = excluded.token, done = false, ends = excluded.ends
        WHERE o.ends <= excluded.ends - $3::bigint
        RETURNING token
    ), cleared AS (
        DELETE FROM queue_once WHERE store = $1 AND key IN (
            SELECT key FROM (SELECT key FROM queue_once
                WHERE store = $1 AND NOT done AND ends <= (SELECT now FROM next) AND key <> $2
                ORDER BY ends LIMIT 128 FOR UPDATE SKIP LOCKED) AS claims
            UNION ALL
            SELECT key FROM (SELECT key FROM queue_once
                WHERE store = $1 AND done AND ends <= (SELECT now FROM next) AND key <> $2
                ORDER BY ends LIMIT 128 FOR UPDATE SKIP LOCKED) AS marks)
    )
    SELECT '0', token::text FROM claimed
    UNION ALL SELECT CASE WHEN done THEN '2' ELSE '1' END, rest::text FROM live";

/// The same. Only one transaction at a time writes to SQLite, so these are one step; the first row is the answer.
const CLAIM_ON_SQLITE: &str = "
    INSERT INTO queue_once (store, key, token) SELECT $1, x'', 1000 * now FROM queue_now WHERE true
        ON CONFLICT DO UPDATE SET token = max(token + 1, excluded.token);
    DELETE FROM queue_once WHERE store = $1 AND key IN (SELECT key FROM queue_once, queue_now
        WHERE store = $1 AND done = 0 AND ends <= now ORDER BY ends LIMIT 128);
    DELETE FROM queue_once WHERE store = $1 AND key IN (SELECT key FROM queue_once, queue_now
        WHERE store = $1 AND done = 1 AND ends <= now ORDER BY ends LIMIT 128);
    INSERT INTO queue_once (store, key, token, ends)
        SELECT $1, $2, token, now + CAST($3 AS bigint) FROM queue_once, queue_now WHERE store = $1 AND key = x''
        ON CONFLICT DO UPDATE SET token = excluded.token, done = 0, ends = excluded.ends
        WHERE ends <= excluded.ends - CAST($3 AS bigint)
        RETURNING '0', CAST(token AS text);
    SELECT CASE WHEN done THEN '2' ELSE '1' END, CAST(ends - now AS text) FROM queue_once, queue_now
        WHERE store = $1 AND key = $2 AND ends > now";

/// `$3` token, `$4` claim_time.
const EXTEND: &str = "UPDATE queue_once SET ends = CAST($4 AS bigint) + (SELECT now FROM queue_now)
    WHERE store = $1 AND key = $2 AND token = CAST($3 AS bigint) AND NOT done AND ends > (SELECT now FROM queue_now)
    RETURNING 'held'";

/// `$3` token, `$4` keep.
const FINISH: &str = "UPDATE queue_once
    SET ends = CASE WHEN done THEN ends ELSE CAST($4 AS bigint) + (SELECT now FROM queue_now) END, done = true
    WHERE store = $1 AND key = $2 AND token = CAST($3 AS bigint) AND ends > (SELECT now FROM queue_now)
    RETURNING 'held'";

/// `$3` token.
const RELEASE: &str = "DELETE FROM queue_once
    WHERE store = $1 AND key = $2 AND token = CAST($3 AS bigint) AND NOT done AND ends > (SELECT now FROM queue_now)
    RETURNING 'held'";

const COUNTS: &str = "SELECT CAST(count(*) FILTER (WHERE NOT done) AS text), CAST(count(*) FILTER (WHERE done) AS text)
    FROM queue_once WHERE store = $1 AND ends > (SELECT now FROM queue_now)";

impl OnceKeys {
    /// The keys of this name in the database of `store`.
    ///
    /// # Errors
    ///
    /// `Invalid` for a bad name, by the rules of a queue's.
    pub fn new(store: impl Store, name: &str) -> Result<Self> {
        Ok(Self {
            store: Arc::new(store),
            name: QueueName::new(name)?,
        })
    }

    async fn run(
        &self,
        postgres: &'static str,
        sqlite: &'static str,
        key: &[u8],
        numbers: &[u64],
    ) -> Result<Option<(String, Option<String>)>> {
        let mut values = vec![
            Value::Text(Some(self.name.to_string())),
            Value::Bytes(Bytes::copy_from_slice(key)),
        ];
        // No row has a token that is no i64.
        let number = |number: &u64| i64::try_from(*number).unwrap_or(-1).to_string();
        values.extend(numbers.iter().map(|one| Value::Text(Some(number(one)))));
        let statement = Statement {
            postgres,
            sqlite,
            values,
        };
        let ran = self.store.run(&statement).await;
        let rows = ran.map_err(|error| error.with_once(&self.name))?;
        Ok(rows.into_iter().next().and_then(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next().flatten()))
        }))
    }

    /// A call by a claim's holder.
    async fn held(&self, text: &'static str, key: &[u8], numbers: &[u64]) -> Result<()> {
        match self.run(text, text, key, numbers).await? {
            Some(_) => Ok(()),
            None => Err(Error::claim_lost().with_once(&self.name)),
        }
    }

    /// Checks a key and a duration, and names the store in an error.
    fn checked<T>(&self, key: &[u8], rest: Result<T>) -> Result<T> {
        let checked = limits::check_key(key).and(rest);
        checked.map_err(|error| error.with_once(&self.name))
    }
}

#[async_trait]
impl OnceStore for OnceKeys {
    async fn claim(&self, key: &[u8], claim_time: Duration) -> Result<Claim> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        loop {
            let answer = self.run(CLAIM, CLAIM_ON_SQLITE, key, &[claim_time]).await?;
            let Some((answer, number)) = answer else {
                continue;
            };
            let number = number.and_then(|text| text.parse().ok()).unwrap_or(0);
            return Ok(match &*answer {
                "0" => Claim::Claimed(Token::new(number)),
                "1" => Claim::Busy {
                    left: Duration::from_millis(number),
                },
                _ => Claim::Done,
            });
        }
    }

    async fn extend(&self, key: &[u8], token: Token, claim_time: Duration) -> Result<()> {
        let claim_time = self.checked(key, limits::claim_millis(claim_time))?;
        self.held(EXTEND, key, &[token.get(), claim_time]).await
    }

    async fn finish(&self, key: &[u8], token: Token, keep: Duration) -> Result<()> {
        let keep = self.checked(key, limits::keep_millis(keep))?;
        self.held(FINISH, key, &[token.get(), keep]).await
    }

    async fn release(&self, key: &[u8], token: Token) -> Result<()> {
        self.checked(key, Ok(()))?;
        self.held(RELEASE, key, &[token.get()]).await
    }

    async fn counts(&self) -> Result<OnceCounts> {
        let counts = self.run(COUNTS, COUNTS, b"", &[]).await?;
        let (claimed, done) = counts.ok_or_else(Error::unanswered)?;
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok()).unwrap_or(0);
        Ok(OnceCounts::new(number(Some(claimed)), number(done)))
    }
}
