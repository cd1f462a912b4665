-- What speaks against players, and the wins that are kept apart for it, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE verdict (
    number   INTEGER NOT NULL PRIMARY KEY,
    user_id  TEXT    NOT NULL,
    verdict  TEXT    NOT NULL,
    score    INTEGER NOT NULL,
    reasons  TEXT    NOT NULL,
    given_by TEXT    NOT NULL,
    given_at INTEGER NOT NULL
) STRICT;
CREATE INDEX verdict_user ON verdict (user_id, number);

CREATE TABLE held (
    claim       TEXT    NOT NULL PRIMARY KEY,
    campaign_id TEXT    NOT NULL,
    packet      INTEGER NOT NULL,
    user_id     TEXT    NOT NULL,
    amount      INTEGER NOT NULL,
    won_at      INTEGER NOT NULL,
    drop_id     TEXT    NOT NULL,
    verdict     TEXT    NOT NULL,
    score       INTEGER NOT NULL,
    reasons     TEXT    NOT NULL,
    held_at     INTEGER NOT NULL,
    hold_id     INTEGER NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'held',
    decided_by  TEXT    NOT NULL DEFAULT '',
    decision    TEXT    NOT NULL DEFAULT '',
    decided_at  INTEGER NOT NULL DEFAULT 0,
    release_id  INTEGER NOT NULL DEFAULT 0,
    confirm_id  INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT held_positive CHECK (amount > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX held_state ON held (state, held_at, claim);
CREATE INDEX held_open ON held (state, claim);
CREATE INDEX held_campaign ON held (campaign_id, state, packet, amount);
CREATE INDEX held_user ON held (user_id, state, won_at, campaign_id, packet);
CREATE INDEX held_user_state ON held (user_id, state, held_at, claim);
CREATE INDEX held_campaign_state ON held (campaign_id, state, held_at, claim);
CREATE INDEX held_hold ON held (hold_id);
CREATE INDEX held_release ON held (release_id);
CREATE INDEX held_confirm ON held (confirm_id);
-- +goose StatementEnd
