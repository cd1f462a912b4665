-- What campaigns' figures were while it rained, for the charts, for MySQL 8 and MariaDB 10.11. No money depends on it.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS figure (
    campaign_id VARBINARY(64) NOT NULL,
    at          BIGINT        NOT NULL, -- when the span begins, Unix ms
    span_ms     INT           NOT NULL, -- 1,000; wider once the row has aged
    online      BIGINT        NOT NULL, -- this and the next four: the highest of the span
    waiting     BIGINT        NOT NULL,
    grabs       BIGINT        NOT NULL, -- taps a second
    p50_us      BIGINT        NOT NULL, -- of the time in which taps are answered; 0 where nobody tapped
    p99_us      BIGINT        NOT NULL,
    taps        BIGINT        NOT NULL, -- from here on: since the campaign began, at the end of the span
    won         BIGINT        NOT NULL, -- packets
    paid        BIGINT        NOT NULL, -- packets
    stock       BIGINT        NOT NULL, -- packets that are left
    empty       BIGINT        NOT NULL, -- taps
    late        BIGINT        NOT NULL, -- taps
    PRIMARY KEY (campaign_id, at),
    KEY figure_span (span_ms, at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
