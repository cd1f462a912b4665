-- What has left the books, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE archive (
    id            TEXT    NOT NULL PRIMARY KEY,
    file          TEXT    NOT NULL,
    links         INTEGER NOT NULL,
    payouts       INTEGER NOT NULL,
    amount_paid   INTEGER NOT NULL,
    packets_back  INTEGER NOT NULL,
    amount_back   INTEGER NOT NULL,
    actor         TEXT    NOT NULL,
    began_at      INTEGER NOT NULL,
    finished_at   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX archive_open ON archive (finished_at, id);

CREATE TABLE archive_step (
    archive       TEXT    NOT NULL,
    number        INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    txn_id        INTEGER NOT NULL,
    links         INTEGER NOT NULL,
    digest        TEXT    NOT NULL,
    payouts       INTEGER NOT NULL,
    amount_paid   INTEGER NOT NULL,
    packets_back  INTEGER NOT NULL,
    amount_back   INTEGER NOT NULL,
    PRIMARY KEY (archive, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX archive_step_txn ON archive_step (txn_id);

CREATE TABLE chain_stub (
    book          TEXT    NOT NULL,
    stripe        INTEGER NOT NULL,
    link          INTEGER NOT NULL,
    content       BLOB    NOT NULL,
    hash          BLOB    NOT NULL,
    kind          TEXT    NOT NULL,
    idem_key      TEXT    NOT NULL,
    rest          BLOB    NOT NULL,
    archive       TEXT    NOT NULL,
    step          INTEGER NOT NULL,
    PRIMARY KEY (book, stripe, link)
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_stub_step ON chain_stub (archive, step, book, stripe, link);
-- +goose StatementEnd
