-- The tables of queue-sql for SQLite 3.42 or newer, version 1. Running this file again changes nothing.

-- One row: the version of these tables, and the name of this outbox in the dedup keys of its messages.
CREATE TABLE IF NOT EXISTS queue_sql (
    one     integer PRIMARY KEY CHECK (one = 1),
    version integer NOT NULL,
    outbox  text    NOT NULL DEFAULT (lower(hex(randomblob(16))))
);

-- Messages that are not in their queues yet. Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS queue_outbox (
    id      integer PRIMARY KEY AUTOINCREMENT,
    created integer NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS integer) * 1000),
    queue   text    NOT NULL,
    options text,
    headers text,
    body    blob    NOT NULL,
    refused text
);

-- Keys of effects that happened.
CREATE TABLE IF NOT EXISTS queue_inbox (
    queue text    NOT NULL,
    key   blob    NOT NULL,
    done  integer NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS integer) * 1000),
    PRIMARY KEY (queue, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queue_inbox_done ON queue_inbox (done);

-- Keys of effects outside of this database, until `ends`, in milliseconds since 1970. The row with the empty key has the
-- last token of its store.
CREATE TABLE IF NOT EXISTS queue_once (
    store text    NOT NULL,
    key   blob    NOT NULL,
    token integer NOT NULL,
    done  integer NOT NULL DEFAULT 0,
    ends  integer,
    PRIMARY KEY (store, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS queue_once_ends ON queue_once (store, done, ends);

-- The time by which these keys end.
CREATE VIEW IF NOT EXISTS queue_now AS SELECT CAST(unixepoch('subsec') * 1000 AS integer) AS now;

INSERT INTO queue_sql (one, version) VALUES (1, 1) ON CONFLICT DO NOTHING;
