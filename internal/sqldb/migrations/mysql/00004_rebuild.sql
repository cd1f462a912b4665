-- How a shard's life in Redis was cut off from the one before, for MySQL 8 and MariaDB 10.11.
-- IF NOT EXISTS, because DDL is not transactional here and a node may die between two statements.

-- +goose Up
CREATE TABLE IF NOT EXISTS shard_life (
    campaign_id VARBINARY(64) NOT NULL,
    shard       INT           NOT NULL,
    attempt     BIGINT        NOT NULL,              -- number of rebuilds begun; only the newest of them may fence
    barrier_ms  BIGINT        NOT NULL DEFAULT 0,    -- outbox entries up to <barrier_ms>-0 are of an earlier life; 0: there was none
    fenced_at   BIGINT        NOT NULL DEFAULT 0,
    PRIMARY KEY (campaign_id, shard)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
