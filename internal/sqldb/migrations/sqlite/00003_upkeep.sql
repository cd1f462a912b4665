-- What keeps the campaigns and the payouts going. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE lease (
    name             TEXT    NOT NULL PRIMARY KEY,
    holder           TEXT    NOT NULL,
    expires_at       INTEGER NOT NULL,
    term             INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    entry            TEXT    NOT NULL PRIMARY KEY,
    attempts         INTEGER NOT NULL,
    last_error       TEXT    NOT NULL,
    last_at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_last ON attempt (last_at);

CREATE TABLE attempt_claim (
    entry            TEXT    NOT NULL,
    line_no          INTEGER NOT NULL,
    campaign_id      TEXT    NOT NULL,
    packet           INTEGER NOT NULL,
    user_id          TEXT    NOT NULL,
    PRIMARY KEY (entry, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_claim_packet ON attempt_claim (campaign_id, packet);

CREATE TABLE reclaim_cut (
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    closed_at        INTEGER NOT NULL,
    entry_seq        INTEGER NOT NULL,
    asked            INTEGER NOT NULL,
    given            INTEGER NOT NULL,
    numbers          TEXT    NOT NULL,
    reason           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, shard, closed_at, entry_seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX campaign_due ON campaign (drained, status, expires_at, id);
-- +goose StatementEnd
