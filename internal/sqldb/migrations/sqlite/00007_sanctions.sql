-- What operators have done about players, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE sanction (
    number   INTEGER NOT NULL PRIMARY KEY,
    user_id  TEXT    NOT NULL,
    act      TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    given_by TEXT    NOT NULL,
    given_id TEXT    NOT NULL,
    given_at INTEGER NOT NULL
) STRICT;
CREATE INDEX sanction_user ON sanction (user_id, number);
-- +goose StatementEnd
