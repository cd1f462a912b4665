-- So that the next proof finds sums of checkpoints that there are not.

-- +goose Up
CREATE INDEX proof_sum_checkpoint ON proof_sum (checkpoint);
