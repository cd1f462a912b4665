-- The ledger and what stands around it, for SQLite. The MySQL file beside this one says what is what; the tables and
-- columns are the same. STRICT, because otherwise SQLite turns an overflowing sum into a floating-point number.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE campaign (
    id               TEXT    NOT NULL PRIMARY KEY,
    name             TEXT    NOT NULL,
    sponsor          TEXT    NOT NULL,
    budget           INTEGER NOT NULL,
    packets          INTEGER NOT NULL,
    split            TEXT    NOT NULL,
    min_amount       INTEGER NOT NULL,
    max_amount       INTEGER NULL,
    wins_per_user    INTEGER NOT NULL,
    taps_per_user    INTEGER NOT NULL,
    shards           INTEGER NOT NULL,
    capacity         INTEGER NOT NULL,
    admit_per_second INTEGER NOT NULL,
    players_list     TEXT    NOT NULL,
    guests_share     INTEGER NOT NULL,
    expires_in_ms    INTEGER NOT NULL,
    status           TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    revision         INTEGER NOT NULL,
    drained          INTEGER NOT NULL DEFAULT 0,
    split_seed       TEXT    NOT NULL
) STRICT;
CREATE INDEX campaign_created ON campaign (created_at, id);
CREATE INDEX campaign_expires ON campaign (expires_at, id);
CREATE INDEX campaign_name ON campaign (name, id);
CREATE INDEX campaign_budget ON campaign (budget, id);
CREATE INDEX campaign_sponsor ON campaign (sponsor, created_at, id);
CREATE INDEX campaign_status ON campaign (status, created_at, id);
CREATE INDEX campaign_drained ON campaign (drained, id);
CREATE INDEX campaign_players ON campaign (players_list, drained);

CREATE TABLE campaign_amounts (
    campaign_id      TEXT    NOT NULL PRIMARY KEY,
    amounts          TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE rain (
    campaign_id      TEXT    NOT NULL,
    ordinal          INTEGER NOT NULL,
    id               TEXT    NOT NULL,
    starts_at        INTEGER NOT NULL,
    duration_ms      INTEGER NOT NULL,
    drops_per_second INTEGER NOT NULL,
    fall_ms          INTEGER NOT NULL,
    decoy_percent    INTEGER NOT NULL,
    pacing           TEXT    NOT NULL,
    odds             INTEGER NOT NULL,
    beat_ms          INTEGER NOT NULL,
    odds_record      TEXT    NOT NULL,
    first_wave       INTEGER NOT NULL,
    seed             TEXT    NOT NULL,
    stopped_at       INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX rain_id ON rain (campaign_id, id);

CREATE TABLE txn (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    kind             TEXT    NOT NULL,
    idem_key         TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    papers           BLOB    NOT NULL,
    hash             BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX txn_idem ON txn (idem_key);

CREATE TABLE block (
    book             TEXT    NOT NULL,
    number           INTEGER NOT NULL,
    last_id          INTEGER NOT NULL,
    rows_hashed      INTEGER NOT NULL,
    hash             TEXT    NOT NULL,
    PRIMARY KEY (book, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE root (
    day              TEXT    NOT NULL PRIMARY KEY,
    taken_at         INTEGER NOT NULL,
    previous         TEXT    NOT NULL,
    blocks           TEXT    NOT NULL,
    hash             TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE entry (
    txn_id           INTEGER NOT NULL,
    line_no          INTEGER NOT NULL,
    account_id       TEXT    NOT NULL,
    amount           INTEGER NOT NULL,
    PRIMARY KEY (txn_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_account ON entry (account_id, txn_id, amount);

CREATE TABLE balance (
    account_id       TEXT    NOT NULL PRIMARY KEY,
    amount           INTEGER NOT NULL,
    CONSTRAINT balance_not_negative CHECK (amount >= 0 OR (account_id >= 'world:' AND account_id < 'world;'))
) STRICT, WITHOUT ROWID;

-- Whose the accounts are, as their ids say. A view, so that a new player's first payout costs no row more.
CREATE VIEW account AS
SELECT account_id AS id, substr(account_id, 1, instr(account_id, ':') - 1) AS owner_type,
    substr(account_id, instr(account_id, ':') + 1) AS owner_id
FROM balance;

CREATE TABLE payout (
    campaign_id      TEXT    NOT NULL,
    packet           INTEGER NOT NULL,
    claim            TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    amount           INTEGER NOT NULL,
    state            TEXT    NOT NULL DEFAULT 'settled',
    drop_id          TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    won_at           INTEGER NOT NULL,
    entry_seq        INTEGER NOT NULL,
    settled_at       INTEGER NOT NULL,
    txn_id           INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, packet),
    CONSTRAINT payout_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX payout_drop ON payout (campaign_id, user_id, drop_id);
CREATE INDEX payout_shard ON payout (campaign_id, shard, won_at, entry_seq, packet);
CREATE INDEX payout_user ON payout (user_id, won_at, campaign_id, packet);

CREATE TABLE winner (
    campaign_id      TEXT    NOT NULL,
    user_id          TEXT    NOT NULL,
    wins             INTEGER NOT NULL,
    amount           INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE reclaim (
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    numbers          TEXT    NOT NULL,
    packets          INTEGER NOT NULL,
    amount           INTEGER NOT NULL,
    closed_at        INTEGER NOT NULL,
    entry_seq        INTEGER NOT NULL,
    reclaimed_at     INTEGER NOT NULL,
    txn_id           INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, shard, closed_at, entry_seq)
) STRICT, WITHOUT ROWID;

-- Append-only. What sponsors have paid in: the paper of each transaction of kind deposit.
CREATE TABLE deposit (
    sponsor          TEXT    NOT NULL,
    reference        TEXT    NOT NULL,
    amount           INTEGER NOT NULL,
    actor            TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    txn_id           INTEGER NOT NULL,
    PRIMARY KEY (sponsor, reference),
    CONSTRAINT deposit_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX deposit_txn ON deposit (txn_id);
CREATE INDEX deposit_created ON deposit (created_at);

CREATE TABLE campaign_tally (
    campaign_id      TEXT    NOT NULL PRIMARY KEY,
    paid             INTEGER NOT NULL,
    amount_paid      INTEGER NOT NULL,
    reclaimed        INTEGER NOT NULL,
    amount_reclaimed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_letter (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint      TEXT    NOT NULL,
    claim            TEXT    NOT NULL,
    source           TEXT    NOT NULL,
    kind             TEXT    NOT NULL,
    campaign_id      TEXT    NOT NULL,
    shard            INTEGER NOT NULL,
    packet           INTEGER NOT NULL,
    user_id          TEXT    NOT NULL,
    amount           INTEGER NOT NULL,
    won_at           INTEGER NOT NULL,
    entry_seq        INTEGER NOT NULL,
    reason           TEXT    NOT NULL,
    payload          BLOB    NOT NULL,
    created_at       INTEGER NOT NULL,
    resolved_at      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX dead_letter_fingerprint ON dead_letter (fingerprint);
CREATE INDEX dead_letter_claim ON dead_letter (claim);
CREATE INDEX dead_letter_waiting ON dead_letter (resolved_at, id);
CREATE INDEX dead_letter_campaign ON dead_letter (campaign_id, resolved_at, packet);
CREATE INDEX dead_letter_user ON dead_letter (user_id, won_at);

CREATE TABLE idempotency (
    idem_key         TEXT    NOT NULL PRIMARY KEY,
    body_hash        TEXT    NOT NULL,
    status           INTEGER NOT NULL,
    answer           BLOB    NOT NULL,
    expires_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_expires ON idempotency (expires_at);

CREATE TABLE audit (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    at               INTEGER NOT NULL,
    actor            TEXT    NOT NULL,
    role             TEXT    NOT NULL,
    action           TEXT    NOT NULL,
    target           TEXT    NOT NULL,
    detail           TEXT    NOT NULL,
    request          TEXT    NOT NULL,
    hash             BLOB    NOT NULL
) STRICT;
CREATE INDEX audit_action ON audit (action, id);
CREATE INDEX audit_target ON audit (target, id);
-- +goose StatementEnd
