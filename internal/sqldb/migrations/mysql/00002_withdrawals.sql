-- Money on its way out, for MySQL 8 and MariaDB 10.11. The table is also the queue that it is paid from.

-- +goose Up
CREATE TABLE IF NOT EXISTS withdrawal (
    id          VARBINARY(64)  NOT NULL PRIMARY KEY,   -- also the key under which the provider pays it once
    user_id     VARBINARY(128) NOT NULL,
    amount      BIGINT         NOT NULL,
    state       VARCHAR(16)    NOT NULL,               -- pending, paid, failed
    dead        TINYINT        NOT NULL DEFAULT 0,     -- 1: pending, but tried no more until an operator says so
    attempts    INT            NOT NULL DEFAULT 0,     -- tries begun, since the last redrive
    next_at     BIGINT         NOT NULL,               -- when it is due; during a try, when the lease on it ends
    last_error  VARCHAR(500)   NOT NULL DEFAULT '',    -- why the last try failed, or why it was refused
    reference   VARCHAR(200)   NOT NULL DEFAULT '',    -- the provider's, once paid
    created_at  BIGINT         NOT NULL,
    finished_at BIGINT         NOT NULL DEFAULT 0,     -- paid or failed; 0: neither yet
    KEY withdrawal_due (state, dead, next_at, id),
    KEY withdrawal_created (created_at, id),
    KEY withdrawal_state (state, created_at, id),
    KEY withdrawal_user (user_id, created_at, id),
    CONSTRAINT withdrawal_positive CHECK (amount > 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
