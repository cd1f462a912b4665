-- Money on its way out, for MySQL 8 and MariaDB 10.11. The table is also the queue that it is paid from.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS withdrawal (
    id          VARBINARY(64)  NOT NULL PRIMARY KEY,   -- also the key under which the provider pays it once
    user_id     VARBINARY(128) NOT NULL,
    payee       VARBINARY(300) NOT NULL DEFAULT '',    -- the account at the provider, as in the table payee; '': the provider needs none
    amount      BIGINT         NOT NULL,
    state       VARCHAR(16)    NOT NULL,               -- requested, held, sent, action_required, paid, refused, returned
    receiver    VARBINARY(400) NOT NULL DEFAULT '',    -- whom it was first sent to; nobody else is ever asked. '': not sent
    dead        TINYINT        NOT NULL DEFAULT 0,     -- 1: not ended, but tried no more until an operator says so
    attempts    INT            NOT NULL DEFAULT 0,     -- tries begun, since the last redrive or answer that it waits
    tries       BIGINT         NOT NULL DEFAULT 0,     -- tries begun, ever: an older one that wakes up writes nothing
    next_at     BIGINT         NOT NULL,               -- when it is due; during a try, when the lease on it ends
    try_ends    BIGINT         NOT NULL DEFAULT 0,     -- if tries at once are limited: the end of the lease on the one in flight; else 0
    last_error  VARCHAR(500)   NOT NULL DEFAULT '',    -- why the last try failed, or why it was refused
    reference   VARCHAR(200)   NOT NULL DEFAULT '',    -- the provider's, once it has told one
    action_kind VARCHAR(16)    NOT NULL DEFAULT '',    -- what the player has to do, in the state action_required
    action_url  VARCHAR(2000)  NOT NULL DEFAULT '',    -- where the player confirms, in the state action_required
    action_data VARCHAR(4000)  NOT NULL DEFAULT '',    -- or what the provider's app needs for it
    action_until BIGINT        NOT NULL DEFAULT 0,     -- and until when; 0: not said
    created_at  BIGINT         NOT NULL,
    sent_at     BIGINT         NOT NULL DEFAULT 0,     -- when the receiver was first asked; 0: not yet
    waits_since BIGINT         NOT NULL DEFAULT 0,     -- when the receiver first said that it is on its way; 0: not
    finished_at BIGINT         NOT NULL DEFAULT 0,     -- paid, refused or returned; 0: none of them yet
    txn_id      BIGINT         NOT NULL,               -- that took the money from the player, into clearing
    paid_id     BIGINT         NOT NULL DEFAULT 0,     -- that took it out of clearing, when it was paid; 0: none
    return_id   BIGINT         NOT NULL DEFAULT 0,     -- that gave it back to the player; 0: none
    request     VARBINARY(128) NOT NULL DEFAULT '',    -- the id of the player's HTTP request; '': none
    KEY withdrawal_due (state, dead, next_at, id),
    KEY withdrawal_try (try_ends),
    KEY withdrawal_created (created_at, id),
    KEY withdrawal_state (state, created_at, id),
    KEY withdrawal_txn (txn_id),
    KEY withdrawal_paid (paid_id),
    KEY withdrawal_return (return_id),
    KEY withdrawal_user (user_id, created_at, id),
    KEY withdrawal_payee (payee, created_at),
    CONSTRAINT withdrawal_positive CHECK (amount > 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only: each change of a withdrawal's state, and each time that it became a dead letter or was tried again.
CREATE TABLE IF NOT EXISTS withdrawal_event (
    id            BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    withdrawal_id VARBINARY(64)  NOT NULL,
    at            BIGINT         NOT NULL,
    state         VARCHAR(16)    NOT NULL,             -- from now on
    actor         VARBINARY(200) NOT NULL,             -- player:<id>, operator:<name>, risk-url, or redrain
    reason        VARCHAR(500)   NOT NULL,
    receiver      VARBINARY(400) NOT NULL,             -- the withdrawal's from now on
    KEY withdrawal_event_of (withdrawal_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- When the next try may begin with a receiver that is asked for so many payments a second; a row for each receiver.
CREATE TABLE IF NOT EXISTS provider_pace (
    receiver  VARBINARY(400) NOT NULL PRIMARY KEY,
    next_turn BIGINT         NOT NULL                  -- Unix microseconds
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only: the accounts at providers that players have linked. The newest row of a player and a kind counts.
CREATE TABLE IF NOT EXISTS payee (
    id        BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    user_id   VARBINARY(128) NOT NULL,
    kind      VARBINARY(80)  NOT NULL,                 -- alipay, or wechat: and the app that the openid belongs to
    account   VARBINARY(200) NOT NULL,
    issued_at BIGINT         NOT NULL,                 -- of the token that named it; 0: the token does not say
    linked_at BIGINT         NOT NULL,
    KEY payee_user (user_id, kind, id),
    KEY payee_account (kind, account)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
