-- Money on its way out, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE withdrawal (
    id               TEXT    NOT NULL PRIMARY KEY,
    user_id          TEXT    NOT NULL,
    payee            TEXT    NOT NULL DEFAULT '',
    amount           INTEGER NOT NULL,
    state            TEXT    NOT NULL,
    receiver         TEXT    NOT NULL DEFAULT '',
    dead             INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0,
    tries            INTEGER NOT NULL DEFAULT 0,
    next_at          INTEGER NOT NULL,
    try_ends         INTEGER NOT NULL DEFAULT 0,
    last_error       TEXT    NOT NULL DEFAULT '',
    reference        TEXT    NOT NULL DEFAULT '',
    action_kind      TEXT    NOT NULL DEFAULT '',
    action_url       TEXT    NOT NULL DEFAULT '',
    action_data      TEXT    NOT NULL DEFAULT '',
    action_until     INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    sent_at          INTEGER NOT NULL DEFAULT 0,
    waits_since      INTEGER NOT NULL DEFAULT 0,
    finished_at      INTEGER NOT NULL DEFAULT 0,
    txn_id           INTEGER NOT NULL,
    paid_id          INTEGER NOT NULL DEFAULT 0,
    return_id        INTEGER NOT NULL DEFAULT 0,
    request          TEXT    NOT NULL DEFAULT '',
    CONSTRAINT withdrawal_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX withdrawal_due ON withdrawal (state, dead, next_at, id);
CREATE INDEX withdrawal_try ON withdrawal (try_ends);
CREATE INDEX withdrawal_created ON withdrawal (created_at, id);
CREATE INDEX withdrawal_state ON withdrawal (state, created_at, id);
CREATE INDEX withdrawal_user ON withdrawal (user_id, created_at, id);
CREATE INDEX withdrawal_payee ON withdrawal (payee, created_at);
CREATE INDEX withdrawal_txn ON withdrawal (txn_id);
CREATE INDEX withdrawal_paid ON withdrawal (paid_id);
CREATE INDEX withdrawal_return ON withdrawal (return_id);

CREATE TABLE withdrawal_event (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    withdrawal_id TEXT    NOT NULL,
    at            INTEGER NOT NULL,
    state         TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    receiver      TEXT    NOT NULL
) STRICT;
CREATE INDEX withdrawal_event_of ON withdrawal_event (withdrawal_id, id);

CREATE TABLE provider_pace (
    receiver  TEXT    NOT NULL PRIMARY KEY,
    next_turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE payee (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id   TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    account   TEXT    NOT NULL,
    issued_at INTEGER NOT NULL,
    linked_at INTEGER NOT NULL
) STRICT;
CREATE INDEX payee_user ON payee (user_id, kind, id);
CREATE INDEX payee_account ON payee (kind, account);
-- +goose StatementEnd
