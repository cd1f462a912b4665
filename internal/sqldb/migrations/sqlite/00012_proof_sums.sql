-- So that the next proof finds sums of checkpoints that there are not.

-- +goose Up
-- +goose StatementBegin
CREATE INDEX proof_sum_checkpoint ON proof_sum (checkpoint);
-- +goose StatementEnd
