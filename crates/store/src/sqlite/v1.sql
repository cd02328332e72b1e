-- Schema 1. A stream's key is its kind's number, one byte, and its id, sixteen.
-- Tables with JSON in them have row ids: their rows then pack into pages whatever their size.

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    stream BLOB NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    item BLOB,
    data TEXT NOT NULL
) STRICT;
-- SQLite appends the row id, so this is (stream, seq).
CREATE INDEX events_of_stream ON events (stream);
CREATE INDEX events_of_item ON events (item) WHERE item IS NOT NULL;

CREATE TABLE snapshots (
    stream BLOB NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    format INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;

-- `recency` is minus the time of the last change, so that the list's order is ascending in every column.
CREATE TABLE tasks (
    id BLOB NOT NULL UNIQUE,
    key TEXT NOT NULL,
    project BLOB NOT NULL,
    open INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    recency INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tasks_by_key ON tasks (key) WHERE key <> '';
CREATE INDEX tasks_listed ON tasks (open, rank, recency, id);
CREATE INDEX tasks_of_project ON tasks (project, open, rank, recency, id);

CREATE TABLE projects (
    id BLOB PRIMARY KEY,
    name TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE inputs (
    id BLOB NOT NULL UNIQUE,
    decision BLOB NOT NULL,
    turn BLOB,
    state TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX inputs_by_decision ON inputs (decision);

CREATE TABLE approvals (
    id BLOB NOT NULL UNIQUE,
    state TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX approvals_pending ON approvals (asked_at) WHERE state = 'pending';

CREATE TABLE outbox (
    id BLOB NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_newest ON outbox (at);

CREATE TABLE inbox (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    input BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The row id is the order in which effects came.
CREATE TABLE effects (
    nr INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    due_at INTEGER NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX effects_due ON effects (due_at);

CREATE TABLE marks (
    session BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    safe INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    not_json INTEGER NOT NULL,
    PRIMARY KEY (session, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('incarnation', lower(hex(randomblob(8))));
