CREATE TABLE IF NOT EXISTS txn (
    id         BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    idem_key   VARBINARY(320) NOT NULL,
    created_at BIGINT         NOT NULL,
    UNIQUE KEY txn_idem (idem_key)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS entry (
    txn_id     BIGINT         NOT NULL,
    line_no    INT            NOT NULL,
    account_id VARBINARY(160) NOT NULL,
    amount     BIGINT         NOT NULL,
    PRIMARY KEY (txn_id, line_no),
    KEY entry_account (account_id, txn_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS balance (
    account_id VARBINARY(160) NOT NULL PRIMARY KEY,
    amount     BIGINT         NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS payout (
    campaign_id VARBINARY(64)  NOT NULL,
    packet      INT            NOT NULL,
    user_id     VARBINARY(128) NOT NULL,
    amount      BIGINT         NOT NULL,
    txn_id      BIGINT         NOT NULL,
    settled_at  BIGINT         NOT NULL,
    PRIMARY KEY (campaign_id, packet),
    KEY payout_user (user_id, campaign_id, packet)
) ENGINE = InnoDB;
