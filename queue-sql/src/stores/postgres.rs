//! The statements for Postgres, whatever the client.
//!
//! Each runs within a transaction and needs nothing of the session, so that a pooler may give each transaction another
//! server connection.

/// The channel of wake-ups.
pub(super) const CHANNEL: &str = "queue_outbox";

pub(super) const VERSION: &str = "SELECT version, outbox::text FROM queue_sql";

/// `$1` to `$4`: arrays of the columns.
pub(super) const INSERT_MANY: &str = "INSERT INTO queue_outbox (queue, options, headers, body) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[])";
pub(super) const INSERT_MANY_AND_NOTIFY: &str = "WITH new AS (INSERT INTO queue_outbox (queue, options, headers, body) \
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) RETURNING 1) \
    SELECT pg_notify('queue_outbox', '')";

/// `$1` queues, `$2` the first id, `$3` rows, `$4` bytes.
///
/// A row is behind if an earlier row of its transaction and queue is there that is not among the locked ones: another
/// relay has it. All of this is one statement, and so one snapshot: either all rows of a transaction are there or none.
pub(super) const TAKE: &str = "
    WITH locked AS MATERIALIZED (
        SELECT tx, id, created, queue, options, headers, body FROM queue_outbox
        WHERE id >= $2 AND refused IS NULL AND queue = ANY($1)
        ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
    ), others AS MATERIALIZED (
        SELECT tx, id, queue FROM queue_outbox
        WHERE id >= $2 AND id < (SELECT max(id) FROM locked) AND refused IS NULL AND queue = ANY($1)
            AND id NOT IN (SELECT id FROM locked)
    ), sized AS (
        SELECT *, sum(octet_length(body) + coalesce(octet_length(headers), 0)) OVER (ORDER BY id) AS bytes FROM locked
    )
    SELECT id, (extract(epoch FROM created) * 1000000)::bigint,
        (extract(epoch FROM clock_timestamp() - created) * 1000)::bigint, queue, options, headers, body,
        EXISTS (SELECT 1 FROM others o WHERE o.tx = sized.tx AND o.queue = sized.queue AND o.id < sized.id)
    FROM sized WHERE bytes <= $4 OR id = (SELECT min(id) FROM locked) ORDER BY id";

/// `$1`: ids.
pub(super) const DELETE: &str = "DELETE FROM queue_outbox WHERE id = ANY($1)";

/// `$1` ids, `$2` reasons.
pub(super) const REFUSE: &str = "UPDATE queue_outbox o SET refused = r.reason \
    FROM unnest($1::bigint[], $2::text[]) AS r (id, reason) WHERE o.id = r.id";

/// `$1` queues, `$2` the first id. The sequence is read after the snapshot of the statement was taken.
pub(super) const LOOK: &str = "SELECT
    (SELECT min(id) FROM queue_outbox WHERE id >= $2 AND refused IS NULL AND queue = ANY($1)),
    (SELECT last_value FROM queue_outbox_id_seq),
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint";

/// The server's process behind a connection. Two open connections never share one, unless a pooler is between.
pub(super) const PROCESS: &str = "SELECT pg_backend_pid()";

/// How often a relay compares the processes of two connections before it listens. A pooler gives the process that was used
/// last to the next transaction, if no other program is faster.
pub(super) const COMPARISONS: u32 = 5;

pub(super) const NOTIFY: &str = "SELECT pg_notify('queue_outbox', $1)";

/// `$1` milliseconds, `$2` rows.
pub(super) const SWEEP: &str = "DELETE FROM queue_inbox WHERE (queue, key) IN (
    SELECT queue, key FROM queue_inbox WHERE done < clock_timestamp() - $1 * interval '1 millisecond'
    ORDER BY done LIMIT $2 FOR UPDATE SKIP LOCKED)";

/// Migrations of two programs run one after the other. The lock ends with the transaction.
pub(super) const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(7165001)";
