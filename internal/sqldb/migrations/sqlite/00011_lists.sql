-- Lists of players and of addresses, for SQLite. The MySQL file beside this one says what is what.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE player_list (
    name       TEXT    NOT NULL PRIMARY KEY,
    kind       TEXT    NOT NULL,
    purpose    TEXT    NOT NULL,
    members    INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    busy_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX player_list_purpose ON player_list (purpose, kind, name);

CREATE TABLE list_member (
    list_name  TEXT    NOT NULL,
    who        TEXT    NOT NULL,
    added_at   INTEGER NOT NULL,
    removed_at INTEGER NOT NULL,
    mark       INTEGER NOT NULL,
    PRIMARY KEY (list_name, who)
) STRICT, WITHOUT ROWID;
-- +goose StatementEnd
