-- So that reconciliation, and an accountant, find what a transaction was for. Transactions are numbered upwards, so the
-- indexes grow at their end.
--
-- MySQL 8 has no CREATE INDEX IF NOT EXISTS, and a node may die between two statements.

-- +goose Up
-- +goose StatementBegin
SET @make = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'payout'
    AND index_name = 'payout_txn') = 0, 'CREATE INDEX payout_txn ON payout (txn_id)', 'DO 0');
PREPARE make_index FROM @make;
EXECUTE make_index;
DEALLOCATE PREPARE make_index;

SET @make = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'reclaim'
    AND index_name = 'reclaim_txn') = 0, 'CREATE INDEX reclaim_txn ON reclaim (txn_id)', 'DO 0');
PREPARE make_index FROM @make;
EXECUTE make_index;
DEALLOCATE PREPARE make_index;

-- When each campaign was reconciled last; '' is everything, row by row.
CREATE TABLE IF NOT EXISTS proof (
    campaign_id VARBINARY(64) NOT NULL PRIMARY KEY,
    proved_at   BIGINT        NOT NULL,
    took_ms     BIGINT        NOT NULL,
    balanced    TINYINT       NOT NULL,
    findings    BIGINT        NOT NULL,
    difference  BIGINT        NOT NULL,
    pending     TINYINT       NOT NULL,              -- 1: it is not drained, or was not proved row by row since
    KEY proof_pending (pending)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
