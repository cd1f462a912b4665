-- Money on its way out, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
CREATE TABLE withdrawal (
    id               TEXT    NOT NULL PRIMARY KEY,
    user_id          TEXT    NOT NULL,
    amount           INTEGER NOT NULL,
    state            TEXT    NOT NULL,
    dead             INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    next_at          INTEGER NOT NULL,
    last_error       TEXT    NOT NULL DEFAULT '',
    reference        TEXT    NOT NULL DEFAULT '',
    created_at       INTEGER NOT NULL,
    finished_at      INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT withdrawal_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX withdrawal_due ON withdrawal (state, dead, next_at, id);
CREATE INDEX withdrawal_created ON withdrawal (created_at, id);
CREATE INDEX withdrawal_state ON withdrawal (state, created_at, id);
CREATE INDEX withdrawal_user ON withdrawal (user_id, created_at, id);
