-- So that reconciliation, and an accountant, find what a transaction was for.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX payout_txn ON payout (txn_id);
CREATE INDEX reclaim_txn ON reclaim (txn_id);

-- When each campaign was proved last; '' is everything.
CREATE TABLE proof (
    campaign_id      TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    proved_at        INTEGER NOT NULL,
    took_ms          INTEGER NOT NULL,
    balanced         INTEGER NOT NULL,
    findings         INTEGER NOT NULL,
    difference       INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, kind)
) STRICT, WITHOUT ROWID;

-- Append-only. How far the chains were proved: the next proof of what is recent goes on from the newest.
CREATE TABLE proof_checkpoint (
    number           INTEGER NOT NULL PRIMARY KEY,
    taken_at         INTEGER NOT NULL,
    ends             TEXT    NOT NULL,
    last_txn         INTEGER NOT NULL,
    holes            TEXT    NOT NULL,
    previous         TEXT    NOT NULL,
    key_id           INTEGER NOT NULL,
    seal             TEXT    NOT NULL
) STRICT;

-- Append-only. Sums as of a checkpoint, of what has grown since the one before: the newest of each is carried forward.
CREATE TABLE proof_sum (
    subject          TEXT    NOT NULL,
    checkpoint       INTEGER NOT NULL,
    rows_seen        INTEGER NOT NULL,
    numbers          INTEGER NOT NULL,
    amount           INTEGER NOT NULL,
    key_id           INTEGER NOT NULL,
    seal             TEXT    NOT NULL,
    PRIMARY KEY (subject, checkpoint)
) STRICT, WITHOUT ROWID;

-- How far the full proof has come that is made in the background, slice by slice.
CREATE TABLE proof_reading (
    id               INTEGER NOT NULL PRIMARY KEY,
    began_at         INTEGER NOT NULL,
    spent_ms         INTEGER NOT NULL,
    place            TEXT    NOT NULL
) STRICT;
-- +goose StatementEnd
