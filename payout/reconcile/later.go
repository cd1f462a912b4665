package reconcile

import (
	"cmp"
	"context"
	"fmt"

	"redrain/internal/sqldb"
	"redrain/payout/ledger/posting"
	"redrain/rain"
)

// What the ledger has posted since a shard's snapshot is left out, because the snapshot still has it as stock. So
// whoever forges a row would date it behind the snapshot. That is bounded here: the shard is asked for its newest entry
// once the ledger is read, and the ledger cannot know an entry that the shard has not written by then. What was dated
// between the two is in the next proof's snapshot, and named there.

// position is the place of an outbox entry among those of its shard.
type position struct{ ms, seq int64 }

func (p position) after(other position) bool {
	return cmp.Or(cmp.Compare(p.ms, other.ms), cmp.Compare(p.seq, other.seq)) > 0
}

func (p position) String() string { return fmt.Sprintf("%d-%d", p.ms, p.seq) }

// newestOf are queries for the newest entry that the ledger has of a shard, by the table that has it.
var newestOf = map[string]string{
	"payout": "SELECT won_at, entry_seq FROM payout WHERE campaign_id = ? AND shard = ? " +
		"ORDER BY won_at DESC, entry_seq DESC LIMIT 1",
	"reclaim": "SELECT closed_at, entry_seq FROM reclaim WHERE campaign_id = ? AND shard = ? " +
		"ORDER BY closed_at DESC, entry_seq DESC LIMIT 1",
	"shard_mark": "SELECT entry_ms, entry_seq FROM shard_mark WHERE campaign_id = ? AND shard = ?",
}

// checkLater bounds what was left out as newer than the snapshots, and holds each shard's mark against its rows.
func (r *campaignCheck) checkLater(ctx context.Context, q sqldb.Querier) error {
	if r.amounts == nil {
		return nil
	}
	for _, n := range r.sortedShards() {
		b := r.shards[n]
		later := map[string]position{}
		for _, table := range sortedKeys(newestOf) {
			var at position
			if _, err := q.First(ctx, []any{&at.ms, &at.seq}, newestOf[table], r.campaign.ID, n); err != nil {
				return err
			}
			if b.later(at.ms, at.seq) {
				later[table] = at
			}
		}
		if err := r.checkMark(ctx, q, n); err != nil {
			return err
		}
		if r.look.hot == nil || len(later) == 0 {
			continue
		}
		newest, err := r.newestNow(ctx, n)
		if err := r.unread(n, err); err != nil {
			return err
		}
		if err != nil {
			continue // the shard could not be read, which is said
		}
		if err := r.nameAllBeyond(ctx, q, n, later, newest); err != nil {
			return err
		}
	}
	return r.checkLaterMoves(ctx)
}

// nameAllBeyond names what is newer than the newest entry that a shard has ever written.
func (r *campaignCheck) nameAllBeyond(ctx context.Context, q sqldb.Querier, shard int, later map[string]position,
	newest position) error {
	for _, table := range sortedKeys(later) {
		if !later[table].after(newest) {
			continue
		}
		if err := r.nameBeyond(ctx, q, shard, table, later[table], newest); err != nil {
			return err
		}
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
		at.ms, at.seq, err = (rain.EntryRef{ID: cmp.Or(entry, "0-0")}).Position()
	}
	if err != nil {
		return at, fmt.Errorf("shard %d: %w: %w", n, ErrHot, err)
	}
	return at, nil
}

// nameBeyond names what a table has of entries that a shard has never written.
func (r *campaignCheck) nameBeyond(ctx context.Context, q sqldb.Querier, n int, table string, is,
	newest position) error {
	if table != "payout" {
		r.found.add("what no shard has written", shardName(n)+table, "the table %s has entry %s of shard %d, but the "+
			"newest that the shard has ever written is %s", table, is, n, newest)
		return nil
	}
	return q.Each(ctx, func(scan sqldb.Scan) error {
		row, err := scanPayout(scan)
		r.found.add("what no shard has written", row.claim, "%s: it says that it was won by entry %d-%d of "+
			"shard %d, but "+
			"the newest that the shard has ever written is %s", row.name(), row.ms, row.seq, n, newest)
		return err
	}, payoutSelect+"WHERE campaign_id = ? AND shard = ? AND (won_at > ? OR (won_at = ? AND entry_seq > ?)) "+
		"ORDER BY won_at, entry_seq, packet LIMIT ?", r.campaign.ID, n, newest.ms, newest.ms, newest.seq, maxFindings+1)
}

// checkMark sees that a shard's mark is not older than what was posted of the shard: by the mark it is told when Redis
// has gone back in time. A time that was made up, later than its own posting, moves no mark.
func (r *campaignCheck) checkMark(ctx context.Context, q sqldb.Querier, n int) error {
	var mark, newest, back position
	_, err := q.First(ctx, []any{&mark.ms, &mark.seq}, newestOf["shard_mark"], r.campaign.ID, n)
	if err != nil {
		return err
	}
	_, err = q.First(ctx, []any{&newest.ms, &newest.seq}, "SELECT won_at, entry_seq FROM payout WHERE campaign_id = ? "+
		"AND shard = ? AND won_at < settled_at ORDER BY won_at DESC, entry_seq DESC LIMIT 1", r.campaign.ID, n)
	if err != nil {
		return err
	}
	_, err = q.First(ctx, []any{&back.ms, &back.seq}, "SELECT closed_at, entry_seq FROM reclaim WHERE campaign_id = ? "+
		"AND shard = ? AND closed_at < reclaimed_at ORDER BY closed_at DESC, entry_seq DESC LIMIT 1", r.campaign.ID, n)
	if back.after(newest) {
		newest = back
	}
	if err == nil && newest.after(mark) && n != posting.WholeCampaign {
		r.found.add("a mark that was set back", shardName(n), "shard %d: the table shard_mark has %s as the "+
			"newest entry "+
			"that was posted, but %s was posted", n, mark, newest)
	}
	return err
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
		r.found.add("a move that its shard has not made", id, "%s: by its row it is number %d of shard %d "+
			"and number %d "+
			"of shard %d, but they have made moves up to number %d and %d", m.name(), m.Number, m.From, m.ToNumber,
			m.To,
			now[m.From].Moves, now[m.To].Moves)
	}
	return nil
}
