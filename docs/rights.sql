-- What the database's user of the server needs, and nothing more: with these rights redrain can append where rows are
-- append-only (txn, entry, payout, reclaim, reclaim_cut, deposit, withdrawal_event, audit, block, root,
-- campaign_amounts, archive, sanction, verdict, payee), and cannot change or remove
-- what is there, whoever has got hold of its password.
--
-- For MySQL 8 and MariaDB, by an administrator, once the tables are there (`redrain migrate`, by the user of
-- rights-migrate.sql). Put your names for the database redrain and the user 'redrain'@'%'. Create the user first:
--
--   CREATE USER 'redrain'@'%' IDENTIFIED BY 'change-me';
--
-- Tests run the ledger, and a rain from its start to its end, with exactly these.

-- LOCK TABLES is what MySQL 8 wants for SELECT … FOR UPDATE where it finds no UPDATE on the whole table.
GRANT SELECT, INSERT, LOCK TABLES ON redrain.* TO 'redrain'@'%';

-- Sums that are carried forward, and what a campaign's shards have been through; reconciliation holds them against the
-- rows that cannot change. Whole rows, because INSERT … ON DUPLICATE KEY UPDATE asks MariaDB for UPDATE on each column
-- that it names.
GRANT UPDATE ON redrain.balance TO 'redrain'@'%';
GRANT UPDATE ON redrain.winner TO 'redrain'@'%';
GRANT UPDATE ON redrain.campaign_tally TO 'redrain'@'%';
GRANT UPDATE ON redrain.shard_epoch TO 'redrain'@'%';
GRANT UPDATE ON redrain.shard_mark TO 'redrain'@'%';
GRANT UPDATE ON redrain.rain TO 'redrain'@'%';
GRANT UPDATE ON redrain.dead_letter TO 'redrain'@'%';

-- These columns change until the row is final. Payer, amount, payee and time are not among them.
GRANT UPDATE (status, expires_at, drained, revision) ON redrain.campaign TO 'redrain'@'%';
GRANT UPDATE (state, receiver, dead, attempts, tries, next_at, try_ends, last_error, reference, action_kind, action_url,
    action_data, action_until, sent_at, waits_since, finished_at, paid_id, return_id) ON redrain.withdrawal TO 'redrain'@'%';
GRANT UPDATE (to_number, done_at) ON redrain.move TO 'redrain'@'%';
-- How an order that two people give has ended. Who has asked for it, and for what, is not among it.
GRANT UPDATE (state, decided_by, decided_id, decided_at, decision) ON redrain.approval TO 'redrain'@'%';

-- What has become of a win that was kept apart. Whose it is, how much, and why it was kept is not among it.
GRANT UPDATE (state, decided_by, decision, decided_at, release_id, confirm_id) ON redrain.held TO 'redrain'@'%';

-- Work and memory that no money depends on.
GRANT UPDATE ON redrain.lease TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.attempt TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.attempt_claim TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.idempotency TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.provider_pace TO 'redrain'@'%';
-- Who may take part, and who may not.
GRANT UPDATE, DELETE ON redrain.player_list TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.list_member TO 'redrain'@'%';
GRANT UPDATE, DELETE ON redrain.figure TO 'redrain'@'%';
GRANT UPDATE ON redrain.proof TO 'redrain'@'%';
