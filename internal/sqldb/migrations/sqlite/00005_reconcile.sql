-- So that reconciliation, and an accountant, find what a transaction was for.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX payout_txn ON payout (txn_id);
CREATE INDEX reclaim_txn ON reclaim (txn_id);

-- When each campaign was proved last; '' is everything.
CREATE TABLE proof (
    campaign_id      TEXT    NOT NULL PRIMARY KEY,
    proved_at        INTEGER NOT NULL,
    took_ms          INTEGER NOT NULL,
    balanced         INTEGER NOT NULL,
    findings         INTEGER NOT NULL,
    difference       INTEGER NOT NULL,
    pending          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX proof_pending ON proof (pending);
-- +goose StatementEnd
