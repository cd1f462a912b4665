-- Campaigns whose payouts were removed, for MySQL 8 and MariaDB 10.11.

-- +goose Up
-- +goose StatementBegin
-- Written by the job of docs/use/retention.md, by a user who may delete payouts; servers only read it. The transactions,
-- lines, balances, reclaims and the tally of the campaign stay, so every sum can still be checked.
CREATE TABLE IF NOT EXISTS archive (
    campaign_id   VARBINARY(64)  NOT NULL PRIMARY KEY,
    file          VARBINARY(64)  NOT NULL,             -- the SHA-256 of the export, in hexadecimal
    payouts       BIGINT         NOT NULL,             -- that were removed
    amount        BIGINT         NOT NULL,             -- of them
    actor         VARBINARY(200) NOT NULL,             -- who has had them removed
    removed_at    BIGINT         NOT NULL              -- Unix ms
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
