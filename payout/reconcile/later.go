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

// checkLater bounds what was left out as newer than the snapshots, and holds each shard's mark against its rows.
func (r *campaignCheck) checkLater(ctx context.Context, q sqldb.Querier) error {
	if r.amounts == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
		mark, err := r.checkMark(ctx, q, n)
		if err != nil {
			return err
		}
		if r.look.hot == nil {
			continue
		}
		if err := r.unread(n, r.checkLaterOf(ctx, q, n, mark)); err != nil {
			return err
		}
	}
	return r.checkLaterMoves(ctx)
}

// checkMark sees that a shard's mark is not older than what was posted of the shard: by the mark it is told when Redis
// has gone back in time. A time that was made up, later than its own posting, moves no mark.
func (r *campaignCheck) checkMark(ctx context.Context, q sqldb.Querier, n int) (mark position, err error) {
	var paid, back position
	for _, read := range []struct {
		at    *position
		query string
	}{
		{&mark, "SELECT entry_ms, entry_seq FROM shard_mark WHERE campaign_id = ? AND shard = ?"},
		{&paid, "SELECT won_at, entry_seq FROM payout WHERE campaign_id = ? AND shard = ? AND won_at < settled_at " +
			"ORDER BY won_at DESC, entry_seq DESC LIMIT 1"},
		{&back, "SELECT closed_at, entry_seq FROM reclaim WHERE campaign_id = ? AND shard = ? AND " +
			"closed_at < reclaimed_at ORDER BY closed_at DESC, entry_seq DESC LIMIT 1"},
	} {
		if _, err := q.First(ctx, []any{&read.at.ms, &read.at.seq}, read.query, r.campaign.ID, n); err != nil {
			return mark, err
		}
	}
	if paid.after(mark) || back.after(mark) {
		r.found.add("a mark that was set back", shardName(n), "shard %d: the table shard_mark has %s as the newest "+
			"entry that was posted, but a payout of %s and a reclaim of %s were posted", n, mark, paid, back)
	}
	return mark, nil
}

// checkLaterOf names payouts and reclaims of entries that a shard has never written, and a mark of one.
func (r *campaignCheck) checkLaterOf(ctx context.Context, q sqldb.Querier, n int, mark position) error {
	b := r.shards[n]
	paid, err := sqldb.List(ctx, q, scanPayout, payoutSelect+"WHERE campaign_id = ? AND shard = ? AND (won_at > ? OR "+
		"(won_at = ? AND entry_seq > ?)) ORDER BY won_at DESC, entry_seq DESC LIMIT ?", r.campaign.ID, n, b.cut.ms,
		b.cut.ms, b.cut.seq, maxFindings+1)
	if err != nil || len(paid)+len(b.laterReclaims) == 0 && !b.later(mark) {
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
	name(shardName(n)+"shard_mark", "the table shard_mark", mark)
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
		if at, err = positionOf(cmp.Or(entry, "0-0")); err != nil {
			err = fmt.Errorf("%w: %w", rain.ErrUnreadable, err)
		}
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
	if r.look.hot == nil || len(ahead(then)) == 0 {
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
