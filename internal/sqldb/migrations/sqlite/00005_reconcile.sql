-- So that reconciliation, and an accountant, find what a transaction was for.

-- +goose Up
CREATE INDEX payout_txn ON payout (txn_id);
CREATE INDEX reclaim_txn ON reclaim (txn_id);
