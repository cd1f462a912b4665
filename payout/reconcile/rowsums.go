package reconcile

import (
	"context"
	"math"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/checkpoint"
)

// rowSums adds up the rows that checkpoints carry sums of, anew and in stretches.
type rowSums struct {
	stretch int // how many rows one statement adds up

	campaign string                 // the payouts of which are added up
	shards   map[int]checkpoint.Sum // they are, by shard
}

// entries adds up the entries of an account by transactions of one kind, "" = of any.
func (r *rowSums) entries(ctx context.Context, q sqldb.Querier, account, kind string) (sum checkpoint.Sum, err error) {
	return sum, eachStretch(ctx, q, entryStretch, account, r.stretch, func(after, until int64) error {
		var rows, amount int64
		_, err := q.First(ctx, []any{&rows, &amount}, "SELECT COUNT(*), COALESCE(SUM(e.amount), 0) FROM entry e "+
			"LEFT JOIN txn t ON t.id = e.txn_id WHERE e.account_id = ? AND e.txn_id > ? AND e.txn_id <= ? "+
			"AND (? = '' OR t.kind = ?)", account, after, until, kind, kind)
		sum = sum.Plus(rows, 0, amount)
		return err
	})
}

// payouts adds up the payouts of a shard. Those of all shards of the campaign are added up together, once.
func (r *rowSums) payouts(ctx context.Context, q sqldb.Querier, campaign string, shard int) (checkpoint.Sum, error) {
	if r.campaign == campaign && r.shards != nil {
		return r.shards[shard], nil
	}
	r.campaign, r.shards = campaign, map[int]checkpoint.Sum{}
	err := eachStretch(ctx, q, payoutStretch, campaign, r.stretch, func(after, until int64) error {
		return q.Each(ctx, func(scan sqldb.Scan) error {
			var n int
			var rows, numbers, amount int64
			err := scan(&n, &rows, &numbers, &amount)
			r.shards[n] = r.shards[n].Plus(rows, numbers, amount)
			return err
		}, "SELECT shard, COUNT(*), SUM(packet), SUM(amount) FROM payout WHERE campaign_id = ? AND packet > ? "+
			"AND packet <= ? GROUP BY shard", campaign, after, until)
	})
	return r.shards[shard], err
}

// Where a stretch of rows ends.
const (
	entryStretch  = "SELECT txn_id FROM entry WHERE account_id = ? AND txn_id > ? ORDER BY txn_id LIMIT 1 OFFSET ?"
	payoutStretch = "SELECT packet FROM payout WHERE campaign_id = ? AND packet > ? ORDER BY packet LIMIT 1 OFFSET ?"
)

// eachStretch calls fn for stretches of what belongs to owner: with the numbers after which, and up to which, each is.
// end is a query for the number with which a stretch ends. Rows of the same number are in one stretch.
func eachStretch(ctx context.Context, q sqldb.Querier, end, owner string, rows int,
	fn func(after, until int64) error) error {
	for after, last := int64(math.MinInt64), false; !last; {
		until := int64(math.MaxInt64)
		more, err := q.First(ctx, []any{&until}, end, owner, after, rows)
		if err != nil {
			return err
		}
		if err := fn(after, until); err != nil {
			return err
		}
		after, last = until, !more
	}
	return nil
}
