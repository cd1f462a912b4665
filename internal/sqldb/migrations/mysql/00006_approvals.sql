-- Orders that two people have to give, for MySQL 8 and MariaDB 10.11.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS approval (
    id         VARBINARY(64)   NOT NULL PRIMARY KEY,
    action     VARCHAR(64)     NOT NULL,             -- deposit, payout.retry, payout.dismiss, withdrawal.paid, withdrawal.back
    target     VARBINARY(200)  NOT NULL,             -- the sponsor, the claim, or the withdrawal
    amount     BIGINT          NOT NULL,
    reference  VARBINARY(200)  NOT NULL,             -- the deposit's, or the receiver's for a payment
    letter     BIGINT          NOT NULL,             -- the only one to dismiss; 0: all of the claim
    seen       VARBINARY(2500) NOT NULL,             -- how the target was when it was asked for; another now makes it void
    reason     VARCHAR(500)    NOT NULL,             -- of who has asked for it
    asked_by   VARBINARY(200)  NOT NULL,
    asked_id   VARBINARY(400)  NOT NULL,             -- whose credential it was
    asked_at   BIGINT          NOT NULL,
    expires_at BIGINT          NOT NULL,
    state      VARCHAR(16)     NOT NULL,             -- pending, confirmed, rejected
    decided_by VARBINARY(200)  NOT NULL,             -- '' while it is pending
    decided_id VARBINARY(400)  NOT NULL,
    decided_at BIGINT          NOT NULL,             -- 0 while it is pending
    decision   VARCHAR(500)    NOT NULL,             -- what the second person says
    KEY approval_asked (asked_at, id),
    KEY approval_state (state, asked_at, id),
    KEY approval_target (target, action, state)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
