-- What speaks against players, and the wins that are kept apart for it, for MySQL 8 and MariaDB 10.11.

-- +goose Up
-- +goose StatementBegin
-- Verdicts about players. Rows are only added; a player's newest one counts.
CREATE TABLE IF NOT EXISTS verdict (
    number   BIGINT         NOT NULL PRIMARY KEY, -- from 1, without gaps, in the order in which they took effect
    user_id  VARBINARY(128) NOT NULL,
    verdict  VARCHAR(16)    NOT NULL,             -- allow, hold, deny
    score    INT            NOT NULL,
    reasons  VARCHAR(2000)  NOT NULL,             -- JSON: rule, score and sentence of each
    given_by VARBINARY(200) NOT NULL,             -- rules, risk-url, or an operator
    given_at BIGINT         NOT NULL,
    KEY verdict_user (user_id, number)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Wins that are paid into held:<player> instead of user:<player>, until somebody has released or confirmed them.
CREATE TABLE IF NOT EXISTS held (
    claim       VARBINARY(80)  NOT NULL PRIMARY KEY,
    campaign_id VARBINARY(64)  NOT NULL,
    packet      BIGINT         NOT NULL,
    user_id     VARBINARY(128) NOT NULL,
    amount      BIGINT         NOT NULL,
    won_at      BIGINT         NOT NULL,
    drop_id     VARBINARY(40)  NOT NULL, -- the drop, or the beat
    verdict     VARCHAR(16)    NOT NULL, -- the verdict's, as it was then
    score       INT            NOT NULL,
    reasons     VARCHAR(2000)  NOT NULL,
    held_at     BIGINT         NOT NULL,
    hold_id     BIGINT         NOT NULL, -- the transaction that took it from the player
    state       VARCHAR(16)    NOT NULL DEFAULT 'held', -- held, released (the player has it), confirmed (the sponsor has it)
    decided_by  VARBINARY(200) NOT NULL DEFAULT '',
    decision    VARCHAR(500)   NOT NULL DEFAULT '',     -- why
    decided_at  BIGINT         NOT NULL DEFAULT 0,
    release_id  BIGINT         NOT NULL DEFAULT 0, -- the transaction that gave it to the player
    confirm_id  BIGINT         NOT NULL DEFAULT 0, -- the one that gave it back to the sponsor
    KEY held_state (state, held_at, claim),
    KEY held_open (state, claim),
    KEY held_campaign (campaign_id, state, packet, amount),
    KEY held_user (user_id, state, won_at, campaign_id, packet),
    KEY held_user_state (user_id, state, held_at, claim),
    KEY held_campaign_state (campaign_id, state, held_at, claim),
    KEY held_hold (hold_id),
    KEY held_release (release_id),
    KEY held_confirm (confirm_id),
    CONSTRAINT held_positive CHECK (amount > 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
