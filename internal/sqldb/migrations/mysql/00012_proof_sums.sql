-- So that the next proof finds sums of checkpoints that there are not.
--
-- MySQL 8 has no CREATE INDEX IF NOT EXISTS, and a node may die between two statements.

-- +goose Up
-- +goose StatementBegin
SET @make = IF((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'proof_sum'
    AND index_name = 'proof_sum_checkpoint') = 0, 'CREATE INDEX proof_sum_checkpoint ON proof_sum (checkpoint)', 'DO 0');
PREPARE make_index FROM @make;
EXECUTE make_index;
DEALLOCATE PREPARE make_index;
-- +goose StatementEnd
