-- Campaigns whose payouts were removed, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE archive (
    campaign_id   TEXT    NOT NULL PRIMARY KEY,
    file          TEXT    NOT NULL,
    payouts       INTEGER NOT NULL,
    amount        INTEGER NOT NULL,
    actor         TEXT    NOT NULL,
    removed_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
