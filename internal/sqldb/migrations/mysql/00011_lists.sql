-- Lists of players and of addresses, for MySQL 8 and MariaDB 10.11: who may take part in a campaign, and who in none.

-- +goose Up
-- +goose StatementBegin
CREATE TABLE IF NOT EXISTS player_list (
    name       VARBINARY(64)  NOT NULL PRIMARY KEY,
    kind       VARCHAR(16)    NOT NULL, -- players, addresses
    purpose    VARCHAR(16)    NOT NULL, -- invite: campaigns name it; deny: nobody on it takes part anywhere
    members    BIGINT         NOT NULL,
    revision   BIGINT         NOT NULL, -- rises with each change; nodes look again at who is here when it does
    busy_until BIGINT         NOT NULL, -- while an import is under way: when it counts as broken off
    created_at BIGINT         NOT NULL,
    changed_at BIGINT         NOT NULL,
    changed_by VARBINARY(200) NOT NULL,
    KEY player_list_purpose (purpose, kind, name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Who is on a list, and who was.
CREATE TABLE IF NOT EXISTS list_member (
    list_name  VARBINARY(64)  NOT NULL,
    who        VARBINARY(256) NOT NULL, -- a player's id, or a network
    added_at   BIGINT         NOT NULL,
    removed_at BIGINT         NOT NULL, -- 0: they are on it
    mark       BIGINT         NOT NULL, -- the list's revision when an import last named them
    PRIMARY KEY (list_name, who)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
-- +goose StatementEnd
