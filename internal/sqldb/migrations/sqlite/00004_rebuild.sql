-- How a shard's life in Redis was cut off from the one before, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
CREATE TABLE shard_life (
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    attempt          INTEGER NOT NULL,
    barrier_ms       INTEGER NOT NULL DEFAULT 0,
    fenced_at        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign_id, shard)
) STRICT, WITHOUT ROWID;
