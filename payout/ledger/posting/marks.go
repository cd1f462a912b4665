package posting

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"redrain/internal/sqldb"
)

// writeMarks records the newest entry of each shard in the batch: a Redis with only older ones has gone back in time.
// All workers want these rows, so it runs late. A time from limit on (Unix ms) is forged and ignored: no Redis would
// ever reach it.
func writeMarks(ctx context.Context, tx *sqldb.Tx, b *batch, limit int64) error {
	newest := map[shardKey]position{}
	note := func(at position) {
		if at.ms >= limit {
			return
		}
		key := shardKey{at.ref.Campaign, at.ref.Shard}
		if was, known := newest[key]; !known || cmp.Or(cmp.Compare(at.ms, was.ms), cmp.Compare(at.seq, was.seq)) > 0 {
			newest[key] = at
		}
	}
	for i := range b.wins {
		note(b.wins[i].position)
	}
	for i := range b.reclaims {
		note(b.reclaims[i].position)
	}
	keys := slices.SortedFunc(maps.Keys(newest), func(x, y shardKey) int {
		return cmp.Or(cmp.Compare(x.campaign, y.campaign), cmp.Compare(x.shard, y.shard))
	})
	columns := []string{"campaign_id", "shard", "entry_ms", "entry_seq"}
	into := sqldb.Into{Table: "shard_mark", Columns: columns, Merge: sqldb.Merge{Key: columns[:2], Larger: columns[2:]}}
	return tx.InsertEach(ctx, into, len(keys), func(i int, r *sqldb.Row) {
		at := newest[keys[i]]
		r.Text(keys[i].campaign)
		r.Int(int64(keys[i].shard))
		r.Int(at.ms)
		r.Int(at.seq)
	})
}
