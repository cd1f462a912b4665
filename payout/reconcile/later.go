package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/rain"
)

// What the ledger has posted since a shard's snapshot is left out, because the snapshot still has it as stock. So
// whoever forges a row would date it behind the snapshot. That is bounded here: the shard is asked for its newest entry
// once the ledger is read, and the ledger cannot know an entry that the shard has not written by then. What was dated
// between the two is in the next proof's snapshot, and named there.

// checkLater bounds what was left out as newer than the snapshots.
func (r *campaignCheck) checkLater(ctx context.Context, q sqldb.Querier) error {
	if r.amounts == nil || r.look.hot == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
		if err := r.unread(n, r.checkLaterOf(ctx, q, n)); err != nil {
			return err
		}
	}
	return r.checkLaterMoves(ctx)
}

// checkLaterOf names payouts and reclaims of entries that a shard has never written.
func (r *campaignCheck) checkLaterOf(ctx context.Context, q sqldb.Querier, n int) error {
	b := r.shards[n]
	paid, err := sqldb.List(ctx, q, scanPayout, payoutSelect+"WHERE campaign_id = ? AND shard = ? AND (won_at > ? OR "+
		"(won_at = ? AND entry_seq > ?)) ORDER BY won_at DESC, entry_seq DESC LIMIT ?", r.campaign.ID, n, b.cut.ms,
		b.cut.ms, b.cut.seq, maxFindings+1)
	if err != nil || len(paid)+len(b.laterReclaims) == 0 {
		return err
	}
	newest, err := r.newestNow(ctx, n)
	if err != nil {
		return err
	}
	name := func(key, what string, at position) {
		if at.after(newest) {
			r.found.add("what no shard has written", key, "%s: it is of entry %s of shard %d, but the newest that the "+
				"shard has ever written is %s", what, at, n, newest)
		}
	}
	for i := range paid {
		name(paid[i].claim, paid[i].name(), paid[i].at)
	}
	for _, row := range b.laterReclaims {
		name(row.ref.String(), fmt.Sprintf("the reclaim of %d packets, %d in all", row.packets, row.amount), row.at)
	}
	return nil
}

// newestNow asks a shard for the newest entry that it has ever written.
func (r *campaignCheck) newestNow(ctx context.Context, n int) (at position, err error) {
	entry, epoch, found, err := r.look.hot.Newest(ctx, r.campaign, n)
	if err == nil && (!found || epoch != r.shards[n].snapshot.Epoch) && !r.look.last {
		return at, errStale
	}
	if err == nil {
		at, err = positionOf(cmp.Or(entry, "0-0"))
	}
	if err != nil {
		return at, fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	return at, nil
}

// checkLaterMoves bounds the moves that were left out as later than the snapshots: their shards have made them by now.
func (r *campaignCheck) checkLaterMoves(ctx context.Context) error {
	ahead := func(of map[int]rain.ShardSnapshot) (ids []string) {
		for _, id := range sortedKeys(r.moves) {
			m := r.moves[id]
			from, to := of[m.From], of[m.To]
			if from.Found && m.Number > from.Moves || to.Found && m.Done && m.ToNumber > to.Moves {
				ids = append(ids, id)
			}
		}
		return ids
	}
	then := map[int]rain.ShardSnapshot{}
	for n, b := range r.shards {
		then[n] = b.snapshot
	}
	if len(ahead(then)) == 0 {
		return nil
	}
	shards, err := r.look.hot.Snapshot(ctx, r.campaign)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHot, err)
	}
	now := map[int]rain.ShardSnapshot{}
	for _, s := range shards {
		now[s.Shard] = s
	}
	for _, id := range ahead(now) {
		m := r.moves[id]
		r.found.add("a move that its shard has not made", id, "%s: by its row it is number %d of shard %d and number "+
			"%d of shard %d, but they have made moves up to number %d and %d", m.name(), m.Number, m.From, m.ToNumber,
			m.To, now[m.From].Moves, now[m.To].Moves)
	}
	return nil
}
