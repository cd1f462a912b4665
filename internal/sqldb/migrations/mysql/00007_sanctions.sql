-- What operators have done about players, for MySQL 8 and MariaDB 10.11. Rows are only added; a player's newest ban or unban counts.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS sanction (
    number   BIGINT         NOT NULL PRIMARY KEY, -- from 1, without gaps, in the order in which they took effect
    user_id  VARBINARY(128) NOT NULL,
    act      VARCHAR(16)    NOT NULL,             -- disconnect, ban, unban
    reason   VARCHAR(500)   NOT NULL,
    given_by VARBINARY(200) NOT NULL,
    given_id VARBINARY(400) NOT NULL,             -- whose credential it was
    given_at BIGINT         NOT NULL,             -- what a banned player wins from then on is not paid
    KEY sanction_user (user_id, number)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
