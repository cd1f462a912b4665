-- What campaigns' figures were while it rained, for the charts, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE figure (
    campaign_id TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    span_ms     INTEGER NOT NULL,
    online      INTEGER NOT NULL,
    waiting     INTEGER NOT NULL,
    grabs       INTEGER NOT NULL,
    p50_us      INTEGER NOT NULL,
    p99_us      INTEGER NOT NULL,
    taps        INTEGER NOT NULL,
    won         INTEGER NOT NULL,
    paid        INTEGER NOT NULL,
    stock       INTEGER NOT NULL,
    empty       INTEGER NOT NULL,
    late        INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, at)
) STRICT;
CREATE INDEX figure_span ON figure (span_ms, at);
-- +goose StatementEnd
