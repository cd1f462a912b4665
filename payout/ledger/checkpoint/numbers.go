package checkpoint

import (
	"context"
	"fmt"
	"math"

	"redrain/internal/sqldb"
)

const (
	// mostNumber is more than any checkpoint's number.
	mostNumber = 1 << 62
	// farAhead is how far behind a checkpoint a row is looked for that has the next one's number: what is further away
	// was put there by hand, and must not use up the numbers.
	farAhead = 1 << 32
)

// next is the number of the checkpoint that follows one; free is false where another process has written one. A forged
// one stays where it is, as do sums of checkpoints that were removed, and both stop nobody: the next comes behind them.
func next(ctx context.Context, tx *sqldb.Tx, k keys, before int64) (free bool, number int64, err error) {
	free = true
	number = before
	err = tx.Each(ctx, func(row sqldb.Scan) error {
		c, err := scan(row)
		if number = max(number, c.Number); c.sealed(k) {
			free = false
		}
		return err
	}, "SELECT "+columns+" FROM proof_checkpoint WHERE number > ? AND number < ?", before, before+farAhead)
	if err != nil || !free {
		return false, 0, err
	}
	var sums int64
	_, err = tx.First(ctx, []any{&sums}, "SELECT checkpoint FROM proof_sum WHERE checkpoint < ? "+
		"ORDER BY checkpoint DESC LIMIT 1", before+farAhead)
	return true, max(number, sums) + 1, err
}

// skipped tells whether a checkpoint has passed over a number, or has not come to it.
func (c *Checkpoint) skipped(number int64) bool {
	for _, r := range c.strange() {
		if r.From <= number && number <= r.To {
			return true
		}
	}
	return false
}

// strange are the numbers of which there is no checkpoint, as of this one.
func (c *Checkpoint) strange() []Range {
	return append([]Range{{math.MinInt64, 0}, {c.Number + 1, math.MaxInt64}}, c.Skipped...)
}

// Strays looks for sums of checkpoints that there are not: which somebody has removed, or which somebody has added sums
// of. at is the newest one, as of the same moment. Found hears of them; nothing is carried forward from them.
func Strays(ctx context.Context, q sqldb.Querier, at Checkpoint, found func(fault string)) error {
	for _, r := range at.strange() {
		var number int64
		is, err := q.First(ctx, []any{&number}, "SELECT checkpoint FROM proof_sum WHERE checkpoint BETWEEN ? AND ? "+
			"ORDER BY checkpoint LIMIT 1", r.From, r.To)
		if err != nil {
			return fmt.Errorf("sums of checkpoints that there are not: %w", err)
		}
		if is {
			found(fmt.Sprintf("there are sums of checkpoint %d, which there is not: it was removed, or they were "+
				"added, by hand", number))
		}
	}
	return nil
}
