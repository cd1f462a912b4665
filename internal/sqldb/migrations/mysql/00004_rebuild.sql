-- What Redis once knew of each shard, how its epochs were cut off from each other, and what moved between shards; for MySQL 8
-- and MariaDB 10.11.
-- IF NOT EXISTS, because DDL is not transactional here and a node may die between two statements.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS shard_epoch (
    campaign_id VARBINARY(64) NOT NULL,
    shard       INT           NOT NULL,
    attempt     BIGINT        NOT NULL,              -- number of rebuilds begun; only the newest of them may fence
    barrier_ms  BIGINT        NOT NULL DEFAULT 0,    -- outbox entries up to <barrier_ms>-0 are of an earlier epoch; 0: there was none
    fenced_at   BIGINT        NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign_id, shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The newest outbox entry of each shard that the ledger has. A Redis that knows an older one only has gone back in time.
CREATE TABLE IF NOT EXISTS shard_mark (
    campaign_id VARBINARY(64) NOT NULL,
    shard       INT           NOT NULL,
    entry_ms    BIGINT        NOT NULL,
    entry_seq   BIGINT        NOT NULL,
    PRIMARY KEY (campaign_id, shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Stock that moved, or moves, from one shard to another.
CREATE TABLE IF NOT EXISTS move (
    id          VARBINARY(64) NOT NULL PRIMARY KEY,
    campaign_id VARBINARY(64) NOT NULL,
    from_shard  INT           NOT NULL,
    to_shard    INT           NOT NULL,
    numbers     LONGTEXT      NOT NULL,              -- ranges of packets
    packets     INT           NOT NULL,
    from_number BIGINT        NOT NULL,              -- the move's number among those of the shard that lends
    to_number   BIGINT        NOT NULL DEFAULT 0,    -- among those of the shard that borrows; 0: it is not known to have arrived
    epoch       BIGINT        NOT NULL,              -- of the shard that lends
    created_at  BIGINT        NOT NULL,
    done_at     BIGINT        NOT NULL DEFAULT 0,    -- 0: it is under way
    KEY move_from (campaign_id, from_shard),
    KEY move_to (campaign_id, to_shard),
    KEY move_open (done_at, campaign_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The secrets that seals are made with. The newest seals; the two newest are good.
CREATE TABLE IF NOT EXISTS seal_key (
    id         BIGINT        NOT NULL PRIMARY KEY,
    secret     VARBINARY(32) NOT NULL,
    created_at BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Drawn by the database itself, so that it is in no file and no log. One, however often this runs.
INSERT INTO seal_key (id, secret, created_at)
SELECT 1, RANDOM_BYTES(32), UNIX_TIMESTAMP() * 1000 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM seal_key);
-- +goose StatementEnd
