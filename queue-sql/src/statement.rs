//! Statements for clients that this crate does not know.

use queue_core::Bytes;

use crate::NewRow;

/// A statement as text, and its values, for a client that this crate does not know, such as diesel.
///
/// `$1` is the first value. Run it within the transaction whose data it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// The text for Postgres.
    pub postgres: &'static str,
    /// The text for SQLite.
    pub sqlite: &'static str,
    /// The values of `$1`, `$2` and so on.
    pub values: Vec<Value>,
}

/// A value of a [`Statement`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `text`, or NULL.
    Text(Option<String>),
    /// `bytea` on Postgres, `blob` on SQLite.
    Bytes(Bytes),
}

pub(crate) const INSERT: &str =
    "INSERT INTO queue_outbox (queue, options, headers, body) VALUES ($1, $2, $3, $4)";
pub(crate) const INSERT_AND_NOTIFY: &str = "INSERT INTO queue_outbox (queue, options, headers, body) \
     VALUES ($1, $2, $3, $4) RETURNING pg_notify('queue_outbox', '')";
pub(crate) const MARK: &str =
    "INSERT INTO queue_inbox (queue, key) VALUES ($1, $2) ON CONFLICT DO NOTHING";

impl Statement {
    pub(crate) fn insert(row: NewRow, notify: bool) -> Self {
        Self {
            postgres: match notify {
                true => INSERT_AND_NOTIFY,
                false => INSERT,
            },
            sqlite: INSERT,
            values: vec![
                Value::Text(Some(row.queue)),
                Value::Text(row.options),
                Value::Text(row.headers),
                Value::Bytes(row.body),
            ],
        }
    }

    pub(crate) fn mark(queue: &str, key: Bytes) -> Self {
        Self {
            postgres: MARK,
            sqlite: MARK,
            values: vec![Value::Text(Some(queue.to_owned())), Value::Bytes(key)],
        }
    }
}
