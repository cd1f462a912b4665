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

-- When each campaign was proved last; '' is everything.
CREATE TABLE IF NOT EXISTS proof (
    campaign_id VARBINARY(64) NOT NULL,
    kind        VARBINARY(16) NOT NULL,              -- of everything: recent, or full; of a campaign: full
    proved_at   BIGINT        NOT NULL,
    took_ms     BIGINT        NOT NULL,
    balanced    TINYINT       NOT NULL,
    findings    BIGINT        NOT NULL,
    difference  BIGINT        NOT NULL,
    PRIMARY KEY (campaign_id, kind)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. How far the chains were proved: the next proof of what is recent goes on from the newest.
CREATE TABLE IF NOT EXISTS proof_checkpoint (
    number   BIGINT        NOT NULL PRIMARY KEY,     -- from 1
    taken_at BIGINT        NOT NULL,
    ends     LONGTEXT      NOT NULL,                 -- JSON: the chains' links that were proved
    last_txn BIGINT        NOT NULL,                 -- the highest number of a transaction among them
    holes    LONGTEXT      NOT NULL,                 -- JSON: what is before, and is read again because something was wrong there
    previous VARBINARY(64) NOT NULL,                 -- the seal of the checkpoint before; '': it is the first
    key_id   BIGINT        NOT NULL,                 -- of the seal
    seal     VARBINARY(64) NOT NULL                  -- HMAC of all that, in hexadecimal
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. Sums as of a checkpoint, of what has grown since the one before: the newest of each is carried forward.
CREATE TABLE IF NOT EXISTS proof_sum (
    subject    VARBINARY(200) NOT NULL,              -- what is added up: see payout/ledger/checkpoint
    checkpoint BIGINT         NOT NULL,
    rows_seen  BIGINT         NOT NULL,
    numbers    BIGINT         NOT NULL,              -- of packets, added up
    amount     BIGINT         NOT NULL,
    key_id     BIGINT         NOT NULL,
    seal       VARBINARY(64)  NOT NULL,
    PRIMARY KEY (subject, checkpoint)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- How far the full proof has come that is made in the background, slice by slice.
CREATE TABLE IF NOT EXISTS proof_reading (
    id         BIGINT   NOT NULL PRIMARY KEY,        -- 1
    began_at   BIGINT   NOT NULL,
    spent_ms   BIGINT   NOT NULL,
    place      LONGTEXT NOT NULL                     -- JSON: see payout/reconcile
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
