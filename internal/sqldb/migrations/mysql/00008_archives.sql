-- What has left the books, for MySQL 8 and MariaDB 10.11.

-- +goose Up
-- +goose StatementBegin
-- What was exported, and then removed. Only redrain campaign drop and redrain audit drop write here, by a user that servers do not have.
CREATE TABLE IF NOT EXISTS archive (
    id            VARBINARY(64)  NOT NULL PRIMARY KEY, -- the campaign's, or: audit to DAY
    file          VARBINARY(64)  NOT NULL,             -- the SHA-256 of the export, in hexadecimal
    links         BIGINT         NOT NULL,             -- transactions, or audit records, that leave
    payouts       BIGINT         NOT NULL,             -- that leave with them
    amount_paid   BIGINT         NOT NULL,
    packets_back  BIGINT         NOT NULL,             -- given back to the sponsor
    amount_back   BIGINT         NOT NULL,
    actor         VARBINARY(200) NOT NULL,             -- who has had it removed
    began_at      BIGINT         NOT NULL,
    finished_at   BIGINT         NOT NULL DEFAULT 0,   -- 0: rows are still being removed
    KEY archive_open (finished_at, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. What has left in one transaction of the database.
CREATE TABLE IF NOT EXISTS archive_step (
    archive       VARBINARY(64)  NOT NULL,
    number        BIGINT         NOT NULL,             -- from 1
    at            BIGINT         NOT NULL,
    txn_id        BIGINT         NOT NULL,             -- the transaction of kind carried; 0: none
    links         BIGINT         NOT NULL,
    digest        VARBINARY(64)  NOT NULL,             -- SHA-256 of what is left of them in chain_stub, in hexadecimal
    payouts       BIGINT         NOT NULL,
    amount_paid   BIGINT         NOT NULL,
    packets_back  BIGINT         NOT NULL,
    amount_back   BIGINT         NOT NULL,
    PRIMARY KEY (archive, number),
    KEY archive_step_txn (txn_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. What is left of a chain's link whose row has left: so the chain can be followed, and its roots hold.
CREATE TABLE IF NOT EXISTS chain_stub (
    book          VARBINARY(16)  NOT NULL,             -- the table
    stripe        BIGINT         NOT NULL,
    link          BIGINT         NOT NULL,
    content       BINARY(32)     NOT NULL,             -- SHA-256 of what the row said
    hash          BINARY(32)     NOT NULL,             -- of the link
    kind          VARBINARY(16)  NOT NULL,             -- of a transaction; '' of an audit record, as the next two
    idem_key      VARBINARY(320) NOT NULL,             -- its key
    rest          VARBINARY(32)  NOT NULL,             -- SHA-256 of all else that it said: content is that of the three
    archive       VARBINARY(64)  NOT NULL,
    step          BIGINT         NOT NULL,
    PRIMARY KEY (book, stripe, link),
    KEY chain_stub_step (archive, step, book, stripe, link)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
