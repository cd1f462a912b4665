-- Orders that two people have to give, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE approval (
    id         TEXT    NOT NULL PRIMARY KEY,
    action     TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    amount     INTEGER NOT NULL,
    reference  TEXT    NOT NULL,
    letter     INTEGER NOT NULL,
    seen       TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    asked_by   TEXT    NOT NULL,
    asked_id   TEXT    NOT NULL,
    asked_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    decided_by TEXT    NOT NULL,
    decided_id TEXT    NOT NULL,
    decided_at INTEGER NOT NULL,
    decision   TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approval_asked ON approval (asked_at, id);
CREATE INDEX approval_state ON approval (state, asked_at, id);
CREATE INDEX approval_target ON approval (target, action, state);
-- +goose StatementEnd
