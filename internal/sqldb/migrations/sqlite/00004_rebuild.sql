-- What Redis once knew of each shard, how its epochs were cut off from each other, and what moved between shards; for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE shard_epoch (
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    barrier_ms       INTEGER NOT NULL DEFAULT 0,
    fenced_at        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign_id, shard)
) STRICT, WITHOUT ROWID;

CREATE TABLE shard_mark (
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    entry_ms         INTEGER NOT NULL,
    entry_seq        INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, shard)
) STRICT, WITHOUT ROWID;

CREATE TABLE move (
    id               TEXT    NOT NULL PRIMARY KEY,
    campaign_id      TEXT    NOT NULL,
    from_shard       INTEGER NOT NULL,
    to_shard         INTEGER NOT NULL,
    numbers          TEXT    NOT NULL,
    packets          INTEGER NOT NULL,
    from_number      INTEGER NOT NULL,
    to_number        INTEGER NOT NULL DEFAULT 0,
    epoch            INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    done_at          INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX move_from ON move (campaign_id, from_shard);
CREATE INDEX move_to ON move (campaign_id, to_shard);
CREATE INDEX move_open ON move (done_at, campaign_id);

CREATE TABLE seal_key (
    id               INTEGER NOT NULL PRIMARY KEY,
    secret           BLOB    NOT NULL,
    created_at       INTEGER NOT NULL
) STRICT;

INSERT INTO seal_key (id, secret, created_at) VALUES (1, randomblob(32), unixepoch() * 1000);
-- +goose StatementEnd
