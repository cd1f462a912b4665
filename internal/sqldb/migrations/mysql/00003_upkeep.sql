-- What keeps the campaigns and the payouts going: leases, tries of settlement, shortened reclaims.

-- +goose Up
-- +goose StatementBegin
-- Who does a job that one node at a time should do.
CREATE TABLE IF NOT EXISTS lease (
    name       VARBINARY(64)  NOT NULL PRIMARY KEY,
    holder     VARBINARY(128) NOT NULL,
    expires_at BIGINT         NOT NULL,              -- from then on another may take it
    term       BIGINT         NOT NULL               -- rises each time that it is taken over; who writes under it checks that
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Outbox entries that were refused and are tried again. With the last try they become dead letters, and leave this table.
CREATE TABLE IF NOT EXISTS attempt (
    entry      VARBINARY(200) NOT NULL PRIMARY KEY,  -- the outbox entry, as in dead_letter.source
    attempts   INT            NOT NULL,
    last_error VARCHAR(500)   NOT NULL,
    last_at    BIGINT         NOT NULL,
    KEY attempt_last (last_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The claims in those entries.
CREATE TABLE IF NOT EXISTS attempt_claim (
    entry       VARBINARY(200) NOT NULL,
    line_no     INT            NOT NULL,
    campaign_id VARBINARY(64)  NOT NULL,
    packet      INT            NOT NULL,
    user_id     VARBINARY(128) NOT NULL,
    PRIMARY KEY (entry, line_no),
    KEY attempt_claim_packet (campaign_id, packet)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Reclaims that asked for more than their shard still had, and so got less: Redis had forgotten that it was given away.
CREATE TABLE IF NOT EXISTS reclaim_cut (
    campaign_id VARBINARY(64) NOT NULL,
    shard       INT           NOT NULL,
    closed_at   BIGINT        NOT NULL,              -- with entry_seq: the outbox entry, as in reclaim
    entry_seq   BIGINT        NOT NULL,
    asked       BIGINT        NOT NULL,
    given       BIGINT        NOT NULL,              -- as in reclaim.amount
    numbers     LONGTEXT      NOT NULL,              -- of the packets that were given back
    reason      VARCHAR(500)  NOT NULL,
    created_at  BIGINT        NOT NULL,
    PRIMARY KEY (campaign_id, shard, closed_at, entry_seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Finds what is due to be closed or drained. MySQL has no CREATE INDEX IF NOT EXISTS.
SET @campaign_due = IF(
    (SELECT COUNT(*) FROM information_schema.statistics
     WHERE table_schema = DATABASE() AND table_name = 'campaign' AND index_name = 'campaign_due') = 0,
    'CREATE INDEX campaign_due ON campaign (drained, status, expires_at, id)', 'DO 0');
PREPARE campaign_due FROM @campaign_due;
EXECUTE campaign_due;
DEALLOCATE PREPARE campaign_due;
-- +goose StatementEnd
