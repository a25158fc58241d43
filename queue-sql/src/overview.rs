//! The contents of the outbox, for operators and gauges.

use std::time::Duration;

use queue_core::{Error, Result};
use serde::Serialize;

use crate::{Statement, Value};

/// The rows of one queue in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutboxCounts {
    /// The queue.
    pub queue: String,
    /// Rows that wait for a relay.
    pub waiting: u64,
    /// Rows that are kept apart, with a reason.
    pub refused: u64,
    /// The age of the oldest row that waits.
    pub oldest: Option<Duration>,
}

/// A row that a relay keeps apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedRow {
    /// Its number in the table.
    pub id: i64,
    /// Its queue.
    pub queue: String,
    /// The time since it was inserted.
    pub age: Duration,
    /// The bytes of its body.
    pub bytes: u64,
    /// Why it is kept apart.
    pub reason: String,
}

/// A row of a statement's answer.
type Cells = Vec<Option<String>>;

const COUNTS: &str = "SELECT queue, CAST(count(*) FILTER (WHERE refused IS NULL) AS text), CAST(count(refused) AS text),
        CAST(floor(extract(epoch FROM clock_timestamp() - min(created) FILTER (WHERE refused IS NULL)) * 1000) AS text)
    FROM queue_outbox GROUP BY queue ORDER BY queue";
const COUNTS_ON_SQLITE: &str = "SELECT queue, CAST(count(*) FILTER (WHERE refused IS NULL) AS text),
        CAST(count(refused) AS text),
        CAST((SELECT now FROM queue_now) - min(created) FILTER (WHERE refused IS NULL) / 1000 AS text)
    FROM queue_outbox GROUP BY queue ORDER BY queue";

/// `$1` the id before the first row, `$2` rows.
const REFUSED: &str = "SELECT CAST(id AS text), queue,
        CAST(floor(extract(epoch FROM clock_timestamp() - created) * 1000) AS text), CAST(octet_length(body) AS text), refused
    FROM queue_outbox WHERE refused IS NOT NULL AND id > CAST($1 AS bigint) ORDER BY id LIMIT CAST($2 AS bigint)";
const REFUSED_ON_SQLITE: &str = "SELECT CAST(id AS text), queue, CAST((SELECT now FROM queue_now) - created / 1000 AS text),
        CAST(length(body) AS text), refused
    FROM queue_outbox WHERE refused IS NOT NULL AND id > CAST($1 AS bigint) ORDER BY id LIMIT CAST($2 AS bigint)";

/// `$1` ids as JSON, or NULL for all. A new row has a new key, so its queue takes it for no duplicate.
const RETRY: &str = "
    WITH again AS (
        DELETE FROM queue_outbox WHERE refused IS NOT NULL
            AND ($1 IS NULL OR id IN (SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST($1 AS json))))
        RETURNING id, queue, options, headers, body
    ), inserted AS (
        INSERT INTO queue_outbox (queue, options, headers, body)
        SELECT queue, options, headers, body FROM again ORDER BY id
    )
    SELECT CAST(id AS text) FROM again ORDER BY id";
const RETRY_ON_SQLITE: &str = "
    INSERT INTO queue_outbox (queue, options, headers, body)
        SELECT queue, options, headers, body FROM queue_outbox
        WHERE refused IS NOT NULL AND ($1 IS NULL OR id IN (SELECT value FROM json_each($1))) ORDER BY id;
    DELETE FROM queue_outbox
        WHERE refused IS NOT NULL AND ($1 IS NULL OR id IN (SELECT value FROM json_each($1))) RETURNING CAST(id AS text)";

pub(crate) const fn counts() -> Statement {
    Statement {
        postgres: COUNTS,
        sqlite: COUNTS_ON_SQLITE,
        values: Vec::new(),
    }
}

pub(crate) fn refused(after: i64, most: u32) -> Statement {
    Statement {
        postgres: REFUSED,
        sqlite: REFUSED_ON_SQLITE,
        values: [i64::to_string(&after), u32::to_string(&most)]
            .map(|number| Value::Text(Some(number)))
            .into(),
    }
}

pub(crate) fn retry(ids: Option<&[i64]>) -> Statement {
    let ids = ids.map(|ids| serde_json::json!(ids).to_string());
    Statement {
        postgres: RETRY,
        sqlite: RETRY_ON_SQLITE,
        values: vec![Value::Text(ids)],
    }
}

impl OutboxCounts {
    pub(crate) const fn none(queue: String) -> Self {
        Self {
            queue,
            waiting: 0,
            refused: 0,
            oldest: None,
        }
    }

    pub(crate) fn read(cells: Cells) -> Result<Self> {
        let [queue, waiting, refused, oldest] = sized(cells)?;
        Ok(Self {
            queue: text(queue)?,
            waiting: number(waiting)?,
            refused: number(refused)?,
            oldest: oldest.map(|age| millis(Some(age))).transpose()?,
        })
    }
}

impl RefusedRow {
    pub(crate) fn read(cells: Cells) -> Result<Self> {
        let [id, queue, age, bytes, reason] = sized(cells)?;
        Ok(Self {
            id: number(id)?,
            queue: text(queue)?,
            age: millis(age)?,
            bytes: number(bytes)?,
            reason: text(reason)?,
        })
    }
}

/// The id of a row that is tried again.
pub(crate) fn id(cells: Cells) -> Result<i64> {
    let [id] = sized(cells)?;
    number(id)
}

fn sized<const N: usize>(cells: Cells) -> Result<[Option<String>; N]> {
    cells.try_into().map_err(|_| Error::unanswered())
}

fn text(cell: Option<String>) -> Result<String> {
    cell.ok_or_else(Error::unanswered)
}

fn number<N: std::str::FromStr>(cell: Option<String>) -> Result<N> {
    text(cell)?.parse().map_err(|_| Error::unanswered())
}

/// An age. A clock that went back makes none less than zero.
fn millis(cell: Option<String>) -> Result<Duration> {
    let millis: i64 = number(cell)?;
    Ok(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
}
