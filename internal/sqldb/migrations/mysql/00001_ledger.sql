-- The ledger and what stands around it, for MySQL 8 and MariaDB 10.11.
--
-- Ids are VARBINARY: the text collations that both servers have ignore spaces at the end, so the players "u" and "u "
-- would share one account. Where a client shows them in hex: CONVERT(account_id USING utf8mb4).
-- Amounts are minor units, times are Unix milliseconds. There are no foreign keys: their shared locks on campaign
-- and txn would make settlement wait for operators and the other way round; the ledger's own code is the only writer.
-- IF NOT EXISTS, because DDL is not transactional here and a node may die between two statements.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS campaign (
    id            VARBINARY(64)  NOT NULL PRIMARY KEY,
    name          VARCHAR(200)   NOT NULL,
    sponsor       VARBINARY(64)  NOT NULL,
    budget        BIGINT         NOT NULL,
    packets       INT            NOT NULL,
    split         VARCHAR(32)    NOT NULL,
    min_amount    BIGINT         NOT NULL,
    max_amount    BIGINT         NULL,               -- NULL: no maximum
    wins_per_user INT            NOT NULL,
    taps_per_user INT            NOT NULL,
    shards        INT            NOT NULL,
    capacity      INT            NOT NULL,
    admit_per_second INT            NOT NULL,
    players_list     VARBINARY(64)  NOT NULL, -- the list of those who may take part; empty: everybody
    guests_share     BIGINT         NOT NULL, -- the guests' part of the packets, in millionths; 0: they share the stock with the players
    expires_in_ms BIGINT         NOT NULL,
    status        VARCHAR(16)    NOT NULL,
    created_at    BIGINT         NOT NULL,
    expires_at    BIGINT         NOT NULL,
    revision      BIGINT         NOT NULL,
    drained       TINYINT        NOT NULL DEFAULT 0,
    split_seed    CHAR(64)       NOT NULL,           -- secret
    KEY campaign_created (created_at, id),
    KEY campaign_players (players_list, drained),
    KEY campaign_expires (expires_at, id),
    KEY campaign_name (name, id),
    KEY campaign_budget (budget, id),
    KEY campaign_sponsor (sponsor, created_at, id),
    KEY campaign_status (status, created_at, id),
    KEY campaign_drained (drained, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The given amounts of a campaign with the split "list", as a JSON array. Apart, because they may be long and are rarely read.
CREATE TABLE IF NOT EXISTS campaign_amounts (
    campaign_id VARBINARY(64) NOT NULL PRIMARY KEY,
    amounts     LONGTEXT      NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS rain (
    campaign_id      VARBINARY(64) NOT NULL,
    ordinal          INT           NOT NULL,         -- its place among the campaign's rains, from 0
    id               VARBINARY(64) NOT NULL,
    starts_at        BIGINT        NOT NULL,
    duration_ms      BIGINT        NOT NULL,
    drops_per_second INT           NOT NULL,
    fall_ms          BIGINT        NOT NULL,
    decoy_percent    INT           NOT NULL,
    pacing           VARCHAR(16)   NOT NULL,
    odds             BIGINT        NOT NULL,         -- of a draw, in billionths. 0: no draws. -1: odds_record holds the odds
    beat_ms          BIGINT        NOT NULL,         -- length of a beat, in ms. Each player has one draw in a beat
    odds_record      MEDIUMTEXT    NOT NULL,         -- "<first beat>:<odds>" for each change, as it was set
    first_wave       BIGINT        NOT NULL,
    seed             CHAR(64)      NOT NULL,         -- secret until the rain has ended
    stopped_at       BIGINT        NOT NULL,         -- 0: it was not stopped
    PRIMARY KEY (campaign_id, ordinal),
    UNIQUE KEY rain_id (campaign_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. Blocks of hashes of the rows of txn and audit: see payout/ledger/chain.
CREATE TABLE IF NOT EXISTS block (
    book        VARBINARY(16) NOT NULL,              -- the table
    number      BIGINT        NOT NULL,              -- from 1
    last_id     BIGINT        NOT NULL,              -- the highest id in it; the rows follow those of the block before
    rows_hashed BIGINT        NOT NULL,
    hash        VARBINARY(64) NOT NULL,              -- SHA-256 of the block before and of its rows, in hexadecimal
    PRIMARY KEY (book, number)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. The newest blocks at the end of each day.
CREATE TABLE IF NOT EXISTS root (
    day      VARBINARY(10) NOT NULL PRIMARY KEY,     -- 2026-11-23, UTC
    taken_at BIGINT        NOT NULL,
    previous VARBINARY(64) NOT NULL,                 -- the hash of the root before, in hexadecimal; '': it is the first
    blocks   LONGTEXT      NOT NULL,                 -- JSON
    hash     VARBINARY(64) NOT NULL                  -- SHA-256 of all that, in hexadecimal
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS txn (
    id         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    kind       VARCHAR(16)    NOT NULL,              -- deposit, fund, pay, reclaim
    idem_key   VARBINARY(320) NOT NULL,              -- what it is for; the same is never posted twice
    created_at BIGINT         NOT NULL,
    papers     BINARY(32)     NOT NULL,              -- SHA-256 of its papers, the rows that say what it is for
    hash       BINARY(32)     NOT NULL,              -- SHA-256 of its content, with its lines and papers
    UNIQUE KEY txn_idem (idem_key)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. The lines of a transaction sum to zero.
CREATE TABLE IF NOT EXISTS entry (
    txn_id     BIGINT         NOT NULL,
    line_no    INT            NOT NULL,
    account_id VARBINARY(160) NOT NULL,
    amount     BIGINT         NOT NULL,
    PRIMARY KEY (txn_id, line_no),
    KEY entry_account (account_id, txn_id, amount)  -- with the amount: a balance is summed from the index alone
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The accounts: world:<n> (the rows of the one account world), sponsor:<id>, escrow:<campaign>, user:<id>,
-- clearing:<id> and held:<id> (of players)
CREATE TABLE IF NOT EXISTS balance (
    account_id VARBINARY(160) NOT NULL PRIMARY KEY,
    amount     BIGINT         NOT NULL,
    CONSTRAINT balance_not_negative CHECK (amount >= 0 OR (account_id >= 'world:' AND account_id < 'world;'))
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Whose the accounts are, as their ids say. A view, so that a new player's first payout costs no row more.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW account AS
SELECT account_id AS id, CONVERT(SUBSTRING_INDEX(account_id, ':', 1) USING utf8mb4) AS owner_type,
    SUBSTRING(account_id, LOCATE(':', account_id) + 1) AS owner_id
FROM balance;

CREATE TABLE IF NOT EXISTS payout (
    campaign_id VARBINARY(64)  NOT NULL,
    packet      INT            NOT NULL,
    claim       VARBINARY(80)  NOT NULL DEFAULT (CONCAT(campaign_id, '-', packet)), -- campaign-packet, as rain.ClaimID makes it
    user_id     VARBINARY(128) NOT NULL,
    amount      BIGINT         NOT NULL,
    state       VARCHAR(16)    NOT NULL DEFAULT 'settled',
    drop_id     VARBINARY(40)  NOT NULL,
    shard       INT            NOT NULL,             -- where it was won
    won_at      BIGINT         NOT NULL,             -- with entry_seq: the outbox entry that it came in
    entry_seq   BIGINT         NOT NULL,
    settled_at  BIGINT         NOT NULL,
    txn_id      BIGINT         NOT NULL,
    PRIMARY KEY (campaign_id, packet),
    UNIQUE KEY payout_drop (campaign_id, user_id, drop_id), -- a drop wins once for each player
    KEY payout_user (user_id, won_at, campaign_id, packet),
    KEY payout_shard (campaign_id, shard, won_at, entry_seq, packet), -- a rebuild reads what a shard's players have won
    CONSTRAINT payout_positive CHECK (amount > 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- All that players have won of a campaign: how much of it they may still win, and who has won most.
CREATE TABLE IF NOT EXISTS winner (
    campaign_id VARBINARY(64)  NOT NULL,
    user_id     VARBINARY(128) NOT NULL,
    wins        BIGINT         NOT NULL,
    amount      BIGINT         NOT NULL,
    PRIMARY KEY (campaign_id, user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What went back to the sponsor from the shards; shard -1 is the whole campaign, where its stocking was abandoned,
-- and shard -2 the packets of a dismissed dead letter.
CREATE TABLE IF NOT EXISTS reclaim (
    campaign_id  VARBINARY(64) NOT NULL,
    shard        INT           NOT NULL,
    numbers      LONGTEXT      NOT NULL,             -- ranges of packets, as they were asked for
    packets      INT           NOT NULL,             -- that were given back
    amount       BIGINT        NOT NULL,
    closed_at    BIGINT        NOT NULL,             -- with entry_seq: the outbox entry that it came in
    entry_seq    BIGINT        NOT NULL,
    reclaimed_at BIGINT        NOT NULL,
    txn_id       BIGINT        NOT NULL,
    PRIMARY KEY (campaign_id, shard, closed_at, entry_seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Append-only. What sponsors have paid in: the paper of each transaction of kind deposit.
CREATE TABLE IF NOT EXISTS deposit (
    sponsor    VARBINARY(64)  NOT NULL,
    reference  VARBINARY(200) NOT NULL,              -- the sponsor's own; the same is never booked twice
    amount     BIGINT         NOT NULL,
    actor      VARBINARY(200) NOT NULL,              -- who entered it
    created_at BIGINT         NOT NULL,
    txn_id     BIGINT         NOT NULL,
    PRIMARY KEY (sponsor, reference),
    KEY deposit_txn (txn_id),
    KEY deposit_created (created_at),
    CONSTRAINT deposit_positive CHECK (amount > 0)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS campaign_tally (
    campaign_id      VARBINARY(64) NOT NULL PRIMARY KEY,
    paid             BIGINT        NOT NULL,         -- packets
    amount_paid      BIGINT        NOT NULL,
    reclaimed        BIGINT        NOT NULL,         -- packets
    amount_reclaimed BIGINT        NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What could not be posted and waits for a person. A claim may be here more than once: two players with a claim to one
-- packet have a dead letter each.
CREATE TABLE IF NOT EXISTS dead_letter (
    id          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    fingerprint CHAR(64)       NOT NULL,             -- SHA-256 of all that it says: the same is kept once
    claim       VARBINARY(160) NOT NULL,
    source      VARBINARY(200) NOT NULL,             -- the outbox entry or the stream message that it came in
    kind        VARCHAR(16)    NOT NULL,             -- pay, reclaim, forged, message, withdrawal
    campaign_id VARBINARY(64)  NOT NULL,
    shard       INT            NOT NULL,
    packet      INT            NOT NULL,
    user_id     VARBINARY(128) NOT NULL,
    amount      BIGINT         NOT NULL,
    won_at      BIGINT         NOT NULL,
    entry_seq   BIGINT         NOT NULL,
    reason      VARCHAR(500)   NOT NULL,
    payload     LONGBLOB       NOT NULL,             -- as it arrived, to be posted from again
    created_at  BIGINT         NOT NULL,
    resolved_at BIGINT         NOT NULL DEFAULT 0,   -- 0: it waits
    UNIQUE KEY dead_letter_fingerprint (fingerprint),
    KEY dead_letter_claim (claim),
    KEY dead_letter_waiting (resolved_at, id),
    KEY dead_letter_campaign (campaign_id, resolved_at, packet),
    KEY dead_letter_user (user_id, won_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS idempotency (
    idem_key   CHAR(64)       NOT NULL PRIMARY KEY,  -- SHA-256 of the request's scope and key
    body_hash  CHAR(64)       NOT NULL,
    status     INT            NOT NULL,              -- HTTP status of the answer; 0: being worked on
    answer     LONGBLOB       NOT NULL,
    expires_at BIGINT         NOT NULL,
    KEY idempotency_expires (expires_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS audit (
    id     BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at     BIGINT         NOT NULL,
    actor  VARBINARY(200) NOT NULL,
    role   VARCHAR(32)    NOT NULL,
    action VARCHAR(64)    NOT NULL,
    target VARBINARY(200) NOT NULL,
    detail LONGTEXT       NOT NULL,                  -- JSON
    request VARBINARY(128) NOT NULL,                 -- the id of the HTTP request; '': none
    hash   BINARY(32)     NOT NULL,                  -- SHA-256 of its content
    KEY audit_action (action, id),                   -- finds restores
    KEY audit_target (target, id)                    -- what was done about one player
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
